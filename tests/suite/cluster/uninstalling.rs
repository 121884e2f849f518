//! `capstan uninstall` with a running cluster: what was installed goes, and nothing of the cluster.

use std::collections::BTreeMap;

use capstan::adapters::azure_sim as actors;
use serde_json::{Value as Json, json};

use super::pipeline::{Management, apply};

const SPEED: u32 = 600;

/// All objects that are not being deleted, by uid.
fn objects(cluster: &Management) -> BTreeMap<String, Json> {
    let server = cluster.server.as_ref().expect("the simulator");
    let all = server.snapshot().into_iter();
    let all = all.filter(|object| object["metadata"]["deletionTimestamp"].is_null());
    all.map(|object| (object["metadata"]["uid"].to_string(), object))
        .collect()
}

fn name(object: &Json) -> String {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    format!(
        "{} {}",
        text(&object["kind"]),
        text(&object["metadata"]["name"])
    )
}

/// Runs a command, which prints its data and messages.
fn run(cluster: &Management, arguments: &[&str], code: i32) -> String {
    let output = cluster.capstan(arguments);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

/// All that `install` made, by kind and name.
const INSTALLED: [&str; 29] = [
    "ClusterRole capstan-admission",
    "ClusterRole capstan-author",
    "ClusterRole capstan-controllers:capstan-system",
    "ClusterRole capstan-operator",
    "ClusterRole capstan-viewer",
    "ClusterRole capstan:capstan-system",
    "ClusterRoleBinding capstan-admission",
    "ClusterRoleBinding capstan-controllers:capstan-system",
    "ClusterRoleBinding capstan:capstan-system",
    "Deployment capstan",
    "Deployment capstan-admission",
    "Deployment capstan-controllers",
    "PodDisruptionBudget capstan",
    "PodDisruptionBudget capstan-admission",
    "PodDisruptionBudget capstan-controllers",
    "Role capstan",
    "Role capstan-admission",
    "Role capstan-controllers",
    "RoleBinding capstan",
    "RoleBinding capstan-admission",
    "RoleBinding capstan-controllers",
    "Secret capstan-admission-certificates",
    "Service capstan",
    "Service capstan-admission",
    "Service capstan-controllers",
    "ServiceAccount capstan",
    "ServiceAccount capstan-admission",
    "ServiceAccount capstan-controllers",
    "ValidatingWebhookConfiguration capstan-admission",
];

#[test]
fn a_running_cluster_is_not_touched() {
    let cluster = Management::simulated(SPEED, actors::Options::default());
    run(
        &cluster,
        &["apply", "examples/quickstart", "--wait", "--timeout", "5m"],
        0,
    );
    for component in ["daemon", "controllers", "admission"] {
        // No pods run here, so it is not ready in time.
        let arguments = [
            "install",
            "--apply",
            "--timeout",
            "1s",
            "--component",
            component,
        ];
        run(&cluster, &arguments, 1);
    }
    let finalizers = ["capstan.dev/fleet", "example.com/other"];
    let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": "prod", "namespace": "capstan-system", "finalizers": finalizers},
        "spec": {"source": {"git": {"url": "https://example.com/fleet.git"}}}});
    cluster.runtime.block_on(apply(&cluster.client, &fleet));
    let before = objects(&cluster);

    let planned = run(&cluster, &["uninstall", "--dry-run"], 0);
    assert!(
        planned.contains("Deployment/capstan-system/capstan would be removed"),
        "{planned}"
    );
    let refused = run(&cluster, &["uninstall", "--crds"], 1);
    for used in [
        "1 fleets.capstan.dev",
        "1 aroclusters.",
        "1 arocontrolplanes.",
        "1 azureclusteridentities.",
    ] {
        assert!(refused.contains(used), "{refused}");
    }
    assert!(refused.contains("nothing was removed"), "{refused}");
    let unchanged = objects(&cluster);
    assert!(
        before.keys().all(|uid| unchanged.contains_key(uid)),
        "nothing was removed"
    );

    let said = run(&cluster, &["uninstall"], 0);
    let after = objects(&cluster);
    let gone = before.iter().filter(|(uid, _)| !after.contains_key(*uid));
    let mut gone: Vec<String> = gone.map(|(_, object)| name(object)).collect();
    gone.sort();
    assert_eq!(gone, INSTALLED, "{said}");
    let fleet = after.values().find(|object| object["kind"] == "Fleet");
    let finalizers = &fleet.expect("it stays")["metadata"]["finalizers"];
    assert_eq!(*finalizers, json!(["example.com/other"]));
    let again = run(&cluster, &["uninstall"], 0);
    assert!(!again.contains("removed"), "{again}");
}
