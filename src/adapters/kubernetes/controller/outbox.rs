//! What was sent of each object, so that nothing is sent in vain.
//!
//! In: patches to send, and what became of those before. Out: whether to send one now. A server that changes what it is
//! sent is not sent the same again; a patch that was refused rests before it is sent again, and so does one that somebody
//! keeps undoing. A patch that differs is sent at once. It does not know what the patches are for.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::sync::LazyLock;
use std::time::Duration;

use foldhash::quality::RandomState;
use jiff::Timestamp;
use serde_json::Value;

use super::backoff::backoff;
use crate::health::Live;
use crate::model::{ErrorClass, ObjectId};
use crate::reconcile::outcome::covers;

/// After this many repairs of the same kind in a row, somebody keeps undoing them.
const FIGHT: u32 = 3;

/// How long after a repair the next one counts as the same fight.
const MEMORY: Duration = Duration::from_secs(600);

/// What to do with a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Send it.
    Send,
    /// The server has it, as far as it accepts it.
    Settled,
    /// Send it at this time, unless something changes.
    Rest(Timestamp),
}

/// The newest patch of each object, by manager.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    patches: BTreeMap<(ObjectId, &'static str), Sent>,
}

#[derive(Debug)]
struct Sent {
    /// Digest of the patch.
    patch: u64,
    /// When there was an answer.
    at: Timestamp,
    /// Digest of what the server made of it, if that differs.
    accepted: Option<u64>,
    /// Whether the server refused it.
    is_refused: bool,
    /// How often it was refused, or accepted, in a row before.
    repeats: u32,
    /// Not to be sent again before.
    until: Option<Timestamp>,
}

impl Outbox {
    /// What to do with the patch of an object as it is now.
    pub(super) fn admit(
        &self,
        (id, manager): (&ObjectId, &'static str),
        patch: &Value,
        live: Option<Live<'_>>,
        now: Timestamp,
    ) -> Verdict {
        let Some(sent) = self.patches.get(&(id.clone(), manager)) else {
            return Verdict::Send;
        };
        if sent.patch != digest(patch) {
            return Verdict::Send;
        }
        let held = || live.map(|live| digest(&projection(live.0, patch)));
        match sent.until {
            _ if sent.accepted.is_some() && sent.accepted == held() => Verdict::Settled,
            Some(until) if until > now => Verdict::Rest(until),
            _ => Verdict::Send,
        }
    }

    /// The server answered with the object. Returns whether somebody keeps undoing this patch.
    pub(super) fn answered(
        &mut self,
        (id, manager): (&ObjectId, &'static str),
        patch: &Value,
        answer: &Value,
        now: Timestamp,
    ) -> bool {
        let digested = digest(patch);
        let repeats = self.repeats((id, manager), digested, false, now);
        let is_fight = repeats >= FIGHT;
        let rest = || backoff(ErrorClass::Transient, repeats);
        let until = is_fight.then(|| now.checked_add(rest()).unwrap_or(now));
        let differs = !covers(answer, patch);
        let sent = Sent {
            patch: digested,
            at: now,
            accepted: differs.then(|| digest(&projection(answer, patch))),
            is_refused: false,
            repeats,
            until,
        };
        self.patches.insert((id.clone(), manager), sent);
        repeats == FIGHT
    }

    /// The server refused the patch. Returns when to send it again.
    pub(super) fn refused(
        &mut self,
        (id, manager): (&ObjectId, &'static str),
        patch: &Value,
        class: ErrorClass,
        now: Timestamp,
    ) -> Timestamp {
        let patch = digest(patch);
        let repeats = self.repeats((id, manager), patch, true, now);
        let pause = backoff(class, repeats + 1);
        let until = now.checked_add(pause).unwrap_or(now);
        let sent = Sent {
            patch,
            at: now,
            accepted: None,
            is_refused: true,
            repeats,
            until: Some(until),
        };
        self.patches.insert((id.clone(), manager), sent);
        until
    }

    /// How often the patch with this digest met the same fate in a row before.
    fn repeats(
        &self,
        (id, manager): (&ObjectId, &'static str),
        patch: u64,
        is_refused: bool,
        now: Timestamp,
    ) -> u32 {
        let again = |sent: &&Sent| {
            let rested = sent.until.unwrap_or(sent.at);
            let since = Duration::try_from(now.duration_since(rested)).unwrap_or_default();
            let same = sent.patch == patch && sent.is_refused == is_refused;
            same && since <= MEMORY
        };
        let before = self.patches.get(&(id.clone(), manager)).filter(again);
        before.map_or(0, |sent| sent.repeats + 1)
    }

    /// Whether a patch of this object was refused, and rests.
    pub(super) fn has_refused(&self, id: &ObjectId) -> bool {
        let mut sent = self.patches.range((id.clone(), "")..);
        let mut of_it = sent.by_ref().take_while(|((sent, _), _)| sent == id);
        of_it.any(|(_, sent)| sent.is_refused)
    }

    /// Forgets a deleted object.
    pub(super) fn forget(&mut self, id: &ObjectId) {
        let sent = self.patches.range((id.clone(), "")..).map(|(key, _)| key);
        let sent = sent.take_while(|(sent, _)| sent == id);
        for key in sent.cloned().collect::<Vec<_>>() {
            self.patches.remove(&key);
        }
    }
}

/// What `held` has of the fields of `patch`.
fn projection(held: &Value, patch: &Value) -> Value {
    match (held, patch) {
        (Value::Object(held), Value::Object(patch)) => patch
            .iter()
            .filter_map(|(key, patch)| Some((key.clone(), projection(held.get(key)?, patch))))
            .collect(),
        _ => held.clone(),
    }
}

/// The same for the same value within one process; nobody can look for two values with one digest.
fn digest(value: &Value) -> u64 {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    SEED.hash_one(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WHO: &str = "manager";

    fn id() -> ObjectId {
        ObjectId::new("", "ConfigMap", "ns", "a")
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number")
    }

    fn admit(outbox: &Outbox, patch: &Value, held: &Value, second: i64) -> Verdict {
        outbox.admit((&id(), WHO), patch, Some(Live(held)), at(second))
    }

    #[test]
    fn what_the_server_changes_is_not_sent_the_same_again() {
        let mut outbox = Outbox::default();
        let (patch, answer) = (
            json!({"spec": {"a": "1.0"}}),
            json!({"spec": {"a": "1", "b": 2}}),
        );
        assert_eq!(admit(&outbox, &patch, &answer, 0), Verdict::Send);
        outbox.answered((&id(), WHO), &patch, &answer, at(0));
        assert_eq!(admit(&outbox, &patch, &answer, 1), Verdict::Settled);
        let elsewhere = json!({"spec": {"a": "1", "b": 3}});
        assert_eq!(admit(&outbox, &patch, &elsewhere, 1), Verdict::Settled);
        let drifted = json!({"spec": {"a": "7"}});
        assert_eq!(admit(&outbox, &patch, &drifted, 1), Verdict::Send);
        let other = json!({"spec": {"a": "2.0"}});
        assert_eq!(admit(&outbox, &other, &answer, 1), Verdict::Send);
    }

    #[test]
    fn what_was_refused_rests_unless_it_changes() {
        let mut outbox = Outbox::default();
        let (patch, held) = (json!({"spec": 1}), json!({}));
        let until = outbox.refused((&id(), WHO), &patch, ErrorClass::Invalid, at(0));
        assert_eq!(until, at(30));
        assert_eq!(admit(&outbox, &patch, &held, 29), Verdict::Rest(until));
        assert_eq!(admit(&outbox, &patch, &held, 30), Verdict::Send);
        assert_eq!(admit(&outbox, &json!({"spec": 2}), &held, 1), Verdict::Send);
        let until = outbox.refused((&id(), WHO), &patch, ErrorClass::Invalid, at(30));
        assert_eq!(until, at(90), "twice in a row");
        outbox.forget(&id());
        assert_eq!(admit(&outbox, &patch, &held, 31), Verdict::Send);
    }

    #[test]
    fn a_repair_that_is_undone_again_and_again_rests() {
        let mut outbox = Outbox::default();
        let (patch, undone) = (json!({"spec": 1}), json!({"spec": 2}));
        let mut fights = Vec::new();
        for second in 0..5 {
            fights.push(outbox.answered((&id(), WHO), &patch, &patch, at(second)));
        }
        assert_eq!(fights, [false, false, false, true, false]);
        assert!(matches!(
            admit(&outbox, &patch, &undone, 5),
            Verdict::Rest(_)
        ));
        assert_eq!(admit(&outbox, &patch, &undone, 600), Verdict::Send);
        assert!(!outbox.answered((&id(), WHO), &patch, &patch, at(7200)));
        assert_eq!(admit(&outbox, &patch, &undone, 7201), Verdict::Send);
    }
}
