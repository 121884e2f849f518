//! Conditions that the server itself keeps in the status of objects.

use serde_json::{Value, json};

/// A condition; [`set_condition`] fills in the transition time.
pub(super) fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message})
}

/// Puts a condition into the status of an object; the time moves only with the condition's status.
pub(super) fn set_condition(object: &mut Value, mut condition: Value, now: &str) {
    let list = &mut object["status"]["conditions"];
    if !list.is_array() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else {
        return;
    };
    let known = list.iter_mut().find(|one| one["type"] == condition["type"]);
    condition["lastTransitionTime"] = json!(now);
    match known {
        Some(known) => {
            if known["status"] == condition["status"] {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => list.push(condition),
    }
}
