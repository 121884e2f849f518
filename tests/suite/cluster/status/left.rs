//! `why` of a cluster that left its fleet and runs on, and of one that never was in a fleet.

use std::process::Command;

use capstan::adapters::azure_sim as actors;
use serde_json::Value as Json;

use super::super::pipeline::Management;
use super::{FLEET, HASTE, begin, printed, until};

/// The output of `why` on one line.
fn why(cluster: &Management, object: &str) -> String {
    let words = printed(&cluster.capstan(&["why", object]), 0);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn why_json(cluster: &Management, object: &str) -> Json {
    let output = cluster.capstan(&["why", object, "--format", "json"]);
    serde_json::from_str(&printed(&output, 0)).expect("JSON")
}

#[test]
fn a_cluster_that_was_kept_and_one_that_was_released_say_so() {
    let cluster = Management::simulated(HASTE, actors::Options::default());
    begin(&cluster, &[]);
    until(&cluster, |status| status["ready"] == true);
    // The fleet without its cluster.
    let dir = tempfile::tempdir().expect("a directory");
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: beside, namespace: clusters}}\n";
    std::fs::write(dir.path().join("map.yaml"), map).expect("written");
    let fleet = dir.path().display().to_string();
    let arguments = ["apply", &fleet, "--prune", "--timeout", "10m"];
    drop(cluster.capstan(&arguments));

    let root = "Cluster/clusters/quickstart";
    let kept = why(&cluster, root);
    assert!(
        kept.starts_with(&format!(
            "{root} is ready kept the release of cluster clusters/quickstart needs approval"
        )) && kept.contains("and it runs on in Azure"),
        "{kept}"
    );
    let approved = cluster.capstan(
        &[
            &arguments[..],
            &["--approve", "release clusters/quickstart"],
        ]
        .concat(),
    );
    printed(&approved, 0);
    let released = why(&cluster, root);
    let expected = "Cluster/clusters/quickstart is ready released the fleet local released it, so no commit changes or deletes it, and it runs on in Azure. `kubectl delete cluster.cluster.x-k8s.io quickstart -n clusters` deletes it, in Azure too; a commit that adds it to the fleet again takes it back";
    assert_eq!(released, expected);
    let json = why_json(&cluster, "AROCluster/quickstart");
    assert_eq!(json["kept"], Json::Null);
    let released = json["released"].as_str().unwrap_or_default();
    assert!(
        released.contains("It stays until a person deletes it"),
        "{json}"
    );
    // Its parts are found from any of them.
    let hcp = why(&cluster, "HcpOpenShiftCluster/quickstart");
    assert_eq!(hcp, "HcpOpenShiftCluster/clusters/quickstart is ready");
}

/// Whoever runs the controllers alone has no fleet.
#[test]
fn a_cluster_without_a_fleet_is_explained() {
    let refused = "HcpOpenShiftCluster/quickstart=InvalidRequestContent";
    let cluster = Management::simulated(HASTE, super::failing(refused));
    let render = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args(["render", FLEET])
        .output();
    let rendered = printed(&render.expect("it runs"), 0);
    cluster.runtime.block_on(async {
        for object in serde_yaml::Deserializer::from_str(&rendered) {
            let object: Json = serde::Deserialize::deserialize(object).expect("YAML");
            super::super::pipeline::apply(&cluster.client, &object).await;
        }
    });
    let hcp = "HcpOpenShiftCluster/clusters/quickstart";
    for object in [
        "Cluster/quickstart",
        "AROMachinePool/clusters/quickstart-np1",
        hcp,
    ] {
        crate::patience::until(
            || {
                let output = cluster.capstan(&["why", object]);
                let words = super::text(&output.stdout);
                (output.status.code() == Some(1))
                    .then_some(words)
                    .filter(|words| words.contains(&format!("\nblocked by {hcp}\n")))
            },
            || super::text(&cluster.capstan(&["why", object]).stdout),
        );
    }
    let missing = cluster.capstan(&["why", "Cluster/other"]);
    assert_eq!(missing.status.code(), Some(2));
    let missing = super::text(&missing.stderr);
    assert!(
        missing.contains("none of the kinds that Capstan handles, is `Cluster/other`"),
        "{missing}"
    );
}
