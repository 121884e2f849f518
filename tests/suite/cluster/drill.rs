//! The drill of `docs/ownership-and-pruning.md` on both servers: three clusters that kubectl applied are
//! taken over by a push; one is deleted with approval, one is orphaned, and nothing else is lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use capstan::adapters::azure_sim as actors;
use capstan::adapters::git::Files;
use capstan::model::CheckState;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::Value as Json;

use super::pipeline::Management;
use crate::daemon::{DEFINITION, SYNC, World};
use crate::kubernetes;

/// How much faster than outside time passes for the actors.
const SPEED: u32 = 600;

/// The kinds that clusters consist of, as arguments of kubectl.
const KINDS: [(&str, &str, &str); 5] = [
    ("cluster.x-k8s.io", "v1beta2", "Cluster"),
    ("cluster.x-k8s.io", "v1beta2", "MachinePool"),
    ("infrastructure.cluster.x-k8s.io", "v1beta2", "AROCluster"),
    (
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "AROMachinePool",
    ),
    (
        "controlplane.cluster.x-k8s.io",
        "v1beta2",
        "AROControlPlane",
    ),
];

/// Every part of a cluster that is there: its uid by kind and name.
fn parts(cluster: &Management, name: &str) -> BTreeMap<String, String> {
    let mut parts = BTreeMap::new();
    for (group, version, kind) in KINDS {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> =
            Api::namespaced_with(cluster.client.clone(), "clusters", &resource);
        let all = cluster.runtime.block_on(api.list(&ListParams::default()));
        for object in all.expect("the kind is served") {
            let (own, uid) = (object.metadata.name, object.metadata.uid);
            let (own, uid) = (own.unwrap_or_default(), uid.unwrap_or_default());
            if own == name || own.starts_with(&format!("{name}-")) {
                parts.insert(format!("{kind}/{own}"), uid);
            }
        }
    }
    parts
}

fn definition(name: &str, policy: &str) -> (String, String) {
    let adopted = format!("  name: {name}\n  annotations: {{capstan.dev/adopt: \"true\"}}\n");
    let text = DEFINITION
        .replace("  name: one\n", &adopted)
        .replace("spec:\n", &format!("spec:\n  deletionPolicy: {policy}\n"));
    (format!("clusters/{name}.yaml"), text)
}

/// What somebody applied before Capstan came: the same objects, without our marks.
fn before_us(cluster: &Management, kubectl: &Path, files: &Files) {
    let dir = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        let name = path.rsplit('/').next().expect("a name");
        std::fs::write(dir.path().join(name), text).expect("written");
    }
    let path = dir.path().to_str().expect("UTF-8");
    let mut capstan = Command::new(env!("CARGO_BIN_EXE_capstan"));
    let rendered = capstan.args(["render", path, "-o", "json"]).output();
    let rendered = rendered.expect("it runs");
    let list: Json = serde_json::from_slice(&rendered.stdout).expect("JSON");
    let mut text = String::new();
    for mut object in list["items"].as_array().expect("objects").clone() {
        object["metadata"]["annotations"] = Json::Null;
        object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = Json::Null;
        text.push_str(&format!("---\n{object}\n"));
    }
    let file = dir.path().join("all.yaml");
    std::fs::write(&file, text).expect("written");
    let mut command = Command::new(kubectl);
    command.args(["apply", "-f"]).arg(&file);
    let output = command.env("KUBECONFIG", &cluster.kubeconfig).output();
    let output = output.expect("kubectl runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn drill(cluster: &Management, kubectl: &Path) {
    let mut files: Files = [("one", "Orphan"), ("two", "Delete"), ("three", "Orphan")]
        .map(|(name, policy)| definition(name, policy))
        .into();
    before_us(cluster, kubectl, &files);
    let names = ["one", "two", "three"];
    let theirs = names.map(|name| parts(cluster, name));
    assert!(theirs.iter().all(|parts| parts.len() == 5), "{theirs:?}");

    let mut world = World::on(Some(&cluster.kubeconfig));
    let adopted = world.push_saying("take them over", "main", None, &files);
    world.start(SPEED);
    let check = world.wait(&adopted, SYNC, CheckState::Success);
    assert_eq!(check.title, "165/165 ready");
    assert_eq!(
        names.map(|name| parts(cluster, name)),
        theirs,
        "nothing was made anew"
    );

    files.remove("clusters/two.yaml");
    files.remove("clusters/three.yaml");
    let unapproved = world.push_saying("remove two", "main", Some(&adopted), &files);
    let check = world.wait(&unapproved, SYNC, CheckState::Failure);
    for line in ["delete clusters/two", "release clusters/three"] {
        let line = format!("`Capstan-Approve: {line}`");
        assert!(check.summary.contains(&line), "{}", check.summary);
    }
    assert_eq!(
        names.map(|name| parts(cluster, name)),
        theirs,
        "nobody approved"
    );

    let message = "they may go\n\nCapstan-Approve: delete clusters/two\nCapstan-Approve: release clusters/three\n";
    let approved = world.push_saying(message, "main", Some(&unapproved), &files);
    let check = world.wait(&approved, SYNC, CheckState::Success);
    assert_eq!(check.title, "55/55 ready");
    let [one, two, three] = names.map(|name| parts(cluster, name));
    assert_eq!(two, BTreeMap::new(), "{}", check.summary);
    assert_eq!(
        [one, three],
        [theirs[0].clone(), theirs[2].clone()],
        "the others stay"
    );
}

#[test]
fn a_fleet_of_kubectl_is_taken_over_and_nothing_is_lost_on_the_simulator() {
    if let Some(kubectl) = kubernetes::kubectl() {
        let cluster = Management::simulated(SPEED, actors::Options::default());
        drill(&cluster, &kubectl);
    }
}

#[test]
fn a_fleet_of_kubectl_is_taken_over_and_nothing_is_lost_on_kube_apiserver() {
    let real = Management::real(SPEED, actors::Options::default());
    if let (Some(kubectl), Some(cluster)) = (kubernetes::kubectl(), real) {
        drill(&cluster, &kubectl);
    }
}
