//! What holds up the deletion of a live object.
//!
//! In: an object that is being deleted. Out: its finalizers in words, and the condition that says why it is still there. It
//! does not know who removes a finalizer.

use serde_json::Value;

use super::{Condition, Live};
use crate::api::{aso, conditions};

/// `being deleted, held by <finalizers>`.
#[must_use]
pub fn held(live: Live<'_>) -> String {
    // A namespace has some in its spec.
    let finalizers = ["metadata", "spec"].map(|part| live.list(&[part, "finalizers"]));
    let finalizers = finalizers.into_iter().flatten().filter_map(Value::as_str);
    match finalizers.collect::<Vec<_>>().as_slice() {
        [] => "being deleted".to_owned(),
        finalizers => format!("being deleted, held by {}", finalizers.join(", ")),
    }
}

/// The condition that says what the deletion waits for, or what Azure Service Operator failed with.
#[must_use]
pub fn obstacle(live: Live<'_>) -> Option<Condition<'_>> {
    // A namespace has a condition for each kind of content that is left in it.
    let explains = |condition: &Condition<'_>| {
        let has_message = condition.is_true() && !condition.message().is_empty();
        has_message && (condition.kind() == "Deleting" || condition.kind().ends_with("Remaining"))
    };
    let failed = |condition: &Condition<'_>| is_failure(live, *condition);
    let found = live.conditions().find(explains);
    found.or_else(|| live.conditions().find(failed))
}

/// Whether a condition of an object that is being deleted says that this failed.
#[must_use]
pub fn is_failure(live: Live<'_>, condition: Condition<'_>) -> bool {
    let is_severe = [aso::WARNING, aso::ERROR].contains(&condition.severity());
    let of_aso = condition.kind() == aso::READY && condition.is_false() && is_severe;
    let of_ours = condition.is_true() && condition.reason() == conditions::DELETION_FAILED;
    live.is_deleting() && (of_aso && live.is_current(condition) || of_ours)
}
