//! How HyperShift behaves around HostedClusters and NodePools that others write.

#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

mod agents;
mod hosted_cluster;
mod node_pool;

use serde_json::{Value, json};

use super::super::azure::Azure;
use super::{HostedApis, KINDS, controllers, lab, names};
use crate::api::platform::HYPERSHIFT;
use crate::health::Live;
use crate::model::{HealthState, ObjectId};
use crate::reconcile::fixture::Fixture;
use crate::reconcile::world::GroupKind;

const API: &str = "hypershift.openshift.io/v1beta1";
/// Seconds that a control plane takes, and then the nodes of a pool.
const UP: i64 = 900;
const HALF: i64 = UP + 480;
const NODES: i64 = UP + 600;

/// An empty cluster in which these fail, with a lab or without one.
fn cluster(failures: &[&str], has_lab: bool) -> Fixture {
    let failures: Vec<_> = failures.iter().map(|text| text.parse().unwrap()).collect();
    let mut all = controllers(&failures, &Azure::default(), &HostedApis::default());
    all.extend(has_lab.then(lab));
    let mut fixture = Fixture::new(all);
    for kind in KINDS {
        fixture
            .snapshot
            .sync(&GroupKind::new(kind.group, kind.kind), true);
    }
    fixture.snapshot.sync(&GroupKind::new("", "Service"), true);
    fixture
}

fn hosted(platform: Value) -> Value {
    json!({"apiVersion": API, "kind": "HostedCluster", "metadata": {"name": "c.x"},
        "spec": {"release": {"image": "r:4.17.3-multi"}, "platform": platform}})
}

fn pool(platform: Value, upgrade: &str, size: Value) -> Value {
    let mut pool = json!({"apiVersion": API, "kind": "NodePool", "metadata": {"name": "p"},
        "spec": {"clusterName": "c.x", "release": {"image": "r:4.17.3-multi"}, "platform": platform,
            "management": {"upgradeType": upgrade}}});
    for (field, value) in size.as_object().into_iter().flatten() {
        pool["spec"][field] = value.clone();
    }
    pool
}

fn kubevirt() -> Value {
    json!({"type": "KubeVirt", "kubevirt": {}})
}

/// A cluster with a pool of so many nodes.
fn with_pool(failures: &[&str], replicas: i64) -> Fixture {
    let mut fixture = cluster(failures, false);
    fixture.put(hosted(kubevirt()));
    fixture.put(pool(kubevirt(), "Replace", json!({"replicas": replicas})));
    fixture
}

/// Somebody writes into an object.
fn edit(fixture: &mut Fixture, kind: &str, name: &str, change: impl Fn(&mut Value)) {
    let mut object = fixture.live(kind, name).unwrap();
    change(&mut object);
    fixture.put(object);
}

/// Status and reason of a condition.
fn said(fixture: &Fixture, kind: &str, name: &str, of: &str) -> String {
    let object = fixture.live(kind, name).unwrap_or_default();
    let condition = Live(&object).condition(of);
    condition.map_or_else(String::new, |one| {
        format!("{} {}", one.status(), one.reason())
    })
}

fn message(fixture: &Fixture, kind: &str, name: &str, of: &str) -> String {
    let object = fixture.live(kind, name).unwrap_or_default();
    let condition = Live(&object).condition(of);
    condition.map_or_else(String::new, |one| one.message().to_owned())
}

fn state(fixture: &Fixture, kind: &str, name: &str) -> HealthState {
    fixture.health(kind, name).state
}

fn delete(fixture: &mut Fixture, kind: &str, name: &str) {
    fixture.delete(&ObjectId::new(HYPERSHIFT, kind, "ns", name));
}

fn has(fixture: &Fixture, kind: &str, name: &str) -> bool {
    fixture.live(kind, name).is_some()
}
