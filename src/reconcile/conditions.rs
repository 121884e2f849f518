//! Writes `status.conditions` as controllers do.
//!
//! In: an object's conditions and new ones. Out: the new list; the time of a condition changes only
//! with its status, its generation is the object's. It does not know which conditions there are.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::conditions::{FALSE, TRUE, UNKNOWN};
use crate::health::Live;

/// The conditions of an object, being rewritten.
pub(crate) struct Conditions {
    generation: i64,
    now: Timestamp,
    list: Vec<Value>,
}

/// What a condition is set to.
pub(crate) struct NewCondition {
    status: &'static str,
    reason: String,
    message: String,
    severity: &'static str,
}

impl NewCondition {
    fn new(status: &'static str, reason: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            reason: reason.to_owned(),
            message: message.into(),
            severity: "",
        }
    }

    /// It holds.
    pub(crate) fn yes(reason: &str, message: impl Into<String>) -> Self {
        Self::new(TRUE, reason, message)
    }

    /// It does not hold.
    pub(crate) fn no(reason: &str, message: impl Into<String>) -> Self {
        Self::new(FALSE, reason, message)
    }

    /// Whether it holds cannot be known.
    pub(crate) fn unknown(reason: &str, message: impl Into<String>) -> Self {
        Self::new(UNKNOWN, reason, message)
    }

    /// It holds, or it does not.
    pub(crate) fn either(holds: bool, yes: &str, no: &str, message: impl Into<String>) -> Self {
        match holds {
            true => Self::yes(yes, ""),
            false => Self::no(no, message),
        }
    }

    /// With ASO's severity.
    pub(crate) fn severe(mut self, severity: &'static str) -> Self {
        self.severity = severity;
        self
    }
}

impl Conditions {
    /// The conditions the object has.
    pub(crate) fn of(live: Live<'_>, now: Timestamp) -> Self {
        Self {
            generation: live.generation(),
            now,
            list: live.list(&["status", "conditions"]).to_vec(),
        }
    }

    /// Sets the condition of a type, in its place.
    pub(crate) fn set(&mut self, kind: &str, condition: NewCondition) {
        let NewCondition {
            status,
            reason,
            message,
            severity,
        } = condition;
        let place = self.list.iter().position(|held| held["type"] == kind);
        let held = place.map(|place| &self.list[place]);
        let same = held.filter(|held| held["status"] == status);
        let since = same.and_then(|held| held["lastTransitionTime"].as_str());
        let since = since.map_or_else(|| stamp(self.now), str::to_owned);
        let mut condition = json!({
            "type": kind,
            "status": status,
            "observedGeneration": self.generation,
        });
        condition["reason"] = Value::String(reason);
        condition["message"] = Value::String(message);
        condition["lastTransitionTime"] = Value::String(since);
        if !severity.is_empty() {
            condition["severity"] = json!(severity);
        }
        match place {
            Some(place) => self.list[place] = condition,
            None => self.list.push(condition),
        }
    }

    /// The new list.
    pub(crate) fn into_value(self) -> Value {
        Value::Array(self.list)
    }
}

/// A time as Kubernetes writes it, in whole seconds.
pub(crate) fn stamp(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).map_or_else(|_| time.to_string(), |t| t.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_time_changes_only_with_the_status() {
        let object = json!({"metadata": {"generation": 3}, "status": {"conditions": [
            {"type": "A", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "B", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        let now: Timestamp = "2026-01-01T00:00:09.5Z".parse().unwrap();
        let mut conditions = Conditions::of(Live(&object), now);
        conditions.set("A", NewCondition::no("Why", "still").severe("Info"));
        conditions.set("B", NewCondition::yes("Done", ""));
        let list = conditions.into_value();
        assert_eq!(list[0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
        assert_eq!(
            (&list[0]["severity"], &list[0]["observedGeneration"]),
            (&json!("Info"), &json!(3))
        );
        assert_eq!(list[1]["lastTransitionTime"], "2026-01-01T00:00:09Z");
        assert_eq!(list[1].get("severity"), None);
    }
}
