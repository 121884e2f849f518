//! The definitions of hosted clusters in `examples/hypershift`: the API server accepts what they become, and a repository with them goes
//! from the first push to the last approval, on both servers.

use std::fmt::Write as _;

use capstan::adapters::azure_sim as actors;
use capstan::model::CheckState;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value as Json, json};

use super::hosted::{API, definitions, get, real_definitions};
use super::pipeline::{Management, apply, established};
use crate::cli::stdout;
use crate::daemon::{SYNC, World};
use crate::fleet::directory;

const SPEED: u32 = 600;
const NAT: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/hub/subnets/nat";
const IDENTITY: &str = "{clientID: 0a6f3b1c-7d52-4c8e-9b13-5e2f4a7c1d08}";

fn example(name: &str) -> String {
    let path = format!(
        "{}/examples/hypershift/{name}.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(path).expect("the example is readable")
}

/// The cluster on Azure, not public.
fn private(access: &str, more: &str) -> String {
    let connection = format!(
        "      endpointAccess: {access}\n      externalDNSDomain: ext.example.net\n      privateConnectivity: {{natSubnetID: {NAT}}}\n{more}      workloadIdentities:\n        controlPlaneOperator: {IDENTITY}\n"
    );
    example("azure").replace("      workloadIdentities:\n", &connection)
}

fn proposed(access: &str) -> String {
    let text = private(access, "      apiShape: proposal\n");
    let service = format!("        privateLinkService: {IDENTITY}\n        controlPlaneOperator");
    text.replace("        controlPlaneOperator", &service)
}

/// The definitions, with the fields of the proposal and their rules in the place of those that landed.
fn of_the_proposal() -> Option<Vec<Json>> {
    const AZURE: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/platform/properties/azure";
    let mut all = real_definitions()?;
    for definition in &mut all {
        let azure = definition.pointer_mut(AZURE);
        if let Some(azure) = azure.filter(|azure| azure["properties"]["topology"].is_object()) {
            exchange(azure);
        }
    }
    Some(all)
}

/// The two fields of the seed, required together and immutable.
fn exchange(azure: &mut Json) {
    let text = json!({"type": "string"});
    let connectivity = json!({"type": "object", "required": ["natSubnetID", "allowedSubscriptions"],
        "properties": {"natSubnetID": text, "allowedSubscriptions": {"type": "array", "items": text}}});
    let identities = &mut azure["properties"]["azureAuthenticationConfig"]["properties"]["workloadIdentities"]
        ["properties"];
    identities["privateLinkService"] = identities["controlPlaneOperator"].clone();
    let fields = azure["properties"].as_object_mut().expect("fields");
    let access = fields.remove("topology").expect("it landed");
    fields.remove("private");
    fields.insert("endpointAccess".to_owned(), access);
    fields.insert("privateConnectivity".to_owned(), connectivity);
    azure["x-kubernetes-validations"] = json!([
        {"rule": "has(self.privateConnectivity) == (has(self.endpointAccess) && self.endpointAccess != 'Public')",
            "message": "privateConnectivity is required when endpointAccess is not Public"},
        {"rule": "has(self.endpointAccess) == has(oldSelf.endpointAccess) && (!has(self.endpointAccess) || self.endpointAccess == oldSelf.endpointAccess)",
            "message": "endpointAccess is immutable"},
    ]);
}

fn prepare(cluster: &Management, kinds: &[Json]) {
    cluster.runtime.block_on(async {
        for kind in kinds {
            apply(&cluster.client, kind).await;
        }
        established(&cluster.client).await;
        for name in ["pull-secret", "ssh-key", "dev-azure-signing-key"] {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "clusters"}});
            apply(&cluster.client, &secret).await;
        }
    });
}

/// The words of the API server about an object that would be created.
pub(super) fn refusal(cluster: &Management, object: &Json) -> Option<String> {
    let text = |value: &Json| value.as_str().expect("text").to_owned();
    let kind = GroupVersionKind::gvk("hypershift.openshift.io", "v1beta1", &text(&object["kind"]));
    let api: Api<DynamicObject> = Api::namespaced_with(
        cluster.client.clone(),
        "clusters",
        &ApiResource::from_gvk(&kind),
    );
    let params = PatchParams::apply("suite").force().dry_run();
    let name = text(&object["metadata"]["name"]);
    let patch = Patch::Apply(object);
    let answer = cluster.runtime.block_on(api.patch(&name, &params, &patch));
    answer.err().map(|error| error.to_string())
}

/// The refusals of the objects that these definitions become; empty if all are accepted.
fn refusals(cluster: &Management, variants: &[String]) -> String {
    let mut refused = String::new();
    for text in variants {
        let dir = directory([("cluster.yaml", text.clone())]);
        let rendered = stdout(&["render", dir.path().to_str().expect("UTF-8")], 0);
        for document in serde_yaml::Deserializer::from_str(&rendered) {
            let object: Json = serde::Deserialize::deserialize(document).expect("an object");
            if let Some(words) = refusal(cluster, &object) {
                let _ = writeln!(refused, "{words}\n{object:#}\n{text}");
            }
        }
    }
    refused
}

/// Everything that the typed fields can say.
fn variants() -> Vec<String> {
    let (kubevirt, agent, azure) = (example("kubevirt"), example("agent"), example("azure"));
    let settled =
        "    kubeVirt: {kubeconfigSecretRef: {name: infra}, namespace: machines}\n  nodePools:";
    let scaled = "autoscaling: {min: 1, max: 5}\n      labels: {tier: web}\n      taints: [{key: a, value: b, effect: NoSchedule}]\n      properties: {nodeDrainTimeout: 10m}";
    let image = "azure: {image: {marketplace: {publisher: azureopenshift, offer: aro4, sku: aro_420, version: 420.1.20260101}}, availabilityZone: '2', ";
    let own = "azure: {image: {imageID: /subscriptions/x/image}, ";
    vec![
        kubevirt.clone(),
        kubevirt.replace("  nodePools:", settled),
        kubevirt.replace("replicas: 3", scaled),
        kubevirt.replace(
            "{version: 4.20.17}",
            "{image: 'registry.example.com/ocp@sha256:0a'}",
        ),
        kubevirt.replace(
            "      kubeVirt: {cores: 4, memory: 16Gi, rootVolume: {size: 64Gi}}\n",
            "",
        ),
        agent.clone(),
        agent.replace(
            "agent: {infraEnv: lab, labels: {size: large}}",
            "labels: {a: b}",
        ),
        azure.clone(),
        azure.replace("azure: {vmSize", &format!("{image}vmSize")),
        azure.replace("azure: {vmSize", &format!("{own}vmSize")),
        azure.replace("replicas: 2", "autoscaling: {min: 0, max: 5}"),
        private("Private", ""),
        private("PublicAndPrivate", ""),
    ]
}

#[test]
fn what_definitions_become_is_accepted_by_the_simulator() {
    let cluster = Management::simulated(SPEED, actors::Options::default());
    prepare(&cluster, &definitions());
    assert_eq!(refusals(&cluster, &variants()), "");
    if real_definitions().is_none() {
        return;
    }
    let other = refusals(&cluster, &[proposed("Private")]);
    assert!(other.contains("field not declared in schema"), "{other}");
}

#[test]
fn what_definitions_become_is_accepted_in_the_shape_of_the_proposal() {
    let Some(kinds) = of_the_proposal() else {
        return;
    };
    let cluster = Management::simulated(SPEED, actors::Options::default());
    prepare(&cluster, &kinds);
    let public = example("azure").replace(
        "      workloadIdentities:\n",
        "      apiShape: proposal\n      workloadIdentities:\n",
    );
    let variants = [public, proposed("Private"), proposed("PublicAndPrivate")];
    assert_eq!(refusals(&cluster, &variants), "");
    // Whoever applies the other shape is told the setting.
    let dir = directory([("cluster.yaml", private("Private", ""))]);
    let output = cluster.capstan(&[
        "apply",
        dir.path().to_str().expect("UTF-8"),
        "--timeout",
        "1m",
    ]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(
        said.contains("write `apiShape: proposal` below `hyperShift.azure`"),
        "{said}"
    );
}

#[test]
fn what_definitions_become_is_accepted_by_kube_apiserver() {
    if let Some(cluster) = Management::real(SPEED, actors::Options::default()) {
        prepare(&cluster, &definitions());
        assert_eq!(refusals(&cluster, &variants()), "");
    }
}

/// A commit with the definitions of these clusters, changed.
fn push(
    world: &World,
    onto: Option<&str>,
    message: &str,
    names: &[&str],
    change: impl Fn(String) -> String,
) -> String {
    let file = |name: &&str| (format!("clusters/{name}.yaml"), change(example(name)));
    let files = names.iter().map(file).collect();
    world.push_saying(message, "main", onto, &files)
}

/// The first push, another number of nodes, another release, and the end of one.
fn a_repository_is_served(cluster: &Management) {
    const ALL: [&str; 3] = ["kubevirt", "agent", "azure"];
    const REST: [&str; 2] = ["agent", "azure"];
    prepare(cluster, &definitions());
    let mut world = World::on(Some(&cluster.kubeconfig));
    let first = push(&world, None, "three clusters", &ALL, |text| text);
    world.start(SPEED);
    let success = world.wait(&first, SYNC, CheckState::Success);
    assert_eq!(success.title, "6/6 ready");

    let more = |text: String| text.replace("replicas: 3", "replicas: 4");
    let second = push(&world, Some(&first), "more nodes", &ALL, more);
    world.wait(&second, SYNC, CheckState::Success);
    let pool = || get(cluster, &format!("{API}/nodepools/lab-kubevirt-workers"));
    assert_eq!(pool()["status"]["replicas"], 4);

    let upgrade = |text: String| more(text).replace("4.20.17", "4.20.18");
    let third = push(&world, Some(&second), "a newer release", &ALL, upgrade);
    world.wait(&third, SYNC, CheckState::Success);
    for name in ["lab-kubevirt", "lab-agent", "dev-azure"] {
        let live = get(cluster, &format!("{API}/hostedclusters/{name}"));
        let history = live["status"]["version"]["history"].as_array().cloned();
        let states = history.unwrap_or_default().into_iter();
        let states: Vec<Json> = states
            .map(|one| json!([one["version"], one["state"]]))
            .collect();
        assert_eq!(
            json!(states),
            json!([["4.20.18", "Completed"], ["4.20.17", "Completed"]]),
            "{name}"
        );
    }

    let fourth = push(&world, Some(&third), "one may go", &REST, upgrade);
    let refused = world.wait(&fourth, SYNC, CheckState::Failure);
    let told = format!("{} {}", refused.title, refused.summary);
    assert!(
        told.contains("Capstan-Approve: delete clusters/lab-kubevirt"),
        "{told}"
    );
    assert!(!pool().is_null());
    let message = "it may\n\nCapstan-Approve: delete clusters/lab-kubevirt\n";
    let fifth = push(&world, Some(&fourth), message, &REST, upgrade);
    world.wait(&fifth, SYNC, CheckState::Success);
    for path in [
        "hostedclusters/lab-kubevirt",
        "nodepools/lab-kubevirt-workers",
    ] {
        assert!(get(cluster, &format!("{API}/{path}")).is_null(), "{path}");
    }
    assert!(!get(cluster, &format!("{API}/hostedclusters/lab-agent")).is_null());
    world.stop();
}

#[test]
fn a_repository_of_hosted_clusters_is_served_on_the_simulator() {
    a_repository_is_served(&Management::simulated(SPEED, actors::Options::default()));
}

#[test]
fn a_repository_of_hosted_clusters_is_served_on_kube_apiserver() {
    if let Some(cluster) = Management::real(SPEED, actors::Options::default()) {
        a_repository_is_served(&cluster);
    }
}
