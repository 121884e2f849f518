//! Clusters and pools as HyperShift reports them, and what is told of them.

#![allow(clippy::unwrap_used)]

mod any;
mod composite;
mod counts;
mod rollout;
mod table;
mod tolerant;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;

const CREATED: &str = "2026-11-29T09:00:00Z";

/// So many seconds after the cluster was created.
fn at(seconds: i64) -> Timestamp {
    let created: Timestamp = CREATED.parse().unwrap();
    created + SignedDuration::from_secs(seconds)
}

/// A condition `Type=Status`, `Type=Status/Reason` or `Type=Status/Reason: message`, since the creation.
fn condition(text: &str) -> Value {
    let (head, message) = text.split_once(": ").unwrap_or((text, ""));
    let (kind, rest) = head.split_once('=').unwrap();
    let (status, reason) = rest.split_once('/').unwrap_or((rest, "AsExpected"));
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": CREATED})
}

/// The same, since so many seconds after the creation.
fn since(text: &str, seconds: i64) -> Value {
    let mut condition = condition(text);
    condition["lastTransitionTime"] = json!(at(seconds).to_string());
    condition
}

fn object(conditions: impl IntoIterator<Item = Value>) -> Value {
    let conditions: Vec<Value> = conditions.into_iter().collect();
    json!({
        "metadata": {"name": "a", "creationTimestamp": CREATED, "generation": 1},
        "status": {"conditions": conditions},
    })
}

/// An object with the conditions of a text, one after each comma.
fn live(conditions: &str) -> Value {
    let texts = conditions.split(", ").filter(|text| !text.is_empty());
    object(texts.map(condition))
}

fn deleted(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = json!(CREATED);
    object
}

/// The cluster with a release that is not complete.
fn partial(mut cluster: Value) -> Value {
    cluster["status"]["version"] =
        json!({"history": [{"state": "Partial", "startedTime": CREATED}]});
    cluster
}

/// The cluster with a first release that was complete so many seconds after the creation, and one that is not.
fn completed(mut cluster: Value, seconds: i64) -> Value {
    cluster["status"]["version"] = json!({"history": [
        {"state": "Partial", "startedTime": at(9_000).to_string()},
        {"state": "Completed", "completionTime": at(8_000).to_string()},
        {"state": "Completed", "completionTime": at(seconds).to_string()},
    ]});
    cluster
}

fn told(cluster: &Value, pools: &[&Value], mapping: Mapping, seconds: i64) -> (State, String) {
    let Status { state, message } = assess(Some(cluster), pools, mapping, at(seconds)).status;
    (state, message)
}

/// The state of a cluster alone.
fn state(cluster: &Value, mapping: Mapping, seconds: i64) -> State {
    told(cluster, &[], mapping, seconds).0
}
