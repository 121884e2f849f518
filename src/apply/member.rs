//! The facts kept about a live member of the fleet's set, so that an unchanged one costs nothing.
//!
//! In: the live object, what is wanted of it, what was kept of it before. Out: a [`Member`]: who it is,
//! its health, and whether it is as it was applied. managedFields and content are read here and not
//! kept. It does not know: how the object came here, what is done about it.

use serde_json::Value as Json;

use super::drift::{Drift, DriftState};
use super::membership::is_applied;
use crate::api::labels;
use crate::health::{self, Live};
use crate::model::{Action, Health};
use crate::plan::losses;

/// A live member, or an object with the label of the set that is to become one.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion; zero if it is not a number. API servers count up (since 1.35 officially).
    pub version: u128,
    /// Its generation.
    pub generation: i64,
    /// Its health.
    pub health: Health,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What holds up its deletion: finalizers, and what failed; empty unless it is being deleted.
    pub held: String,
    /// Who owns it.
    pub owners: Vec<Owner>,
    /// The name of the cluster it belongs to, as it states it; empty for none.
    pub cluster: String,
    /// What happens to it when its file goes away, as it was last applied.
    pub policy: String,
    /// The sha256 of the payload it was last applied with, as its annotation has it.
    pub applied: String,
    /// Whether we applied it; else it only carries the label.
    pub applied_by_us: bool,
    /// Whether it is as it was applied.
    pub drift: DriftState,
    /// A digest of the fields we own and their values.
    digest: u64,
}

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The owner; of the same namespace, or of none.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whether it is the controller.
    pub controller: bool,
}

impl Member {
    /// Reads `live`. `wanted` is what is asked of it, `before` what was known of it.
    #[must_use]
    pub fn read(live: &Json, wanted: Option<&Action>, before: Option<&Self>) -> Self {
        let object = Live(live);
        let applied = object.annotation(labels::APPLIED).to_owned();
        let mut member = Self {
            uid: object.uid().to_owned(),
            version: version(live),
            generation: object.generation(),
            health: health::health(live),
            deleting: object.is_deleting(),
            held: held(object),
            owners: owners(object),
            cluster: losses::cluster_of(&object.id(), live).to_owned(),
            policy: object.annotation(labels::DELETION_POLICY).to_owned(),
            applied,
            applied_by_us: is_applied(live) || was_deleted_by_us(object, before),
            drift: DriftState::Outdated,
            digest: 0,
        };
        let same = |before: &&Self| {
            before.uid == member.uid
                && before.applied == member.applied
                && before.drift == DriftState::InSync
        };
        let known = before.filter(same).map(|before| before.digest);
        (member.drift, member.digest) = DriftState::of(live, &member.applied, wanted, known);
        // It was restored together with its managed fields. Once it was applied, it is known.
        if !member.applied_by_us && known.is_none() && member.drift == DriftState::InSync {
            member.drift = DriftState::Drifted(Drift::default());
        }
        member
    }

    /// The same for the answer to our own apply: it is in sync, whatever the server or its webhooks changed.
    #[must_use]
    pub fn answered(live: &Json, wanted: &Action) -> Self {
        let member = Self::read(live, Some(wanted), None);
        Self {
            drift: DriftState::InSync,
            ..member
        }
    }

    /// Asks of it what is `wanted` now.
    pub fn judge(&mut self, wanted: &Action) {
        let payload = &wanted.payload;
        if payload.hash() != self.applied {
            self.drift = DriftState::Outdated;
        }
    }

    /// Whether `self` is not older than `other`. A new object starts anew.
    #[must_use]
    pub fn is_newer(&self, other: &Self) -> bool {
        self.uid != other.uid || self.version >= other.version
    }

    /// The controller, if it has one.
    #[must_use]
    pub fn controller(&self) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.controller)
    }
}

/// The resourceVersion as a number.
pub(super) fn version(live: &Json) -> u128 {
    let text = Live(live).text(&["metadata", "resourceVersion"]);
    text.parse().unwrap_or_default()
}

/// What we applied stays ours while it is being deleted, whatever others do to it: dependents wait until it is gone.
fn was_deleted_by_us(object: Live<'_>, before: Option<&Member>) -> bool {
    let is_same = |before: &Member| before.uid == object.uid() && before.applied_by_us;
    object.is_deleting() && before.is_some_and(is_same)
}

fn held(object: Live<'_>) -> String {
    if !object.is_deleting() {
        return String::new();
    }
    let held = health::held(object);
    let failure = health::obstacle(object).filter(|why| health::is_failure(object, *why));
    match failure {
        Some(why) => format!("{held}: {}", why.message()),
        None => held,
    }
}

fn owners(object: Live<'_>) -> Vec<Owner> {
    let read = |owner: &Json| {
        let owner = Live(owner);
        Owner {
            kind: owner.kind().to_owned(),
            name: owner.text(&["name"]).to_owned(),
            uid: owner.text(&["uid"]).to_owned(),
            controller: owner.flag(&["controller"]),
        }
    };
    let owners = object.list(&["metadata", "ownerReferences"]);
    owners.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_holds_up_a_deletion_is_known_and_nothing_else() {
        let condition = |reason: &str| json!([{"type": "Deleting", "status": "True", "reason": reason, "message": "why"}]);
        let object = |finalizers: Json, deleted: Json, conditions: Json| {
            let metadata = json!({"finalizers": finalizers, "deletionTimestamp": deleted});
            json!({"metadata": metadata, "status": {"conditions": conditions}})
        };
        let time = json!("2026-01-01T00:00:00Z");
        let cases = [
            (json!(["a"]), Json::Null, condition("DeletionFailed"), ""),
            (json!([]), time.clone(), json!([]), "being deleted"),
            (
                json!(["a", "b"]),
                time.clone(),
                condition("WaitingForResources"),
                "being deleted, held by a, b",
            ),
            (
                json!(["a"]),
                time,
                condition("DeletionFailed"),
                "being deleted, held by a: why",
            ),
        ];
        for (finalizers, deleted, conditions, expected) in cases {
            let member = Member::read(&object(finalizers, deleted, conditions), None, None);
            assert_eq!(member.held, expected);
        }
    }
}
