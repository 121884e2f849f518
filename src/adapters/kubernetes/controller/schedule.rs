//! Whose turn it is: which objects want a decision, which are busy, who waits for what and until
//! when.
//!
//! In: changes, needs, wake-ups and results. Out: the next key. It does not know the time by itself,
//! nor what is decided.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use crate::model::ObjectId;
use crate::reconcile::outcome::Need;

/// One actor's care for one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The actor, by its place.
    pub(crate) actor: usize,
    /// The object.
    pub(crate) object: ObjectId,
}

/// Who is next.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// In the order of asking.
    queue: VecDeque<Key>,
    queued: BTreeSet<Key>,
    /// Writes are under way.
    busy: BTreeSet<Key>,
    /// Busy, and asked for again meanwhile.
    again: BTreeSet<Key>,
    wakes: BTreeSet<(Timestamp, Key)>,
    wake_of: BTreeMap<Key, Timestamp>,
    waiting: BTreeMap<Need, BTreeSet<Key>>,
    needs_of: BTreeMap<Key, Vec<Need>>,
    failures: BTreeMap<Key, u32>,
}

impl Schedule {
    /// Asks for a decision.
    pub(crate) fn ask(&mut self, key: Key) {
        if self.busy.contains(&key) {
            self.again.insert(key);
        } else if self.queued.insert(key.clone()) {
            self.queue.push_back(key);
        }
    }

    /// Asks for everybody who waits for this object.
    pub(crate) fn changed(&mut self, object: &ObjectId) {
        for need in [Need::Object(object.clone()), Need::like(object)] {
            let waiting = self.waiting.get(&need).cloned().unwrap_or_default();
            waiting.into_iter().for_each(|key| self.ask(key));
        }
    }

    /// The next key that nothing is under way for.
    pub(crate) fn next(&mut self) -> Option<Key> {
        let key = self.queue.pop_front()?;
        self.queued.remove(&key);
        Some(key)
    }

    /// Takes in what a decision looked at and when it wants to be made again.
    pub(crate) fn decided(&mut self, key: &Key, needs: Vec<Need>, wake: Option<Timestamp>) {
        for need in self.needs_of.remove(key).unwrap_or_default() {
            if let Some(waiting) = self.waiting.get_mut(&need) {
                waiting.remove(key);
                if waiting.is_empty() {
                    self.waiting.remove(&need);
                }
            }
        }
        for need in &needs {
            let waiting = self.waiting.entry(need.clone()).or_default();
            waiting.insert(key.clone());
        }
        if !needs.is_empty() {
            self.needs_of.insert(key.clone(), needs);
        }
        self.set_wake(key, wake);
    }

    /// Writes for the key are under way until [`Self::done`].
    pub(crate) fn started(&mut self, key: &Key) {
        self.busy.insert(key.clone());
    }

    /// The writes ended well.
    pub(crate) fn done(&mut self, key: &Key) {
        self.failures.remove(key);
        self.free(key);
    }

    /// The writes failed; the next try is after `pause`.
    pub(crate) fn failed(&mut self, key: &Key, now: Timestamp, pause: Duration) {
        self.again.remove(key);
        self.free(key);
        self.set_wake(key, now.checked_add(pause).ok());
    }

    /// One more failure in a row of this key; how many that makes.
    pub(crate) fn count_failure(&mut self, key: &Key) -> u32 {
        let failures = self.failures.entry(key.clone()).or_default();
        *failures += 1;
        *failures
    }

    /// When the first wake-up is due.
    pub(crate) fn first_wake(&self) -> Option<Timestamp> {
        self.wakes.first().map(|(time, _)| *time)
    }

    /// Asks for everybody whose time has come.
    pub(crate) fn wake(&mut self, now: Timestamp) {
        while let Some((time, key)) = self.wakes.first().cloned() {
            if time > now {
                return;
            }
            self.set_wake(&key, None);
            self.ask(key);
        }
    }

    fn free(&mut self, key: &Key) {
        self.busy.remove(key);
        if self.again.remove(key) {
            self.ask(key.clone());
        }
    }

    fn set_wake(&mut self, key: &Key, wake: Option<Timestamp>) {
        if let Some(time) = self.wake_of.remove(key) {
            self.wakes.remove(&(time, key.clone()));
        }
        if let Some(time) = wake {
            self.wake_of.insert(key.clone(), time);
            self.wakes.insert((time, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        let object = ObjectId::new("", "ConfigMap", "ns", name);
        Key { actor: 0, object }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number")
    }

    #[test]
    fn asking_twice_gives_one_turn_in_order_of_asking() {
        let mut schedule = Schedule::default();
        for name in ["b", "a", "b"] {
            schedule.ask(key(name));
        }
        let turns: Vec<Option<Key>> = (0..3).map(|_| schedule.next()).collect();
        assert_eq!(turns, [Some(key("b")), Some(key("a")), None]);
    }

    #[test]
    fn a_busy_key_has_its_turn_after_its_writes() {
        let mut schedule = Schedule::default();
        schedule.started(&key("a"));
        schedule.ask(key("a"));
        assert_eq!(schedule.next(), None);
        schedule.done(&key("a"));
        assert_eq!(schedule.next(), Some(key("a")));
    }

    #[test]
    fn a_failed_key_pauses_whatever_was_asked() {
        let mut schedule = Schedule::default();
        schedule.started(&key("a"));
        schedule.ask(key("a"));
        schedule.failed(&key("a"), at(10), Duration::from_secs(5));
        assert_eq!(
            (schedule.next(), schedule.first_wake()),
            (None, Some(at(15)))
        );
        schedule.wake(at(15));
        assert_eq!(
            (schedule.next(), schedule.first_wake()),
            (Some(key("a")), None)
        );
    }

    #[test]
    fn a_change_asks_for_those_who_need_it_and_only_while_they_do() {
        let mut schedule = Schedule::default();
        let needs = vec![Need::Object(key("b").object), Need::like(&key("c").object)];
        schedule.decided(&key("a"), needs, None);
        for name in ["b", "c"] {
            schedule.changed(&key(name).object);
            assert_eq!(schedule.next(), Some(key("a")), "{name}");
        }
        schedule.decided(&key("a"), Vec::new(), None);
        schedule.changed(&key("b").object);
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn a_new_wake_replaces_the_old_one() {
        let mut schedule = Schedule::default();
        schedule.decided(&key("a"), Vec::new(), Some(at(5)));
        schedule.decided(&key("a"), Vec::new(), Some(at(9)));
        schedule.wake(at(8));
        assert_eq!(
            (schedule.next(), schedule.first_wake()),
            (None, Some(at(9)))
        );
    }
}
