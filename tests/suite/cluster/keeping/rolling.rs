//! What is not sent: changes that nobody asked for and that roll nodes, and those that only a new object
//! would have.

use capstan::api::crds::crds;
use capstan::apply::State;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::Value as Json;

use super::fixture::{Fixture, map, prove, revision};

const API_VERSION: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

/// A node pool in the object that carries it.
fn pool(version: &str, size: &str) -> String {
    format!(
        "---
apiVersion: {API_VERSION}
kind: AROMachinePool
metadata: {{name: np, namespace: NS, labels: {{cluster.x-k8s.io/cluster-name: c}}}}
spec:
  resources:
  - apiVersion: redhatopenshift.azure.com/v1api20251223preview
    kind: HcpOpenShiftClustersNodePool
    metadata: {{name: np1}}
    spec:
      location: uksouth
      properties:
        platform: {{vmSize: {size}}}
        version: {{id: {version}}}
        replicas: 3
"
    )
}

/// Lets the server take such objects.
async fn define(fixture: &Fixture) {
    let definition = crds()
        .into_iter()
        .find(|definition| definition["spec"]["names"]["kind"] == "AROMachinePool")
        .expect("it is ours");
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> =
        Api::all_with(fixture.client.clone(), &ApiResource::from_gvk(&kind));
    let name = definition["metadata"]["name"].as_str().expect("a name");
    let params = PatchParams::apply("suite").force();
    let patch = Patch::Apply(&definition);
    definitions
        .patch(name, &params, &patch)
        .await
        .expect("it is taken");
    for _ in 0..600 {
        let live = definitions.get(name).await.expect("it is there");
        let conditions = live.data["status"]["conditions"].as_array().cloned();
        let mut conditions = conditions.unwrap_or_default().into_iter();
        if conditions.any(|one| one["type"] == "Established" && one["status"] == "True") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{name} was never served");
}

/// The version and size that the cluster has.
async fn there(fixture: &Fixture) -> (String, String) {
    let live = fixture.live(API_VERSION, "AROMachinePool", "np").await;
    let live = live.expect("it is there");
    let text = |pointer: &str| {
        let below = format!("/spec/resources/0/spec/properties{pointer}");
        let value = live.pointer(&below).and_then(Json::as_str);
        value.unwrap_or_default().to_owned()
    };
    (text("/version/id"), text("/platform/vmSize"))
}

fn are(version: &str, size: &str) -> (String, String) {
    (version.to_owned(), size.to_owned())
}

const SMALL: &str = "Standard_D4s_v3";

#[test]
fn nodes_are_rolled_only_when_the_revision_is_new() {
    prove("nodes_are_rolled", &async |fixture: &Fixture| {
        define(fixture).await;
        let old = pool("4.20.17", SMALL) + &map("a", "v");
        drop(fixture.keep(&old, &revision("1")).await);
        let _ = fixture.asked();
        // As another binary might read it.
        let new = pool("4.20.18", SMALL) + &map("a", "w");
        let mut kept = fixture.begin(&new, &revision("1"));
        let held = kept.until("np", State::Failed).await;
        assert!(held.terminal, "{held:?}");
        for part in [
            "the revision is unchanged",
            "spec.resources[0].spec.properties.version.id",
            "push a commit to continue",
        ] {
            assert!(held.message.contains(part), "{part}: {}", held.message);
        }
        kept.until_so(async || {
            let live = fixture.config_map("a").await.expect("it is there");
            live["data"]["k"] == "w"
        })
        .await;
        assert_eq!(there(fixture).await, are("4.20.17", SMALL));
        assert_eq!(fixture.parent("one").await.applied, "1");
        drop(kept);
        drop(fixture.keep(&new, &revision("2")).await);
        assert_eq!(there(fixture).await, are("4.20.18", SMALL));
        assert_eq!(fixture.parent("one").await.applied, "2");
    });
}

#[test]
fn a_change_that_rolls_nothing_needs_no_new_revision() {
    prove("rolls_nothing", &async |fixture: &Fixture| {
        define(fixture).await;
        let old = pool("4.20.17", SMALL);
        drop(fixture.keep(&old, &revision("1")).await);
        let new = old.replace("replicas: 3", "replicas: 4");
        drop(fixture.keep(&new, &revision("1")).await);
        let live = fixture.live(API_VERSION, "AROMachinePool", "np").await;
        let live = live.expect("it is there");
        let replicas = live.pointer("/spec/resources/0/spec/properties/replicas");
        assert_eq!(replicas, Some(&Json::from(4)));
    });
}

#[test]
fn what_cannot_be_changed_is_not_sent() {
    prove("cannot_be_changed", &async |fixture: &Fixture| {
        define(fixture).await;
        drop(fixture.keep(&pool("4.20.17", SMALL), &revision("1")).await);
        let _ = fixture.asked();
        let bigger = pool("4.20.17", "Standard_D8s_v3");
        let mut kept = fixture.begin(&bigger, &revision("2"));
        let refused = kept.until("np", State::Failed).await;
        for part in [
            "vmSize of HcpOpenShiftClustersNodePool",
            "Capstan never replaces a cluster",
            "under a new name",
        ] {
            assert!(
                refused.message.contains(part),
                "{part}: {}",
                refused.message
            );
        }
        let sent = fixture.writes();
        let sent: Vec<_> = sent
            .iter()
            .filter(|(_, uri)| uri.contains("aromachinepools"))
            .collect();
        assert!(sent.is_empty(), "{sent:?}");
        assert_eq!(there(fixture).await, are("4.20.17", SMALL));
        drop(kept);
        // Taken back, it is as it was.
        drop(fixture.keep(&pool("4.20.17", SMALL), &revision("3")).await);
    });
}

/// Gives the nodes another size, as somebody else.
async fn resize(fixture: &Fixture, size: &str) {
    let live = fixture.live(API_VERSION, "AROMachinePool", "np").await;
    let mut resources = live.expect("it is there")["spec"]["resources"].take();
    resources[0]["spec"]["properties"]["platform"]["vmSize"] = Json::from(size);
    let change = serde_json::json!({
        "apiVersion": API_VERSION, "kind": "AROMachinePool", "metadata": {"name": "np"},
        "spec": {"resources": resources},
    });
    fixture.change_as("somebody", &change).await;
}

#[test]
fn what_somebody_else_changed_is_put_back() {
    prove("put_back", &async |fixture: &Fixture| {
        define(fixture).await;
        let fleet = pool("4.20.17", SMALL);
        drop(fixture.keep(&fleet, &revision("1")).await);
        resize(fixture, "Standard_D8s_v3").await;
        drop(fixture.keep(&fleet, &revision("1")).await);
        assert_eq!(there(fixture).await, are("4.20.17", SMALL));
    });
}

#[test]
fn an_object_of_somebody_else_is_reported_as_theirs() {
    prove("theirs", &async |fixture: &Fixture| {
        define(fixture).await;
        let fleet = pool("4.20.17", SMALL);
        drop(fixture.keep(&fleet, &revision("1")).await);
        resize(fixture, "Standard_D8s_v3").await;
        let more = fleet.replace("replicas: 3", "replicas: 4");
        let mut kept = fixture.begin(&more, &revision("2"));
        let refused = kept.until("np", State::Failed).await;
        assert!(refused.message.contains("somebody"), "{}", refused.message);
    });
}
