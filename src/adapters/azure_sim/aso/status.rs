//! The status of a resource: ASO's condition, and what Azure reports.
//!
//! In: a resource and what to report. Out: writes of its whole status.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::azure::Azure;
use super::outputs;
use crate::api::aso;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::health::Live;
use crate::reconcile::conditions::{Conditions, NewCondition};
use crate::reconcile::outcome::{self, Write};

/// Where ARO HCP reports how far it is (facts/aro-rules.md §2.5).
const STATE: &[&str] = &["status", "properties", "provisioningState"];

/// Whether Azure made the resource once.
pub(super) fn exists(live: Live<'_>) -> bool {
    !live.text(&["status", "id"]).is_empty()
}

/// Whether it is a cluster that failed to come up, which Azure does not update any more.
pub(super) fn is_broken(live: Live<'_>) -> bool {
    live.kind() == "HcpOpenShiftCluster" && live.text(STATE) == "Failed"
}

/// What Azure answers to an update of a broken cluster.
pub(super) fn refuse_update(live: Live<'_>) -> NewCondition {
    let message = format!("Cluster '{}' {}", live.name(), aso::IN_STATE_ERROR);
    NewCondition::no(aso::INVALID_REQUEST_CONTENT, message).severe(aso::ERROR)
}

/// The provisioning state at the start of an operation.
pub(super) fn starting(live: Live<'_>) -> &'static str {
    if exists(live) {
        "Updating"
    } else {
        "Provisioning"
    }
}

/// Reports `condition`, and for ARO HCP this provisioning state.
pub(super) fn report(
    live: Live<'_>,
    now: Timestamp,
    condition: NewCondition,
    state: Option<&str>,
) -> Option<Write> {
    let held = live.at(&["status"]).filter(|status| status.is_object());
    let mut status = held.cloned().unwrap_or_else(|| json!({}));
    if let Some(state) = state.filter(|_| live.group() == RED_HAT_OPENSHIFT) {
        merge(
            &mut status,
            json!({"properties": {"provisioningState": state}}),
        );
    }
    outcome::status(live, with_condition(live, now, status, condition))
}

/// Whether Azure keeps what it could not finish: it does so with ARO HCP.
pub(super) fn fails_halfway(live: Live<'_>) -> bool {
    live.group() == RED_HAT_OPENSHIFT
}

/// What Azure reports of what it could not finish.
pub(super) fn failed(azure: &Azure, live: Live<'_>, id: &str) -> Value {
    let mut state = outputs::state(azure, live, id);
    state["properties"] = json!({"provisioningState": "Failed"});
    state
}

/// Says that it succeeded, with all that Azure reports of it.
pub(super) fn succeeds(live: Live<'_>, now: Timestamp, state: Value) -> Option<Write> {
    ends(live, now, state, NewCondition::yes(aso::SUCCEEDED, ""))
}

/// Says this, with all that Azure reports of it.
pub(super) fn ends(
    live: Live<'_>,
    now: Timestamp,
    state: Value,
    condition: NewCondition,
) -> Option<Write> {
    let held = live.at(&["status"]).filter(|status| status.is_object());
    let mut status = held.cloned().unwrap_or_else(|| json!({}));
    if let Some(fields) = status.as_object_mut() {
        fields.remove("tags");
    }
    merge(&mut status, state);
    outcome::status(live, with_condition(live, now, status, condition))
}

/// Says that it is there, with all that Azure reports of it.
pub(super) fn found(live: Live<'_>, now: Timestamp, id: &str, state: Value) -> Option<Write> {
    let mut state = match state.is_object() {
        true => state,
        false => json!({}),
    };
    let name = id.rsplit('/').next().unwrap_or_default();
    state["id"] = json!(id);
    state["name"] = json!(name);
    succeeds(live, now, state)
}

fn with_condition(
    live: Live<'_>,
    now: Timestamp,
    mut status: Value,
    condition: NewCondition,
) -> Value {
    let mut conditions = Conditions::of(live, now);
    conditions.set(aso::READY, condition);
    merge(&mut status, json!({"conditions": conditions.into_value()}));
    status
}

/// Lays one value over another: maps merge, everything else replaces.
fn merge(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                merge(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over,
    }
}
