//! The status of an AROControlPlane.
//!
//! In: what was observed. Out: the whole status. What Azure once reported stays; `controlPlaneInitialized` stays true once
//! it was.

use serde_json::{Value, json};

use super::super::conditions::Conditions;
use super::super::outcome::Outcome;
use crate::api::conditions as c;
use crate::health::Live;

/// The conditions of which one can be an end.
const ENDS: [&str; 4] = [
    c::IDENTITY_READY,
    c::HCP_CLUSTER_READY,
    c::ENCRYPTION_KEY_READY,
    c::EXTERNAL_AUTH_READY,
];

/// The status it has; complete, since `ready` must always be there.
pub(super) fn held(live: Live<'_>) -> Value {
    let held = live.at(&["status"]).filter(|status| status.is_object());
    let mut status = held.cloned().unwrap_or_else(|| json!({}));
    if status.get("ready").is_none() {
        status["ready"] = json!(false);
    }
    if status.get("initialization").is_none() {
        status["initialization"] = json!({"controlPlaneInitialized": false});
    }
    status
}

/// Copies what the HCP cluster reports; what it does not report stays.
pub(super) fn copy(hcp: Live<'_>, status: &mut Value) {
    let fields: [(&str, &[&str]); 4] = [
        ("id", &["status", "id"]),
        ("consoleURL", &["status", "properties", "console", "url"]),
        ("apiURL", &["status", "properties", "api", "url"]),
        ("version", &["status", "properties", "version", "id"]),
    ];
    for (field, path) in fields {
        let value = hcp.text(path);
        if !value.is_empty() {
            status[field] = json!(value);
        }
    }
}

/// Sets whether the API server responds.
pub(super) fn set_ready(live: Live<'_>, status: &mut Value, is_ready: bool) {
    let was = live.flag(&["status", "initialization", "controlPlaneInitialized"]);
    status["ready"] = json!(is_ready);
    status["initialization"] = json!({"controlPlaneInitialized": was || is_ready});
}

/// Writes the status with these conditions, and the failure that only a person can end, if there is one.
pub(super) fn write(
    live: Live<'_>,
    mut status: Value,
    conditions: Conditions,
    outcome: &mut Outcome,
) {
    let refuted = ENDS.iter().filter_map(|kind| conditions.refuted(kind));
    let mut ends = refuted.filter(|(reason, message)| c::is_terminal(reason, message));
    let failure = ends.next().map(|(_, message)| json!(message));
    if let Some(fields) = status.as_object_mut() {
        fields.remove("failureMessage");
        fields.extend(failure.map(|failure| ("failureMessage".to_owned(), failure)));
    }
    conditions.write(live, status, outcome);
}
