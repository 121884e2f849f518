//! The Fleet object of a fleet, as far as its parent does not say the same.
//!
//! In: the object as the cluster has it. Out: what it says of itself. It does not know who reads it.

use serde_json::{Value as Json, json};

use crate::api::fleet::{suspended_by, suspending};
use crate::plan::ApplySet;

/// A Fleet object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetObjectState {
    /// The name of the fleet.
    pub name: String,
    /// The namespace of the object.
    pub namespace: String,
    /// This cluster has a parent of the fleet, which knows its revisions and objects.
    pub has_parent: bool,
    /// The suspension of the fleet by the object, if there is one.
    pub suspended: Option<ObjectSuspension>,
    ready: Option<Reported>,
    stalled: Option<Reported>,
}

/// The suspension of a fleet by its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSuspension {
    /// The text of the annotation, or the field.
    pub by: String,
    /// RFC 3339 time at which the daemon noticed it; `None` if none has.
    pub since: Option<String>,
    /// It is the annotation; else the field.
    pub is_annotation: bool,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reported {
    status: String,
    reason: String,
    message: String,
}

impl FleetObjectState {
    /// Reads the object; `None` if it has no name.
    #[must_use]
    pub fn read(object: &Json) -> Option<Self> {
        let status = &object["status"];
        let condition = |kind: &str| {
            let mut conditions = status["conditions"].as_array()?.iter();
            let found = conditions.find(|one| one["type"] == kind)?;
            let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
            Some(Reported {
                status: text("status"),
                reason: text("reason"),
                message: text("message"),
            })
        };
        let text = |value: &Json| value.as_str().map(str::to_owned);
        Some(Self {
            name: text(&object["metadata"]["name"])?,
            namespace: text(&object["metadata"]["namespace"])?,
            has_parent: false,
            suspended: suspended_by(object).map(|by| ObjectSuspension {
                by,
                since: text(&status["suspendedSince"]),
                is_annotation: suspending(object).is_some(),
            }),
            ready: condition("Ready"),
            stalled: condition("Stalled"),
        })
    }

    /// Returns true if it is the object of the fleet of `set`.
    #[must_use]
    pub fn is_of(&self, set: &ApplySet) -> bool {
        self.name == set.fleet() && self.namespace == set.namespace()
    }

    /// Returns true if its daemon says that everything is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.stalled.is_none() && self.ready.as_ref().is_some_and(|one| one.status == "True")
    }

    /// The reason and the message of the condition Stalled, if it is true.
    #[must_use]
    pub fn stall(&self) -> Option<String> {
        let failed = || self.ready.as_ref().filter(|one| one.status == "False");
        let stalled = self.stalled.as_ref().or_else(failed)?;
        Some(format!("{}: {}", stalled.reason, stalled.message))
    }

    /// Returns true if no daemon has reported about it yet.
    #[must_use]
    pub const fn is_unseen(&self) -> bool {
        self.ready.is_none()
    }

    /// Its condition in a sentence.
    #[must_use]
    pub fn text(&self) -> String {
        match (&self.stalled, &self.ready) {
            (Some(stalled), _) => format!("is stalled: {}: {}", stalled.reason, stalled.message),
            (None, Some(ready)) => {
                let state = match ready.status.as_str() {
                    "True" => "is ready",
                    "False" => "is not ready",
                    _ => "is not ready yet",
                };
                format!("{state}: {}: {}", ready.reason, ready.message)
            }
            (None, None) => "has no status: no daemon has looked at it yet. Check that `capstan run --fleets` runs, that it follows this namespace, and that it has the shard of the Fleet".to_owned(),
        }
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Json {
        let condition = |one: &Reported| json!({"status": one.status, "reason": one.reason, "message": one.message});
        let suspended = self.suspended.as_ref();
        json!({
            "ready": self.ready.as_ref().map(condition),
            "stalled": self.stalled.as_ref().map(condition),
            "suspended": suspended.map(|one| json!({"by": one.by, "since": one.since})),
            "hasParent": self.has_parent,
        })
    }
}

impl ObjectSuspension {
    /// The help to end the suspension.
    #[must_use]
    pub fn help(&self, namespace: &str, name: &str) -> String {
        match self.is_annotation {
            true => format!(
                "remove the annotation of the Fleet to continue: kubectl annotate fleet {name} -n {namespace} capstan.dev/suspended-"
            ),
            false => format!(
                "set `spec.apply.suspend: false` in the Fleet {name} of namespace {namespace} to continue"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(conditions: &Json) -> FleetObjectState {
        let object = json!({"metadata": {"name": "f", "namespace": "n"}, "status": {"conditions": conditions}});
        FleetObjectState::read(&object).expect("it has a name")
    }

    #[test]
    fn a_fleet_says_that_it_is_stalled_waits_or_was_never_looked_at() {
        let ready = |status: &str| json!({"type": "Ready", "status": status, "reason": "InvalidSpec", "message": "no"});
        let stalled =
            json!({"type": "Stalled", "status": "True", "reason": "InvalidSpec", "message": "no"});
        for (conditions, text, is_ready, stall) in [
            (
                json!([ready("False"), stalled]),
                "is stalled: InvalidSpec: no",
                false,
                true,
            ),
            (
                json!([ready("False")]),
                "is not ready: InvalidSpec: no",
                false,
                true,
            ),
            (
                json!([ready("Unknown")]),
                "is not ready yet: InvalidSpec: no",
                false,
                false,
            ),
            (
                json!([ready("True")]),
                "is ready: InvalidSpec: no",
                true,
                false,
            ),
            (json!([]), "has no status: ", false, false),
        ] {
            let state = object(&conditions);
            assert!(state.text().starts_with(text), "{}", state.text());
            assert_eq!(state.is_ready(), is_ready, "{text}");
            assert_eq!(state.stall().is_some(), stall, "{text}");
            assert_eq!(state.is_unseen(), conditions == json!([]), "{text}");
        }
        assert_eq!(FleetObjectState::read(&json!({})), None);
    }
}
