//! An object for which nothing can be decided, since a kind that the decision needs may not be watched.
//!
//! In: the object, and which kinds may not be watched. Out: a status that says so, and an event. It does not know what is
//! needed of them.

use jiff::Timestamp;
use serde_json::json;

use super::conditions::{Conditions, NewCondition};
use super::outcome::Outcome;
use super::snapshot::Denied;
use super::world::GroupKind;
use crate::api::conditions::{KIND_NOT_READABLE, PROVISIONING, READY};
use crate::api::kinds::ARO;
use crate::health::Live;

/// What is reported of an object that needs one of these kinds. Nothing else of its status changes.
pub(crate) fn blocked(
    live: Live<'_>,
    needed: &[GroupKind],
    denied: &Denied,
    now: Timestamp,
) -> Outcome {
    let mut outcome = Outcome::default();
    let is_aro = ARO.contains(&(live.group(), live.kind()));
    let mut found = denied.iter().filter(|(kind, _)| needed.contains(kind));
    let Some((kind, why)) = found.next().filter(|_| is_aro) else {
        return outcome;
    };
    let message = format!(
        "Nothing is done for this object, since it needs the kind {} of the group \"{}\", which may not be watched: {why}",
        kind.kind, kind.group
    );
    let mut status = json!({"ready": false});
    if let Some(held) = live.at(&["status"]).filter(|held| held.is_object()) {
        status.clone_from(held);
    }
    if status.get("ready").is_none() {
        status["ready"] = json!(false);
    }
    let was = live.condition(READY).map(|ready| ready.message());
    if was != Some(message.as_str()) {
        outcome.event(live, true, KIND_NOT_READABLE, message.as_str());
    }
    let mut conditions = Conditions::of(live, now);
    conditions.set(READY, NewCondition::no(KIND_NOT_READABLE, message));
    conditions.write(live, status, &mut outcome);
    outcome
}

/// It is not blocked any more, if it ever was: what follows says more.
pub(super) fn unblock(conditions: &mut Conditions) {
    let why = conditions.refuted(READY);
    if why.is_some_and(|(reason, _)| reason == KIND_NOT_READABLE) {
        conditions.set(READY, NewCondition::no(PROVISIONING, ""));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::Value;

    use super::*;
    use crate::reconcile::outcome::Write;

    fn kind() -> GroupKind {
        GroupKind::new("other.azure.com", "Thing")
    }

    fn denied() -> Denied {
        Denied::from([(kind(), "no permission: add a rule".to_owned())])
    }

    fn object(status: Value) -> Value {
        let mut object = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROCluster",
            "metadata": {"name": "c", "namespace": "ns", "generation": 2}});
        object["status"] = status;
        object
    }

    #[test]
    fn an_object_names_the_kind_that_it_needs_and_the_right_once() {
        let held = json!({"ready": true, "initialization": {"provisioned": true}});
        let mut object = object(held);
        let now = Timestamp::UNIX_EPOCH;
        let outcome = blocked(Live(&object), &[kind()], &denied(), now);
        let [Write::Status(patch)] = outcome.writes.as_slice() else {
            unreachable!("one status is written");
        };
        let message = "Nothing is done for this object, since it needs the kind Thing of the group \"other.azure.com\", which may not be watched: no permission: add a rule";
        let ready = &patch["status"]["conditions"][0];
        assert_eq!(
            (&ready["reason"], &ready["message"]),
            (&json!("KindNotReadable"), &json!(message))
        );
        assert_eq!(patch["status"]["initialization"]["provisioned"], true);
        assert_eq!(outcome.events.len(), 1);
        object["status"] = patch["status"].clone();
        assert_eq!(
            blocked(Live(&object), &[kind()], &denied(), now),
            Outcome::default()
        );
    }

    #[test]
    fn a_kind_that_is_not_needed_blocks_nothing() {
        let object = object(Value::Null);
        let other = [GroupKind::new("other.azure.com", "Other")];
        let outcome = blocked(Live(&object), &other, &denied(), Timestamp::UNIX_EPOCH);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn it_ends_with_the_next_decision() {
        let ready = json!({"type": "Ready", "status": "False", "reason": "KindNotReadable"});
        let object = object(json!({"conditions": [ready]}));
        let mut conditions = Conditions::of(Live(&object), Timestamp::UNIX_EPOCH);
        unblock(&mut conditions);
        assert_eq!(conditions.refuted(READY), Some((PROVISIONING, "")));
    }
}
