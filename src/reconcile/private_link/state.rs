//! The part of the status that one controller writes.
//!
//! In: an object, and conditions and fields of one controller. Out: a patch of these alone, so that each condition has one
//! owner. It does not know which conditions there are.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::away::is_ending;
use crate::api::azure_private_link_service::CONDITIONS;
use crate::api::private_link_reasons as r;
use crate::health::Live;
use crate::reconcile::conditions::{Conditions, NewCondition, Typed};
use crate::reconcile::outcome::{Outcome, Write, covers};

/// The reason of a condition that holds.
pub(super) const SUCCESS: &str = "AzureSuccess";
/// The reason of a condition that does not, for which Azure gives none of its own.
pub(super) const ERROR: &str = "AzureError";

/// What one controller says of an object.
pub(super) struct State {
    /// The types of the controller's conditions.
    own: &'static [&'static str],
    conditions: Vec<Typed>,
    fields: Map<String, Value>,
}

impl State {
    /// Nothing new: the conditions and the fields of the controller stay as they are.
    pub(super) fn of(live: Live<'_>, own: &'static [&'static str], fields: &[&str]) -> Self {
        let held = |name: &&str| Some(((*name).to_owned(), live.at(&["status", name])?.clone()));
        Self {
            own,
            conditions: Vec::new(),
            fields: fields.iter().filter_map(held).collect(),
        }
    }

    /// Says that a condition holds, or that it does not.
    pub(super) fn set(&mut self, kind: &'static str, condition: NewCondition) {
        self.conditions.retain(|(held, _)| *held != kind);
        self.conditions.push((kind, condition));
    }

    /// Gives a field of the status; an empty text leaves it as it is.
    pub(super) fn field(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.fields.insert(name.to_owned(), json!(value));
        }
    }

    /// Whether this condition holds; as the object has it, if nothing is said of it here.
    pub(super) fn holds(&self, live: Live<'_>, kind: &str) -> bool {
        let said = self.conditions.iter().find(|(said, _)| *said == kind);
        match said {
            Some((_, condition)) => condition.holds(),
            None => is_current(live, kind),
        }
    }

    /// What is said of a condition; as the object has it, if nothing is said here.
    pub(super) fn decided(&self, live: Live<'_>, kind: &str) -> Option<NewCondition> {
        let said = self.conditions.iter().find(|(said, _)| *said == kind);
        said.map(|(_, condition)| condition.clone())
            .or_else(|| held(live, kind))
    }

    /// Writes it, unless the object has it. Warns of each condition that newly fails.
    pub(super) fn write(self, live: Live<'_>, now: Timestamp, outcome: &mut Outcome) {
        let mut conditions = Conditions::of(live, now);
        for (kind, condition) in self.conditions {
            warn(live, kind, &condition, outcome);
            conditions.set(kind, condition);
        }
        let list = match conditions.into_value() {
            Value::Array(list) => list,
            _ => Vec::new(),
        };
        let own = |held: &Value| {
            held["type"]
                .as_str()
                .is_some_and(|kind| self.own.contains(&kind))
        };
        let list: Vec<Value> = list.into_iter().filter(own).collect();
        let held = live.list(&["status", "conditions"]);
        let is_held = |new: &Value| held.iter().any(|held| covers(held, new));
        let has_fields = covers(
            live.at(&["status"]).unwrap_or(&Value::Null),
            &Value::Object(self.fields.clone()),
        );
        if list.is_empty() || list.iter().all(is_held) && has_fields {
            return;
        }
        let mut status = Value::Object(self.fields);
        status["conditions"] = Value::Array(list);
        outcome.write(Write::Status(json!({
            "apiVersion": live.text(&["apiVersion"]),
            "kind": live.kind(),
            "metadata": {"name": live.name(), "namespace": live.namespace()},
            "status": status,
        })));
    }
}

/// A condition as an object has it.
fn held(live: Live<'_>, kind: &str) -> Option<NewCondition> {
    let held = live.condition(kind)?;
    let (reason, message) = (held.reason(), held.message());
    Some(if held.is_true() {
        NewCondition::yes(reason, message)
    } else if held.is_false() {
        NewCondition::no(reason, message)
    } else {
        NewCondition::unknown(reason, message)
    })
}

/// That an object names no hosted cluster of its namespace. A finalizer stands for what was made when it did.
pub(super) fn invalid(live: Live<'_>, why: String, finalizer: &str) -> NewCondition {
    let message = if is_ending(live, finalizer) {
        format!(
            "{why}: correct it, so that what was made for the cluster is found and deleted; if nothing is left in Azure, remove the finalizer {finalizer}"
        )
    } else {
        why
    };
    NewCondition::no(r::INVALID_OBJECT, message)
}

/// Whether a condition holds for the present spec.
pub(super) fn is_current(live: Live<'_>, kind: &str) -> bool {
    let held = live.condition(kind);
    held.is_some_and(|held| held.is_true() && live.is_current(held))
}

/// An event for a condition that fails for another reason than before.
fn warn(live: Live<'_>, kind: &str, condition: &NewCondition, outcome: &mut Outcome) {
    let held = live.condition(kind);
    let is_news = held.is_none_or(|held| {
        held.reason() != condition.reason() || held.is_true() != condition.holds()
    });
    let waits = ["WaitingFor", "Delet"]
        .iter()
        .any(|start| condition.reason().starts_with(start));
    // The summary repeats another one.
    let is_part = CONDITIONS.last() != Some(&kind);
    if is_news && is_part && condition.is_false() && !waits {
        outcome.event(live, true, condition.reason(), condition.message());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_writes_its_own_conditions_and_no_other() {
        let held = json!({"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "AzurePrivateLinkService",
            "metadata": {"name": "private-router", "namespace": "ns", "generation": 1},
            "status": {"conditions": [{"type": "Other", "status": "True", "reason": "X", "observedGeneration": 1}]}});
        let mut state = State::of(Live(&held), &["Mine"], &["privateEndpointIP"]);
        state.set("Mine", NewCondition::yes(SUCCESS, "it is there"));
        state.field("privateEndpointIP", "10.0.0.1");
        let mut outcome = Outcome::default();
        state.write(Live(&held), Timestamp::UNIX_EPOCH, &mut outcome);
        let [Write::Status(patch)] = outcome.writes.as_slice() else {
            unreachable!("one status");
        };
        let list = patch["status"]["conditions"].as_array().map(Vec::len);
        assert_eq!(list, Some(1));
        assert_eq!(patch["status"]["privateEndpointIP"], "10.0.0.1");
    }
}
