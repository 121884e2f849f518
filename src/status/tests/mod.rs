//! What the tests of statuses are made of: objects in their states, and questions to a graph.

#![allow(clippy::unwrap_used)]

mod absent;
mod blocking;
mod leaving;
mod members;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};

use super::*;
use crate::api::labels::PART_OF;
use crate::api::{aso, conditions};
use crate::apply::{Members, Newest, Parent, Reason, Reasons};
use crate::model::ObjectId;
use crate::plan::ApplySet;

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const INFRA: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const GROUP: &str = "resources.azure.com/v1api20200601";
const VAULT: &str = "keyvault.azure.com/v1api20230701";
const NETWORK: &str = "network.azure.com/v1api20201101";
const HCP: &str = "redhatopenshift.azure.com/v1api20251223preview";
const MADE: &str = "2026-01-01T00:00:00Z";
const LATER: &str = "2026-01-01T00:10:00Z";

/// An object `Kind/name` in namespace `ns` with a spec.
fn object(api_version: &str, kind: &str, name: &str, spec: &Json) -> Json {
    json!({"apiVersion": api_version, "kind": kind, "spec": spec, "metadata": {
        "name": name, "namespace": "ns", "generation": 1, "creationTimestamp": MADE,
        "uid": format!("uid-{kind}-{name}")}})
}

/// With the label of a set, and applied as a member of it.
fn member(mut object: Json, set: &ApplySet) -> Json {
    let fields = json!({"f:metadata": {"f:labels": {format!("f:{PART_OF}"): {}}}});
    object["metadata"]["labels"][PART_OF] = json!(set.id());
    object["metadata"]["managedFields"] =
        json!([{"manager": "capstan", "operation": "Apply", "fieldsV1": fields}]);
    object
}

/// With a condition of a type that is not true.
fn with_condition(mut object: Json, kind: &str, reason: &str, message: &str) -> Json {
    object["status"]["observedGeneration"] = json!(1);
    object["status"]["conditions"] = json!([{"type": kind, "status": "False", "reason": reason,
        "message": message, "severity": "Warning", "observedGeneration": 1, "lastTransitionTime": LATER}]);
    object
}

fn ready(mut object: Json) -> Json {
    object["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "Succeeded", "observedGeneration": 1}]);
    object
}

fn at_work(object: Json) -> Json {
    let mut object = with_condition(object, "Ready", "Reconciling", "");
    object["status"]["conditions"][0]["severity"] = json!("Info");
    object
}

fn deleted(mut object: Json, finalizers: &[&str]) -> Json {
    object["metadata"]["deletionTimestamp"] = json!(LATER);
    object["metadata"]["finalizers"] = json!(finalizers);
    object
}

fn owned_by(mut object: Json, owner: &Json) -> Json {
    object["metadata"]["ownerReferences"] =
        json!([{"uid": owner["metadata"]["uid"], "controller": true}]);
    object
}

fn rg(name: &str) -> Json {
    object(GROUP, "ResourceGroup", name, &json!({}))
}

fn vault(owner: &str) -> Json {
    object(VAULT, "Vault", "kv", &json!({"owner": {"name": owner}}))
}

/// What a survey brings of these objects: all that they name was looked for.
fn found(objects: &[Json]) -> Found {
    let mut found = Found::default();
    objects
        .iter()
        .for_each(|object| found.insert(object.clone()));
    let wanted = found.wanted();
    found.asked.extend(wanted);
    found
}

fn namespace() -> Json {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
}

fn index(graph: &StatusGraph, text: &str) -> usize {
    let mut ids = graph.ids();
    ids.find(|(_, id)| id.to_string() == text).unwrap().0
}

/// The path from `start` to what blocks it.
fn path(graph: &StatusGraph, start: &str) -> Vec<String> {
    let chain = graph.blocked(index(graph, start)).unwrap();
    let path = chain.path.iter();
    path.map(|at| graph.id(*at).to_string()).collect()
}

fn blocker<'a>(graph: &'a StatusGraph, start: &str) -> (String, &'a ObjectStatus) {
    let at = graph.blocked(index(graph, start)).unwrap().blocker();
    (graph.id(at).to_string(), graph.status(at))
}

/// A cluster of one carried Vault in a carried group, and of an HCP cluster.
fn cluster() -> [Json; 3] {
    let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": "c"});
    let refs = json!({
        "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "AROCluster"),
        "controlPlaneRef": reference("controlplane.cluster.x-k8s.io", "AROControlPlane")});
    let root = object(CAPI, "Cluster", "c", &refs);
    let aro = json!({"resources": [rg("rg"), vault("rg")]});
    let hcp = object(
        HCP,
        "HcpOpenShiftCluster",
        "c",
        &json!({"owner": {"name": "rg"}}),
    );
    let aro = owned_by(object(INFRA, "AROCluster", "c", &aro), &root);
    let plane = json!({"resources": [hcp]});
    let plane = owned_by(object(PLANE, "AROControlPlane", "c", &plane), &root);
    [root, aro, plane]
}
