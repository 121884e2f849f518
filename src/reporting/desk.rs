//! Checks that are still to be written, and when.
//!
//! In: checks, the time and how writing went. Out: what to write next. It does not know who writes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::context::is_plan;
use super::throttle::{Due, Throttle};
use crate::model::{Check, CheckDetail, Later};

/// How long checks that could not be written wait before they are tried again, at first; each time
/// twice as long, up to [`MOST_RETRY`].
const RETRY: Duration = Duration::from_secs(15);
const MOST_RETRY: Duration = Duration::from_secs(300);
/// A check that waits for less than this is worth the wait before its revision is applied.
const SOON: Duration = Duration::from_secs(5);
/// How many checks are kept for a repository that takes none.
const MOST_UNWRITTEN: usize = 500;

/// How many checks that only say that they wait go with one write: on a forge that wants a second between two requests,
/// results must not wait for all of them.
const MOST_QUEUED: usize = 5;
/// How many checks of candidates go with one write: what is to be said of the followed ref meanwhile waits for no more.
const MOST_PLANS: usize = 10;

/// What to do about the checks that are not written.
pub(crate) enum Next {
    /// Write these.
    Write(Vec<Check>),
    /// Ask again then.
    LookAgain(Timestamp),
    /// Nothing, for now.
    Nothing,
}

/// Checks on their way to the sink. One write at a time carries all that is due.
#[derive(Debug, Default)]
pub(crate) struct CheckQueue {
    /// The newest check per context and revision.
    newest: BTreeMap<(String, String), Check>,
    throttle: Throttle,
    /// What the write under way carries.
    sent: Vec<Check>,
    /// What a write carried, whatever became of it, by context and revision.
    tried: BTreeSet<(String, String)>,
    /// What somebody wants again since that write began, by context and revision.
    renewed: BTreeSet<(String, String)>,
    /// What waits until the other side can take it, and for how long, by context and revision.
    later: BTreeMap<(String, String), Duration>,
    /// The last write failed, and it is too early to try again.
    held: bool,
    /// How many writes failed in a row.
    failures: u32,
    /// When the queue is looked at again.
    alarm: Option<Timestamp>,
}

impl CheckQueue {
    /// Takes in a check that is newer than any before.
    pub(crate) fn offer(&mut self, check: Check) {
        self.newest.insert(key(&check), check);
    }

    /// An earlier process may have written the check of this revision and context.
    pub(crate) fn assume_written(&mut self, revision: &str, context: &str) {
        self.tried.insert((context.to_owned(), revision.to_owned()));
    }

    /// Takes a check back that nobody can have seen; `false` if it may have been written.
    pub(crate) fn withdraw(&mut self, revision: &str, context: &str) -> bool {
        let key = (context.to_owned(), revision.to_owned());
        let is_unseen = !self.tried.contains(&key);
        if is_unseen {
            self.newest.remove(&key);
        }
        is_unseen
    }

    /// What is to be written now; and when to ask again for the rest.
    fn due(&mut self, now: Timestamp) -> (Vec<Check>, Option<Timestamp>) {
        if self.held {
            return (Vec::new(), None);
        }
        let (mut checks, mut next) = (Vec::new(), None::<Timestamp>);
        let mut room = MOST_QUEUED;
        let newest = self.newest.iter();
        let called = newest.filter(|(key, _)| !self.later.contains_key(*key));
        for (_, check) in called {
            match self.throttle.due(check, now) {
                Due::Now if check.detail == Some(CheckDetail::Queued) => {
                    checks.extend((room > 0).then(|| check.clone()));
                    room = room.saturating_sub(1);
                }
                Due::Now => checks.push(check.clone()),
                Due::At(at) => next = Some(next.map_or(at, |next| next.min(at))),
                Due::Never => {}
            }
        }
        (first(checks), next)
    }

    /// What to do now. After [`Next::Write`] the queue is busy until [`Self::ended`].
    pub(crate) fn next(&mut self, now: Timestamp) -> Next {
        if self.is_busy() {
            return Next::Nothing;
        }
        let (checks, next) = self.due(now);
        if !checks.is_empty() {
            self.sent.clone_from(&checks);
            self.tried.extend(checks.iter().map(key));
            return Next::Write(checks);
        }
        let is_new = |at: &Timestamp| self.alarm.is_none_or(|alarm| alarm <= now || *at < alarm);
        let Some(at) = next.filter(is_new) else {
            return Next::Nothing;
        };
        self.alarm = Some(at);
        Next::LookAgain(at)
    }

    /// Whether a write is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Some of the write under way must wait: it is written when it is [called](Self::call).
    pub(crate) fn put_off(&mut self, later: &[Later]) {
        for one in later {
            let key = (one.context.clone(), one.revision.clone());
            self.sent.retain(|check| self::key(check) != key);
            self.later.insert(key, one.wait);
        }
    }

    /// What was put off may be tried again.
    pub(crate) fn call(&mut self, key: &(String, String)) {
        self.later.remove(key);
    }

    /// The write under way has ended at `now`. Returns when to try again if it failed.
    pub(crate) fn ended(&mut self, arrived: bool, now: Timestamp) -> Option<Duration> {
        let sent = std::mem::take(&mut self.sent);
        let renewed = std::mem::take(&mut self.renewed);
        self.held = !arrived;
        if arrived {
            self.failures = 0;
            let is_shown = |check: &Check| !renewed.contains(&key(check));
            for check in sent.into_iter().filter(is_shown) {
                self.throttle.written(check, now);
            }
            return None;
        }
        let wait = RETRY.saturating_mul(1 << self.failures.min(8));
        self.failures = self.failures.saturating_add(1);
        Some(wait.min(MOST_RETRY))
    }

    /// It is known that writes fail, before one did.
    pub(crate) fn will_fail(&mut self) {
        self.failures = self.failures.max(1);
    }

    /// Whether the last write failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// The next check of this context and revision is written, even if it equals the last.
    pub(crate) fn renew(&mut self, revision: &str, context: &str) {
        self.throttle.renew(revision, context);
        self.later
            .remove(&(context.to_owned(), revision.to_owned()));
        if self.is_busy() {
            let key = (context.to_owned(), revision.to_owned());
            self.renewed.insert(key);
        }
    }

    /// How many checks are under way.
    pub(crate) const fn under_way(&self) -> usize {
        self.sent.len()
    }

    /// What could not be written may be tried again.
    pub(crate) fn retry(&mut self) {
        self.held = false;
    }

    /// Whether a check of `revision` is under way, or can be written now or in a moment.
    pub(crate) fn has_due(&self, revision: &str, now: Timestamp) -> bool {
        let under_way = self.sent.iter().any(|check| check.revision == revision);
        let is_soon = |check: &Check| self.later.get(&key(check)).is_none_or(|wait| *wait < SOON);
        let due = |check: &Check| is_soon(check) && self.throttle.due(check, now) == Due::Now;
        let mut newest = self.newest.values();
        under_way || !self.held && newest.any(|check| check.revision == revision && due(check))
    }

    /// Forgets all revisions but those to `keep` and checks that are not written yet; if these are too many, only those
    /// that end what is written as pending.
    pub(crate) fn forget(&mut self, keep: impl Fn(&str) -> bool) {
        let throttle = &self.throttle;
        let unwritten = |check: &Check| throttle.due(check, Timestamp::MAX) != Due::Never;
        let room = self.newest.len() <= MOST_UNWRITTEN;
        let later = &self.later;
        // Of what the other side could not take yet, nothing is left pending there.
        let owed = |key: &(String, String), check: &Check| {
            !later.contains_key(key) && unwritten(check) && (room || throttle.is_pending(check))
        };
        self.newest
            .retain(|key, check| keep(&key.1) || owed(key, check));
        let mut kept: Vec<&str> = self
            .newest
            .keys()
            .map(|(_, revision)| &**revision)
            .collect();
        kept.sort_unstable();
        let is_kept = |revision: &str| keep(revision) || kept.binary_search(&revision).is_ok();
        self.throttle.retain(is_kept);
        self.tried.retain(|(_, revision)| is_kept(revision));
        self.later.retain(|(_, revision), _| is_kept(revision));
    }

    /// Whether there is a check of this context and revision.
    pub(crate) fn contains(&self, key: &(String, String)) -> bool {
        self.newest.contains_key(key)
    }
}

/// Those that are written first: the followed ref does not wait for candidates.
fn first(checks: Vec<Check>) -> Vec<Check> {
    let is_plan = |check: &Check| is_plan(&check.context);
    let (mut plans, followed): (Vec<Check>, Vec<Check>) = checks.into_iter().partition(is_plan);
    plans.truncate(MOST_PLANS);
    match followed.is_empty() {
        true => plans,
        false => followed,
    }
}

/// Context and revision.
fn key(check: &Check) -> (String, String) {
    (check.context.clone(), check.revision.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CheckState;

    fn check(revision: &str, state: CheckState) -> Check {
        Check {
            revision: revision.to_owned(),
            context: "capstan/a/sync".to_owned(),
            state,
            title: String::new(),
            summary: String::new(),
            annotations: Vec::new(),
            detail: None,
            target_url: None,
            pull_request: None,
            older_pull_requests: Vec::new(),
            input: None,
            button: None,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    /// Notes that have sent what was due.
    fn sending(check: Check) -> CheckQueue {
        let mut queue = CheckQueue::default();
        queue.offer(check);
        queue.sent = queue.due(at(0)).0;
        assert!(queue.is_busy());
        queue
    }

    #[test]
    fn what_failed_to_arrive_is_due_again_after_a_while_and_holds_nobody_up() {
        let mut queue = sending(check("a", CheckState::Pending));
        assert!(queue.has_due("a", at(0)), "it is under way");
        assert_eq!(queue.ended(false, at(0)), Some(RETRY));
        assert!(!queue.is_busy() && !queue.has_due("a", at(1)));
        assert_eq!(queue.due(at(1)), (Vec::new(), None));
        queue.retry();
        assert_eq!(queue.due(at(1)).0.len(), 1);
    }

    #[test]
    fn a_repository_that_takes_nothing_is_tried_less_and_less() {
        let mut queue = CheckQueue::default();
        let waits: Vec<u64> = (0..7)
            .filter_map(|_| queue.ended(false, at(0)))
            .map(|wait| wait.as_secs())
            .collect();
        assert_eq!(waits, [15, 30, 60, 120, 240, 300, 300]);
        assert_eq!(queue.ended(true, at(0)), None);
        assert_eq!(queue.ended(false, at(0)), Some(RETRY));
    }

    #[test]
    fn of_what_waits_a_few_are_written_at_a_time_and_results_all_at_once() {
        let mut queue = CheckQueue::default();
        for revision in 0..20 {
            let mut waits = check(&format!("w{revision}"), CheckState::Pending);
            waits.detail = Some(CheckDetail::Queued);
            queue.offer(waits);
            queue.offer(check(&format!("r{revision}"), CheckState::Success));
        }
        let counts = std::array::from_fn(|_| {
            let Next::Write(checks) = queue.next(at(0)) else {
                return 0;
            };
            queue.ended(true, at(0));
            checks.len()
        });
        assert_eq!(counts, [20 + MOST_QUEUED, 5, 5, 5, 0]);
    }

    #[test]
    fn the_followed_ref_does_not_wait_for_the_checks_of_candidates() {
        let mut queue = CheckQueue::default();
        let of = |context: &str, revision: &str| Check {
            context: format!("capstan/prod/{context}"),
            ..check(revision, CheckState::Success)
        };
        (0..MOST_PLANS + 3).for_each(|at| queue.offer(of("plan", &at.to_string())));
        let mut written = |meanwhile: Option<Check>| {
            let Next::Write(checks) = queue.next(at(0)) else {
                return Vec::new();
            };
            meanwhile.into_iter().for_each(|check| queue.offer(check));
            queue.ended(true, at(0));
            checks.into_iter().map(|check| check.revision).collect()
        };
        assert_eq!(written(Some(of("sync", "main"))).len(), MOST_PLANS);
        assert_eq!(written(None), ["main"]);
        assert_eq!(written(None).len(), 3);
        assert_eq!(written(None).len(), 0);
    }

    #[test]
    fn only_what_nobody_can_have_seen_is_taken_back() {
        let one = check("a", CheckState::Pending);
        let mut queue = CheckQueue::default();
        queue.offer(one.clone());
        assert!(queue.withdraw("a", &one.context));
        assert!(!queue.contains(&key(&one)));
        queue.offer(one.clone());
        assert!(matches!(queue.next(at(0)), Next::Write(_)));
        // Some of a write that failed may have arrived.
        queue.ended(false, at(0));
        queue.renew("a", &one.context);
        assert!(!queue.withdraw("a", &one.context));
        queue.assume_written("b", &one.context);
        assert!(!queue.withdraw("b", &one.context));
    }

    #[test]
    fn what_must_wait_is_written_when_it_is_called_and_not_once_nobody_needs_it() {
        let pending = check("a", CheckState::Pending);
        let later = |seconds: u64| Later {
            context: pending.context.clone(),
            revision: "a".to_owned(),
            wait: Duration::from_secs(seconds),
        };
        let mut queue = sending(pending.clone());
        queue.put_off(&[later(1)]);
        queue.ended(true, at(0));
        assert_eq!(queue.due(at(9)), (Vec::new(), None));
        assert!(queue.has_due("a", at(9)), "in a moment");
        queue.call(&key(&pending));
        queue.sent = queue.due(at(9)).0;
        assert_eq!(queue.sent.len(), 1, "it was not written yet");
        queue.put_off(&[later(60)]);
        queue.ended(true, at(9));
        assert!(!queue.has_due("a", at(9)), "nothing waits for it so long");
        queue.offer(check("b", CheckState::Success));
        assert_eq!(queue.due(at(9)).0.len(), 1, "others do not wait");
        queue.forget(|revision| revision == "a");
        assert!(queue.contains(&key(&pending)));
        queue.forget(|_| false);
        assert!(!queue.contains(&key(&pending)) && queue.later.is_empty());
    }

    #[test]
    fn what_arrived_is_not_due_until_it_changes() {
        let mut queue = sending(check("a", CheckState::Pending));
        queue.ended(true, at(0));
        assert_eq!(queue.due(at(1)), (Vec::new(), None));
        queue.offer(check("a", CheckState::Success));
        assert_eq!(queue.due(at(1)).0, [check("a", CheckState::Success)]);
    }

    #[test]
    fn what_somebody_wants_again_during_a_write_is_written_after_it() {
        let done = check("a", CheckState::Success);
        let mut queue = sending(done.clone());
        queue.renew("a", &done.context);
        queue.ended(true, at(0));
        assert_eq!(queue.due(at(1)).0.len(), 1);
        queue.sent = queue.due(at(1)).0;
        queue.ended(true, at(1));
        assert_eq!(queue.due(at(2)), (Vec::new(), None), "once");
    }

    /// Else a revision that is taken up again would wait for a push that never comes.
    #[test]
    fn nothing_is_owed_when_the_same_was_written_or_its_time_has_not_come() {
        let mut queue = sending(check("a", CheckState::Pending));
        queue.ended(true, at(0));
        queue.offer(check("a", CheckState::Pending));
        assert!(!queue.has_due("a", at(1)), "it was written");
        let mut more = check("a", CheckState::Pending);
        more.title = "1/2".to_owned();
        queue.offer(more);
        assert!(!queue.has_due("a", at(1)), "it waits for its minute");
        assert!(queue.has_due("a", at(61)));
        assert!(!queue.has_due("b", at(61)));
    }

    #[test]
    fn old_revisions_are_forgotten_once_they_were_told() {
        let mut queue = CheckQueue::default();
        queue.offer(check("old", CheckState::Success));
        queue.forget(|_| false);
        assert_eq!(queue.newest.len(), 1, "it was not written yet");
        queue.sent = queue.due(at(0)).0;
        queue.ended(true, at(0));
        queue.forget(|revision| revision != "old");
        assert!(queue.newest.is_empty());
    }

    #[test]
    fn the_end_of_what_is_pending_over_there_is_never_forgotten() {
        let mut queue = sending(check("old", CheckState::Pending));
        queue.ended(true, at(0));
        queue.offer(check("old", CheckState::Error));
        for revision in 0..=MOST_UNWRITTEN {
            queue.offer(check(&revision.to_string(), CheckState::Failure));
        }
        for _ in 0..2 {
            queue.forget(|_| false);
            assert_eq!(queue.due(at(1)).0, [check("old", CheckState::Error)]);
        }
    }

    #[test]
    fn a_repository_that_takes_nothing_does_not_fill_the_memory() {
        let mut queue = CheckQueue::default();
        for revision in 0..=MOST_UNWRITTEN {
            queue.offer(check(&revision.to_string(), CheckState::Failure));
        }
        queue.forget(|revision| revision == "7");
        assert_eq!(queue.newest.len(), 1);
    }
}
