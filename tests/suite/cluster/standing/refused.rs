//! What a fleet has and the cluster has not: `status` and `why` say so after `apply` has ended.

use std::path::Path;

use capstan::adapters::sim::actors;
use kube::api::{Patch, PatchParams};
use serde_json::{Value as Json, json};

use super::super::pipeline::{Management, apply};
use super::{Api, ConfigMap, said, status, text};

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

fn parent(cluster: &Management) -> ConfigMap {
    let api = parents(cluster);
    let parent = cluster.runtime.block_on(api.get("capstan-local"));
    parent.expect("it was written")
}

/// Nothing of a fleet was made; then half of it; then all that it still has.
fn what_was_not_made_is_told(cluster: &Management) {
    let dir = tempfile::tempdir().expect("a directory");
    let taken = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "taken", "namespace": "clusters"}});
    cluster.runtime.block_on(apply(&cluster.client, &taken));
    applied(cluster, dir.path(), FLEET, 1);
    nothing_is_ready(cluster);

    let before = parent(cluster).metadata.resource_version;
    applied(cluster, dir.path(), FLEET, 1);
    let again = parent(cluster).metadata.resource_version;
    assert_eq!(before, again, "the same again costs no write");

    let adopted = FLEET.replacen(
        "namespace: clusters}",
        "namespace: clusters, annotations: {capstan.dev/adopt: \"true\"}}",
        1,
    );
    applied(cluster, dir.path(), &adopted, 1);
    let all = said(&cluster.capstan(&["status"]), 0);
    assert!(
        all.contains("\n  objects   2 of 4 ready; 1 not served, 1 missing\n  missing   2 of the 4 objects that the fleet applies were not found\n"),
        "{all}"
    );

    let whole: Vec<&str> = adopted.split("---\n").take(2).collect();
    applied(cluster, dir.path(), &whole.join("---\n"), 0);
    let all = status(cluster);
    assert_eq!(
        (&all["ready"], &all["notSeen"]),
        (&json!(true), &json!([])),
        "{all:#}"
    );
    let data = parent(cluster).data.unwrap_or_default();
    assert_eq!((data["objects"].as_str(), data.get("failing")), ("2", None));
    an_older_parent_says_nothing_of_it(cluster);
}

fn nothing_is_ready(cluster: &Management) {
    let all = status(cluster);
    assert_eq!(all["ready"], false);
    let fleet = &all["fleets"][0];
    assert_eq!(fleet["ready"], false);
    let objects = &fleet["objects"];
    assert_eq!(
        (&objects["wanted"], &objects["missing"]),
        (&json!(4), &json!(4)),
        "{all:#}"
    );
    let strays = fleet["ofNoCluster"].as_array().expect("a list");
    let mut told: Vec<(&str, &str)> = strays
        .iter()
        .map(|stray| &stray["blocker"])
        .map(|one| {
            (
                one["object"].as_str().expect("a name"),
                one["state"].as_str().expect("a state"),
            )
        })
        .collect();
    told.sort_unstable();
    let expected = [
        ("ConfigMap/clusters/taken", "Missing"),
        ("ConfigMap/nowhere/lost", "Missing"),
        ("Widget/clusters/w", "NotServed"),
    ];
    assert_eq!(told, expected, "{all:#}");
    let text = said(&cluster.capstan(&["status"]), 0);
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    for part in [
        "missing 4 of the 4 objects that the fleet applies were not found",
        "NotApplied: it is there already and not part of this fleet; annotate it",
        "NotApplied: there is no namespace nowhere: add it to the fleet, or make it",
    ] {
        assert!(words.contains(part), "{part}: {text}");
    }
    let why = cluster.capstan(&["why", "ConfigMap/nowhere/lost", "--format", "json"]);
    let why: Json = serde_json::from_str(&said(&why, 0)).expect("JSON");
    assert_eq!(
        (&why["ready"], &why["blocker"]["reason"]),
        (&json!(false), &json!("NotApplied"))
    );
}

/// What an older Capstan wrote has no count.
fn an_older_parent_says_nothing_of_it(cluster: &Management) {
    let older = Patch::Merge(json!({"data": {"objects": null, "applying": "2", "applied": "1"}}));
    let api = parents(cluster);
    let params = PatchParams::default();
    let patched = api.patch("capstan-local", &params, &older);
    cluster.runtime.block_on(patched).expect("it is there");
    let all = status(cluster);
    let objects = &all["fleets"][0]["objects"];
    assert_eq!(
        (&all["ready"], &objects["wanted"], &objects["missing"]),
        (&json!(true), &Json::Null, &json!(0))
    );
}

#[test]
fn what_was_not_made_is_told_on_the_simulator() {
    what_was_not_made_is_told(&Management::simulated(1, actors::Options::default()));
}

#[test]
fn what_was_not_made_is_told_on_kube_apiserver() {
    if let Some(cluster) = Management::real(1, actors::Options::default()) {
        what_was_not_made_is_told(&cluster);
    }
}
