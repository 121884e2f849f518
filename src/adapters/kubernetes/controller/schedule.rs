//! The work queue: which objects to reconcile, which are being written, what each of them
//! needs and when it wakes up.
//!
//! In: changes, needs, wake-ups and results. Out: the next key. A key waits a moment before its turn, so that what changes
//! together is decided once. It does not know the time, nor what is decided.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::model::ObjectId;
use crate::reconcile::outcome::Need;
use crate::reconcile::world::Parent;

/// How long a key waits for further changes, so that what changes together is decided once.
const GATHER: Duration = Duration::from_millis(20);
/// The same for a key that needs many objects. A cluster has 50 resources: when one becomes ready, those that wait for it
/// change next. One decision and one status for all of them is worth this delay.
const GATHER_MANY: Duration = Duration::from_millis(50);
/// From how many needs on a key needs many objects.
const MANY: usize = 16;

/// One object of one controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The controller, by its place.
    pub(super) controller: usize,
    /// The object.
    pub(super) object: Arc<ObjectId>,
}

impl Key {
    /// An object of the controller at this place.
    pub(super) fn new(controller: usize, object: &ObjectId) -> Self {
        let object = Arc::new(object.clone());
        Self { controller, object }
    }
}

/// Which objects to reconcile, and when.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Keys that were queued since the time was last told.
    fresh: Vec<Key>,
    /// Keys that wait for further changes, by the time at which that ends: those that need few objects, and the others.
    gathering: [VecDeque<(Timestamp, Key)>; 2],
    /// In the order of their turns.
    queue: VecDeque<Key>,
    /// Fresh, gathering or in the queue.
    queued: BTreeSet<Key>,
    /// Being written. What is queued meanwhile gathers its changes, and waits for the end of the writes.
    busy: BTreeSet<Key>,
    wakes: BTreeSet<(Timestamp, Key)>,
    wake_of: BTreeMap<Key, Timestamp>,
    waiting: BTreeMap<Arc<Need>, BTreeSet<Key>>,
    needs_of: BTreeMap<Key, Vec<Arc<Need>>>,
    failures: BTreeMap<Key, u32>,
}

impl Schedule {
    /// Queues a key, unless it is queued already.
    pub(super) fn enqueue(&mut self, key: Key) {
        if self.queued.insert(key.clone()) {
            self.fresh.push(key);
        }
    }

    /// Queues every key that needs this object, or what is below one of these parents.
    pub(super) fn changed(&mut self, object: &ObjectId, parents: Vec<Parent>) {
        self.needed(&Need::Object(object.clone()));
        for parent in parents {
            self.needed(&Need::Below(parent));
        }
    }

    /// Queues every key that has this need.
    pub(super) fn needed(&mut self, need: &Need) {
        let waiting = self.waiting.get(need).cloned().unwrap_or_default();
        for key in waiting {
            self.enqueue(key);
        }
    }

    /// Takes the first key that may be reconciled and is not being written.
    pub(super) fn next(&mut self, may: impl Fn(&Key) -> bool) -> Option<Key> {
        let is_free = |key: &Key| !self.busy.contains(key) && may(key);
        let place = self.queue.iter().position(is_free)?;
        let key = self.queue.remove(place)?;
        self.queued.remove(&key);
        Some(key)
    }

    /// Records what a decision needs and when to make it again.
    pub(super) fn reconciled(&mut self, key: &Key, needs: Vec<Need>, wake: Option<Timestamp>) {
        self.set_wake(key, wake);
        let known = self.needs_of.get(key).into_iter().flatten();
        if known.map(Arc::as_ref).eq(&needs) {
            return;
        }
        for need in self.needs_of.remove(key).unwrap_or_default() {
            if let Some(waiting) = self.waiting.get_mut(&need) {
                waiting.remove(key);
                if waiting.is_empty() {
                    self.waiting.remove(&need);
                }
            }
        }
        let shared = |need| match self.waiting.get_key_value(&need) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::new(need),
        };
        let needs: Vec<Arc<Need>> = needs.into_iter().map(shared).collect();
        for need in &needs {
            let waiting = self.waiting.entry(Arc::clone(need)).or_default();
            waiting.insert(key.clone());
        }
        if !needs.is_empty() {
            self.needs_of.insert(key.clone(), needs);
        }
    }

    /// Queues every key that needs the nodes of this Cluster.
    pub(super) fn nodes_changed(&mut self, cluster: &ObjectId) {
        let is_about =
            |need: &&Need| matches!(need, Need::Nodes { cluster: about, .. } if about == cluster);
        let first = Need::Nodes {
            cluster: cluster.clone(),
            kubeconfig: ObjectId::new("", "", "", ""),
        };
        let needs = self.waiting.range::<Need, _>(first..);
        let needs = needs.map(|(need, _)| need.as_ref());
        for need in needs.take_while(is_about).cloned().collect::<Vec<_>>() {
            self.needed(&need);
        }
    }

    /// The key is being written until [`Self::done`] or [`Self::failed`].
    pub(super) fn started(&mut self, key: &Key) {
        self.busy.insert(key.clone());
    }

    /// The writes succeeded.
    pub(super) fn done(&mut self, key: &Key) {
        self.failures.remove(key);
        self.busy.remove(key);
    }

    /// The writes failed; the next try is after `pause`.
    pub(super) fn failed(&mut self, key: &Key, now: Timestamp, pause: Duration) {
        self.busy.remove(key);
        if self.queued.remove(key) {
            self.fresh.retain(|queued| queued != key);
            self.queue.retain(|queued| queued != key);
            for gathering in &mut self.gathering {
                gathering.retain(|(_, queued)| queued != key);
            }
        }
        self.set_wake(key, now.checked_add(pause).ok());
    }

    /// One more failure in a row of this key; how many that makes.
    pub(super) fn count_failure(&mut self, key: &Key) -> u32 {
        let failures = self.failures.entry(key.clone()).or_default();
        *failures += 1;
        *failures
    }

    /// How often in a row this key failed.
    pub(super) fn failures(&self, key: &Key) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }

    /// When the first wake-up is due, or the first key has gathered its changes.
    pub(super) fn first_wake(&self) -> Option<Timestamp> {
        let wake = self.wakes.first().map(|(time, _)| *time);
        let ends = self.gathering.iter().filter_map(VecDeque::front);
        wake.into_iter().chain(ends.map(|(end, _)| *end)).min()
    }

    /// Queues every key whose wake-up is due, or that has gathered its changes.
    pub(super) fn wake(&mut self, now: Timestamp) {
        let ends = [GATHER, GATHER_MANY].map(|time| now.checked_add(time).unwrap_or(now));
        for key in std::mem::take(&mut self.fresh) {
            let needs_many = self.needs_of.get(&key).map_or(0, Vec::len) >= MANY;
            let class = usize::from(needs_many);
            self.gathering[class].push_back((ends[class], key));
        }
        for gathering in &mut self.gathering {
            let gathered = gathering.partition_point(|(end, _)| *end <= now);
            let gathered = gathering.drain(..gathered);
            self.queue.extend(gathered.map(|(_, key)| key));
        }
        while let Some((time, key)) = self.wakes.first().cloned() {
            if time > now {
                return;
            }
            self.set_wake(&key, None);
            if self.queued.insert(key.clone()) {
                self.queue.push_back(key);
            }
        }
    }

    /// Wakes the key at this time, or earlier if asked before.
    pub(super) fn wake_by(&mut self, key: &Key, time: Timestamp) {
        let set = self.wake_of.get(key).copied();
        self.set_wake(key, Some(set.map_or(time, |set| set.min(time))));
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

    fn id(name: &str) -> ObjectId {
        ObjectId::new("", "ConfigMap", "ns", name)
    }

    fn key(name: &str) -> Key {
        Key::new(0, &id(name))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number")
    }

    /// The next key once all have gathered their changes.
    fn next(schedule: &mut Schedule) -> Option<Key> {
        for now in [0, 1] {
            schedule.wake(at(now));
        }
        schedule.next(|_| true)
    }

    #[test]
    fn a_key_is_queued_once_and_in_order() {
        let mut schedule = Schedule::default();
        for name in ["b", "a", "b"] {
            schedule.enqueue(key(name));
        }
        let turns: Vec<Option<Key>> = (0..3).map(|_| next(&mut schedule)).collect();
        assert_eq!(turns, [Some(key("b")), Some(key("a")), None]);
    }

    #[test]
    fn a_busy_key_comes_after_its_writes() {
        let mut schedule = Schedule::default();
        schedule.started(&key("a"));
        schedule.enqueue(key("a"));
        schedule.enqueue(key("b"));
        assert_eq!(next(&mut schedule), Some(key("b")));
        assert_eq!(next(&mut schedule), None);
        schedule.done(&key("a"));
        // Its changes were gathered during the writes.
        assert_eq!(schedule.next(|_| true), Some(key("a")));
        assert_eq!(next(&mut schedule), None);
    }

    #[test]
    fn a_failed_key_pauses_although_it_was_queued() {
        let mut schedule = Schedule::default();
        schedule.started(&key("a"));
        schedule.enqueue(key("a"));
        schedule.failed(&key("a"), at(10), Duration::from_secs(5));
        assert_eq!(
            (next(&mut schedule), schedule.first_wake()),
            (None, Some(at(15)))
        );
        schedule.wake(at(15));
        assert_eq!(
            (next(&mut schedule), schedule.first_wake()),
            (Some(key("a")), None)
        );
    }

    #[test]
    fn a_change_queues_the_keys_that_need_it_and_only_while_they_do() {
        let mut schedule = Schedule::default();
        let parent = Parent::new("", "ConfigMap", "ns", "p");
        let needs = vec![Need::Object(id("b")), Need::Below(parent.clone())];
        schedule.reconciled(&key("a"), needs, None);
        for (name, parents) in [("b", vec![]), ("c", vec![parent])] {
            schedule.changed(&id(name), parents);
            assert_eq!(next(&mut schedule), Some(key("a")), "{name}");
        }
        schedule.reconciled(&key("a"), Vec::new(), None);
        schedule.changed(&id("b"), vec![]);
        assert_eq!(next(&mut schedule), None);
    }

    #[test]
    fn a_new_wake_replaces_the_old_one() {
        let mut schedule = Schedule::default();
        schedule.reconciled(&key("a"), Vec::new(), Some(at(5)));
        schedule.reconciled(&key("a"), Vec::new(), Some(at(9)));
        schedule.wake(at(8));
        assert_eq!(
            (next(&mut schedule), schedule.first_wake()),
            (None, Some(at(9)))
        );
    }

    #[test]
    fn a_key_waits_for_what_changes_with_it() {
        let mut schedule = Schedule::default();
        schedule.enqueue(key("a"));
        schedule.wake(at(5));
        let turn = schedule.first_wake().expect("it is queued");
        assert_eq!(turn.duration_since(at(5)).as_millis(), 20);
        assert_eq!(schedule.next(|_| true), None);
        schedule.enqueue(key("a"));
        schedule.wake(turn);
        assert_eq!(schedule.next(|_| true), Some(key("a")));
        assert_eq!(next(&mut schedule), None);
    }

    #[test]
    fn a_key_that_needs_many_waits_longer_and_holds_up_no_other() {
        let mut schedule = Schedule::default();
        let needs = (0..MANY).map(|number| Need::Object(id(&format!("part-{number}"))));
        schedule.reconciled(&key("whole"), needs.collect(), None);
        for name in ["whole", "a"] {
            schedule.enqueue(key(name));
        }
        schedule.wake(at(5));
        for (name, milliseconds) in [("a", 20), ("whole", 50)] {
            let turn = schedule.first_wake().expect("it is queued");
            assert_eq!(turn.duration_since(at(5)).as_millis(), milliseconds);
            schedule.wake(turn);
            assert_eq!(schedule.next(|_| true), Some(key(name)));
        }
    }
}
