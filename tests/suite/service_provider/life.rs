//! The life of clusters over the API, from a request to nothing left, in the modes that need no forge.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value as Json, json};

use super::api::{bare_metal, kube_virt, runtime};
use super::world::World;

/// The names of all objects of HyperShift, and of Secrets, in the namespace of the clusters.
fn left(world: &World) -> Vec<String> {
    world.hub(async |client| {
        let mut names = Vec::new();
        for (kind, plural) in [
            ("HostedCluster", "hostedclusters"),
            ("NodePool", "nodepools"),
        ] {
            let resource = ApiResource {
                group: "hypershift.openshift.io".to_owned(),
                version: "v1beta1".to_owned(),
                api_version: "hypershift.openshift.io/v1beta1".to_owned(),
                kind: kind.to_owned(),
                plural: plural.to_owned(),
            };
            let api: Api<DynamicObject> =
                Api::namespaced_with(client.clone(), "clusters", &resource);
            let listed = api.list(&ListParams::default()).await.expect("listed");
            names.extend(
                listed
                    .iter()
                    .map(|one| format!("{kind}/{}", one.name_any())),
            );
        }
        let api: Api<Secret> = Api::namespaced(client, "clusters");
        let listed = api.list(&ListParams::default()).await.expect("listed");
        names.extend(
            listed
                .iter()
                .map(|one| format!("Secret/{}", one.name_any())),
        );
        names
    })
}

/// The kubeconfig that a cluster discloses.
fn kubeconfig(cluster: &Json) -> Json {
    let text = cluster["kubeconfig"].as_str().expect("a text");
    let text = BASE64_STANDARD.decode(text).expect("base64");
    serde_json::from_slice(&text).expect("a kubeconfig")
}

/// The names of the nodes of a cluster, or why it does not tell.
fn nodes(kubeconfig: &Json) -> Result<Vec<String>, String> {
    runtime().block_on(async {
        let kubeconfig = kube::config::Kubeconfig::from_yaml(&kubeconfig.to_string());
        let kubeconfig = kubeconfig.expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
        let client = kube::Client::try_from(config.expect("a config")).expect("a client");
        let listed = Api::<Node>::all(client).list(&ListParams::default()).await;
        let listed = listed.map_err(|error| error.to_string())?;
        Ok(listed.iter().map(Node::name_any).collect())
    })
}

/// Reads both examples in pages of one.
fn lists(world: &World) {
    let first = world.get("/clusters?max_page_size=1").body;
    assert_eq!(first["results"], first["clusters"]);
    assert_eq!(first["results"][0]["name"], "dev-cluster-01");
    let token = first["next_page_token"].as_str().expect("a token");
    let second = world
        .get(&format!("/clusters?max_page_size=1&page_token={token}"))
        .body;
    assert_eq!(
        (&second["results"][0]["name"], second.get("next_page_token")),
        (&json!("prod-cluster-01"), None)
    );
}

/// Both examples of the proposal become clusters and go again.
fn live(mode: &str) {
    let world = World::start(&format!("writeMode: {mode}"));
    let made = world.post("/clusters?id=kv-1", &kube_virt("dev-cluster-01"));
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.headers["location"], "/api/v1alpha1/clusters/kv-1");
    let counts =
        json!({"controlPlane": {"ready": 0, "total": 3}, "worker": {"ready": 0, "total": 3}});
    assert_eq!(
        (
            &made.body["status"],
            &made.body["nodes"],
            &made.body["kubeconfig"]
        ),
        (&json!("PENDING"), &counts, &json!(""))
    );
    let made = world.post("/clusters", &bare_metal("prod-cluster-01"));
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.body["requestId"].as_str().expect("an ID").to_owned();
    let again = world.post("/clusters", &kube_virt("dev-cluster-01"));
    assert_eq!(
        (again.status, &again.body["detail"]),
        (
            409,
            &json!("cluster with name \"dev-cluster-01\" already exists")
        )
    );

    let ready = world.until_status("kv-1", "READY");
    assert_eq!(
        ready["spec"],
        kube_virt("dev-cluster-01"),
        "the request, as it was sent"
    );
    assert_eq!(ready["nodes"]["worker"], json!({"ready": 3, "total": 3}));
    assert_eq!(
        (&ready["version"], &ready["platform"]),
        (&json!("4.15"), &json!("kubevirt"))
    );
    let pools = ["dev-cluster-01-0", "dev-cluster-01-1", "dev-cluster-01-2"];
    assert_eq!(
        nodes(&kubeconfig(&ready)).expect("the kubeconfig opens it"),
        pools
    );
    let metal = world.until_status(&id, "READY");
    assert_eq!(metal["platform"], "baremetal");
    assert_eq!(
        nodes(&kubeconfig(&metal))
            .expect("the kubeconfig opens it")
            .len(),
        3
    );
    let mut other = kubeconfig(&metal);
    let user = &kubeconfig(&ready)["users"][0]["user"];
    other["users"][0]["user"] = user.clone();
    let refused = nodes(&other).expect_err("it is of another cluster");
    assert!(refused.contains("Unauthorized"), "{refused}");

    lists(&world);
    for id in ["kv-1", &id] {
        assert_eq!(world.delete(&format!("/clusters/{id}")).status, 204);
        assert_eq!(
            world.delete(&format!("/clusters/{id}")).status,
            204,
            "deleting again"
        );
    }
    for id in ["kv-1", &id] {
        world.until_gone(id);
        assert_eq!(world.delete(&format!("/clusters/{id}")).status, 404);
    }
    assert_eq!(left(&world), ["Secret/acm-cluster-sp-pull-secret"]);
    assert_eq!(world.files(), [""; 0]);
}

#[test]
fn clusters_live_and_go_directly_on_the_hub() {
    live("direct");
}

#[test]
fn clusters_live_and_go_as_commits() {
    live("commit");
}

#[test]
fn a_provider_without_a_source_makes_and_deletes_clusters() {
    let mut world = World::without_source("writeMode: direct");
    let made = world.post("/clusters?id=kv-1", &kube_virt("dev"));
    assert_eq!(made.status, 201, "{made:?}");
    world.until_status("kv-1", "READY");
    assert_eq!(world.delete("/clusters/kv-1").status, 204);
    world.until_gone("kv-1");
    let (code, said) = world.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no source; its service provider writes to the hub"));
    let faults = ["WARN", "ERROR"].iter().any(|level| said.contains(level));
    assert!(!faults, "{said}");
}
