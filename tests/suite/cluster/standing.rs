//! `status` and `why` on both servers: the shipped program, and a cluster that is half made, fails, or
//! is not to be read.

use std::process::Output;

use capstan::adapters::sim::actors;
use capstan::plan::{ApplySet, Parent};
use serde_json::{Value as Json, json};

use super::pipeline::{Management, apply};

fn failing(failures: &[&str]) -> actors::Options {
    let failures = failures.iter().map(|text| text.parse().expect("a failure"));
    actors::Options {
        failures: failures.collect(),
        ..actors::Options::default()
    }
}

fn parent(cluster: &Management) {
    let set = ApplySet::new("local", "capstan-system");
    let parent = Parent {
        kinds: [
            ("cluster.x-k8s.io", "Cluster"),
            ("cluster.x-k8s.io", "MachinePool"),
            ("infrastructure.cluster.x-k8s.io", "AROCluster"),
            ("infrastructure.cluster.x-k8s.io", "AROMachinePool"),
            ("controlplane.cluster.x-k8s.io", "AROControlPlane"),
        ]
        .map(|(group, kind)| (group.to_owned(), kind.to_owned()))
        .into(),
        namespaces: ["clusters".to_owned()].into(),
        source: "examples/quickstart".to_owned(),
        applying: "1".to_owned(),
        ..Parent::default()
    };
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "capstan-system"}});
    cluster.runtime.block_on(async {
        apply(&cluster.client, &namespace).await;
        apply(&cluster.client, &parent.payload(&set)).await;
    });
}

#[test]
fn experiment() {
    let options = failing(&["Vault/quickstart-kv-db37f9=AuthorizationFailed"]);
    let cluster = Management::simulated(60, options);
    parent(&cluster);
    let said = cluster.capstan(&["apply", "examples/quickstart"]);
    eprintln!("{}", String::from_utf8_lossy(&said.stderr));
    for _ in 0..8 {
        std::thread::sleep(std::time::Duration::from_secs(1));
        let start = std::time::Instant::now();
        for args in [&["status"][..], &["why", "Cluster/quickstart"]] {
            let said = cluster.capstan(args);
            eprintln!(
                "{:?} {}{}{:?}",
                said.status,
                String::from_utf8_lossy(&said.stdout),
                String::from_utf8_lossy(&said.stderr),
                start.elapsed()
            );
        }
    }
}
