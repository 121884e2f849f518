//! Objects of a fleet that the cluster lacks: `status` reports them after `apply` has ended.

use std::path::Path;

use capstan::adapters::azure_sim as actors;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value as Json, json};

use super::super::pipeline::{Management, apply};
use super::{printed, status, text};

/// One that is somebody else's, one that waits for it, one in no namespace, one of no kind.
const FLEET: &str = "\
{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, namespace: clusters}, data: {k: v}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: after
  namespace: clusters
  annotations: {config.kubernetes.io/depends-on: /namespaces/clusters/ConfigMap/taken}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: nowhere}}
---
{apiVersion: refused.dev/v1, kind: Widget, metadata: {name: w, namespace: clusters}}
";

fn applied(cluster: &Management, fleet: &Path, yaml: &str, code: i32) {
    std::fs::write(fleet.join("fleet.yaml"), yaml).expect("written");
    let output = cluster.capstan(&["apply", &fleet.display().to_string()]);
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
}

fn parents(cluster: &Management) -> Api<ConfigMap> {
    Api::namespaced(cluster.client.clone(), "capstan-system")
}

fn version(cluster: &Management) -> String {
    let parents = parents(cluster);
    let parent = cluster.runtime.block_on(parents.get("capstan-local"));
    let version = parent.expect("it was written").metadata.resource_version;
    version.expect("it has one")
}

/// Whether the fleet is ready, and how many of its objects are wanted and missing.
fn counted(cluster: &Management) -> [Json; 3] {
    let fleet = status(cluster)["fleets"][0].clone();
    let objects = &fleet["objects"];
    [&fleet["ready"], &objects["wanted"], &objects["missing"]].map(Json::clone)
}

/// Nothing of a fleet was made; then half of it; then all that it still has.
fn what_was_not_made_is_counted(cluster: &Management) {
    let dir = tempfile::tempdir().expect("a directory");
    let taken = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "taken", "namespace": "clusters"}});
    cluster.runtime.block_on(apply(&cluster.client, &taken));
    applied(cluster, dir.path(), FLEET, 1);
    assert_eq!(counted(cluster), [json!(false), json!(4), json!(4)]);
    assert_eq!(status(cluster)["ready"], false);

    let before = version(cluster);
    applied(cluster, dir.path(), FLEET, 1);
    assert_eq!(version(cluster), before, "the same again costs no write");

    let adopted = FLEET.replacen(
        "namespace: clusters}",
        "namespace: clusters, annotations: {capstan.dev/adopt: \"true\"}}",
        1,
    );
    applied(cluster, dir.path(), &adopted, 1);
    let all = printed(&cluster.capstan(&["status"]), 1);
    assert!(
        all.contains("\n  objects   2 of 2 ready\n  missing   2 of 4 objects are missing or belong to somebody else"),
        "{all}"
    );
    assert!(
        all.contains("\n            ConfigMap/nowhere/lost\n            Widget/clusters/w\n"),
        "{all}"
    );

    let whole: Vec<&str> = adopted.split("---\n").take(2).collect();
    applied(cluster, dir.path(), &whole.join("---\n"), 0);
    assert_eq!(counted(cluster), [json!(true), json!(2), json!(0)]);

    // What an older Capstan wrote has no count.
    let older = Patch::Merge(json!({"data": {"objects": null, "applying": "2", "applied": "1"}}));
    let (parents, params) = (parents(cluster), PatchParams::default());
    let patched = parents.patch("capstan-local", &params, &older);
    cluster.runtime.block_on(patched).expect("it is there");
    assert_eq!(counted(cluster), [json!(true), Json::Null, json!(0)]);
}

#[test]
fn what_was_not_made_is_counted_on_the_simulator() {
    what_was_not_made_is_counted(&Management::simulated(1, actors::Options::default()));
}

#[test]
fn what_was_not_made_is_counted_on_kube_apiserver() {
    if let Some(cluster) = Management::real(1, actors::Options::default()) {
        what_was_not_made_is_counted(&cluster);
    }
}
