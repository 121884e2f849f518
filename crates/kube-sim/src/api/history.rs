//! What happened lately to the objects of one collection.
//!
//! In: each change, once, in order. Out: the changes after a version, the state of the collection
//! at a version, and a wake-up for those who wait for more. It forgets its oldest changes, and answers
//! requests for them with an error.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::watch;

use super::object::Stored;

/// How many changes of one collection are kept. A watch that falls further behind must list again.
const KEPT: usize = 16_384;
/// How many bytes of objects that were replaced or deleted are kept with them.
const KEPT_BYTES: usize = 2 * 1024 * 1024;
/// How many changes are kept however large their objects are: more than clients write before the watches have a turn.
const KEPT_AT_LEAST: usize = 64;

/// One change of one object.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// The key of the object.
    pub(super) key: Arc<str>,
    /// The object before; none when it was created.
    pub(super) before: Option<Stored>,
    /// The object after; of a deleted one its last state, at the version of the deletion.
    pub(super) after: Stored,
    /// Whether it is gone.
    pub(super) deleted: bool,
}

impl Event {
    /// The version that the change made.
    pub(super) fn version(&self) -> u64 {
        self.after.version
    }

    /// Bytes of the object that the change took out of the collection.
    fn superseded(&self) -> usize {
        self.before.as_ref().map_or(0, Stored::size)
    }
}

/// The wanted changes are forgotten; those after this version are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forgotten(pub(super) u64);

/// The latest changes of a collection.
#[derive(Debug)]
pub(super) struct History {
    events: VecDeque<Event>,
    /// The last version that is forgotten.
    forgotten: u64,
    /// Bytes of the objects that are kept here alone.
    bytes: usize,
    latest: watch::Sender<u64>,
}

impl History {
    /// A history that starts after `version`.
    pub(super) fn after(version: u64) -> Self {
        Self {
            events: VecDeque::new(),
            forgotten: version,
            bytes: 0,
            latest: watch::Sender::new(version),
        }
    }

    /// Takes in a change and wakes those who wait.
    pub(super) fn push(&mut self, event: Event) {
        self.latest.send_replace(event.version());
        self.bytes += event.superseded();
        self.events.push_back(event);
        while self.is_too_long() {
            self.forget_oldest();
        }
    }

    fn is_too_long(&self) -> bool {
        let count = self.events.len();
        count > KEPT || (count > KEPT_AT_LEAST && self.bytes > KEPT_BYTES)
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.events.pop_front() {
            self.bytes -= oldest.superseded();
            self.forgotten = oldest.version();
        }
    }

    /// Wakes those who wait, though nothing changed.
    pub(super) fn wake(&self) {
        self.latest.send_modify(|_| {});
    }

    /// Forgets everything up to `version`.
    pub(super) fn forget(&mut self, version: u64) {
        while self
            .events
            .front()
            .is_some_and(|event| event.version() <= version)
        {
            self.forget_oldest();
        }
        self.forgotten = self.forgotten.max(version);
    }

    /// The changes after `version`, in order.
    pub(super) fn since(&self, version: u64) -> Result<impl Iterator<Item = &Event>, Forgotten> {
        if version < self.forgotten {
            return Err(Forgotten(self.forgotten));
        }
        let start = self
            .events
            .partition_point(|event| event.version() <= version);
        Ok(self.events.range(start..))
    }

    /// What has to be undone to be back at `version`: the objects that changed since, as they were
    /// then.
    pub(super) fn undo(
        &self,
        version: u64,
    ) -> Result<BTreeMap<Arc<str>, Option<Stored>>, Forgotten> {
        let mut then = BTreeMap::new();
        for event in self.since(version)? {
            then.entry(event.key.clone())
                .or_insert_with(|| event.before.clone());
        }
        Ok(then)
    }

    /// Tells of every later change.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn event(key: &str, before: Option<u64>, version: u64) -> Event {
        let stored = |version| Stored::new(&json!({"metadata": {"name": key}}), version, 0);
        Event {
            key: key.into(),
            before: before.map(stored),
            after: stored(version),
            deleted: false,
        }
    }

    #[test]
    fn changes_come_in_order_and_wake_the_waiting() {
        let mut history = History::after(5);
        let waiting = history.subscribe();
        history.push(event("a", None, 6));
        history.push(event("b", None, 8));
        assert!(waiting.has_changed().unwrap());
        let versions =
            |from| -> Vec<u64> { history.since(from).unwrap().map(Event::version).collect() };
        assert_eq!(versions(5), [6, 8]);
        assert_eq!(versions(6), [8]);
        assert_eq!(versions(7), [8]);
        assert!(versions(9).is_empty());
        assert_eq!(history.since(4).err(), Some(Forgotten(5)));
    }

    #[test]
    fn undoing_goes_back_to_the_first_state_after_the_version() {
        let mut history = History::after(1);
        history.push(event("a", Some(1), 2));
        history.push(event("a", Some(2), 3));
        history.push(event("b", None, 4));
        let then = history.undo(1).unwrap();
        assert_eq!(then["a"].as_ref().unwrap().version, 1);
        assert!(then["b"].is_none());
        assert_eq!(history.undo(2).unwrap()["a"].as_ref().unwrap().version, 2);
    }

    #[test]
    fn what_is_too_much_is_forgotten() {
        let mut history = History::after(0);
        for version in 1..=KEPT as u64 + 2 {
            history.push(event("a", None, version));
        }
        assert_eq!(history.since(1).err(), Some(Forgotten(2)));
        assert_eq!(history.since(2).unwrap().count(), KEPT);
        history.forget(10);
        assert_eq!(history.since(9).err(), Some(Forgotten(10)));
    }

    #[test]
    fn large_objects_are_forgotten_sooner() {
        let mut history = History::after(0);
        let large = json!({"metadata": {"name": "x".repeat(1024 * 1024)}});
        let large = Stored::new(&large, 0, 0);
        let last = KEPT_AT_LEAST as u64 + 6;
        for version in 1..=last {
            history.push(Event {
                key: "a".into(),
                before: Some(large.at(version - 1)),
                after: large.at(version),
                deleted: false,
            });
        }
        assert_eq!(history.since(5).err(), Some(Forgotten(6)));
        assert_eq!(history.since(6).unwrap().count(), KEPT_AT_LEAST);
    }
}
