//! How Cluster API behaves around objects of a provider that others write.

#![allow(clippy::needless_pass_by_value)]

use serde_json::{Value, json};

use super::*;
use crate::api::labels::CLUSTER_NAME;
use crate::health::Live;
use crate::model::WorkloadNode;
use crate::reconcile::fixture::Fixture;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

fn reference(kind: &str, name: &str) -> Value {
    let group = if kind == "AROControlPlane" {
        "controlplane.cluster.x-k8s.io"
    } else {
        INFRASTRUCTURE
    };
    json!({"apiGroup": group, "kind": kind, "name": name})
}

fn object(api: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn fixture() -> Fixture {
    let mut fixture = Fixture::new(controllers(&[]));
    let spec = json!({"infrastructureRef": reference("AROCluster", "c"), "controlPlaneRef": reference("AROControlPlane", "c")});
    fixture.put(object("cluster.x-k8s.io/v1beta2", "Cluster", "c", spec));
    fixture.put(object(
        "infrastructure.cluster.x-k8s.io/v1beta2",
        "AROCluster",
        "c",
        json!({}),
    ));
    fixture.put(object(
        "controlplane.cluster.x-k8s.io/v1beta2",
        "AROControlPlane",
        "c",
        json!({}),
    ));
    let template = json!({"spec": {"clusterName": "c", "bootstrap": {"dataSecretName": "x"},
        "infrastructureRef": reference("AROMachinePool", "p")}});
    let spec = json!({"clusterName": "c", "replicas": 2, "template": template});
    fixture.put(object("cluster.x-k8s.io/v1beta2", "MachinePool", "p", spec));
    fixture.put(object(
        "infrastructure.cluster.x-k8s.io/v1beta2",
        "AROMachinePool",
        "p",
        json!({}),
    ));
    fixture
}

/// Somebody writes into an object.
fn edit(fixture: &mut Fixture, kind: &str, name: &str, change: impl Fn(&mut Value)) {
    let mut object = fixture.live(kind, name).unwrap_or_default();
    change(&mut object);
    fixture.put(object);
    fixture.run();
}

fn provider_is_ready(fixture: &mut Fixture) {
    edit(fixture, "AROControlPlane", "c", |plane| {
        plane["status"] =
            json!({"ready": true, "initialization": {"controlPlaneInitialized": true}});
    });
    edit(fixture, "AROCluster", "c", |infra| {
        infra["status"] = json!({"initialization": {"provisioned": true}});
        infra["spec"]["controlPlaneEndpoint"] = json!({"host": "api.x", "port": 443});
    });
    let node = |id: &str| WorkloadNode {
        provider_id: id.to_owned(),
        ready: true,
        ..WorkloadNode::default()
    };
    let nodes = ["a", "b", "of another pool"].map(node).to_vec();
    let cluster = ObjectId::new(CAPI, "Cluster", "ns", "c");
    fixture.snapshot.set_nodes(&cluster, Some(Ok(nodes)));
    edit(fixture, "AROMachinePool", "p", |pool| {
        pool["spec"]["providerIDList"] = json!(["a", "b"]);
        pool["status"] = json!({"replicas": 2, "initialization": {"provisioned": true}});
    });
}

#[test]
fn parts_get_their_owner_and_the_cluster_label() {
    let mut fixture = fixture();
    fixture.run();
    for (kind, name, owner) in [
        ("AROCluster", "c", "Cluster"),
        ("AROControlPlane", "c", "Cluster"),
        ("AROMachinePool", "p", "MachinePool"),
    ] {
        let part = fixture.live(kind, name).unwrap_or_default();
        let reference = &part["metadata"]["ownerReferences"][0];
        assert_eq!(
            (&reference["kind"], &reference["controller"]),
            (&json!(owner), &json!(true)),
            "{kind}"
        );
        assert_eq!(Live(&part).label(CLUSTER_NAME), "c", "{kind}");
    }
    let pool = fixture.live("MachinePool", "p").unwrap_or_default();
    assert_eq!(pool["metadata"]["ownerReferences"][0]["kind"], "Cluster");
    assert_eq!(
        pool["metadata"]["ownerReferences"][0].get("controller"),
        None
    );
}

#[test]
fn a_cluster_is_available_when_its_parts_are() {
    let mut fixture = fixture();
    fixture.run();
    assert!(!fixture.health("Cluster", "c").is_ready());
    provider_is_ready(&mut fixture);
    assert!(
        fixture.health("Cluster", "c").is_ready(),
        "{:?}",
        fixture.health("Cluster", "c")
    );
    assert!(
        fixture.health("MachinePool", "p").is_ready(),
        "{:?}",
        fixture.health("MachinePool", "p")
    );
    let pool = fixture.live("MachinePool", "p").unwrap_or_default();
    assert_eq!(pool["status"]["readyReplicas"], 2);
    let cluster = fixture.live("Cluster", "c").unwrap_or_default();
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"]["host"], "api.x");
    assert_eq!(cluster["status"]["phase"], "Provisioned");
}

#[test]
fn what_was_provisioned_once_stays_so() {
    let mut fixture = fixture();
    provider_is_ready(&mut fixture);
    edit(&mut fixture, "AROCluster", "c", |infra| {
        infra["status"] = json!({})
    });
    let cluster = fixture.live("Cluster", "c").unwrap_or_default();
    assert_eq!(
        cluster["status"]["initialization"]["infrastructureProvisioned"],
        true
    );
    assert!(
        !fixture.health("Cluster", "c").is_ready(),
        "but it is not available"
    );
}

#[test]
fn a_paused_cluster_is_left_alone() {
    let mut fixture = fixture();
    edit(&mut fixture, "Cluster", "c", |cluster| {
        cluster["spec"]["paused"] = json!(true)
    });
    let infra = fixture.live("AROCluster", "c").unwrap_or_default();
    assert_eq!(infra["metadata"].get("ownerReferences"), None);
}

#[test]
fn deletion_proceeds_from_the_pools_to_the_infrastructure() {
    let mut fixture = fixture();
    fixture.run();
    // The provider holds its objects by finalizers; they are let go one after the other.
    let order = [
        ("AROMachinePool", "p"),
        ("AROControlPlane", "c"),
        ("AROCluster", "c"),
    ];
    for (kind, name) in order {
        edit(&mut fixture, kind, name, |part| {
            part["metadata"]["finalizers"] = json!(["provider"])
        });
    }
    fixture.delete(&ObjectId::new(CAPI, "Cluster", "ns", "c"));
    for (kind, name) in order {
        fixture.run();
        let part = fixture.live(kind, name).unwrap_or_default();
        assert!(Live(&part).is_deleting(), "{kind}");
        for (later, name) in order.iter().skip_while(|(held, _)| *held != kind).skip(1) {
            let part = fixture.live(later, name).unwrap_or_default();
            assert!(!Live(&part).is_deleting(), "{later} goes before {kind}");
        }
        let mut part = part;
        part["metadata"]["finalizers"] = json!([]);
        fixture.put(part);
        fixture.delete(&ObjectId::new(
            Live(&fixture.live(kind, name).unwrap_or_default()).group(),
            kind,
            "ns",
            name,
        ));
    }
    fixture.run();
    assert_eq!(fixture.kinds(), Vec::<String>::new());
}
