//! Every fact of the checks of a fleet: what is wanted, what is being written, what was written, what waits, and what an earlier
//! process left.
//!
//! In: checks, the answers of those who write them, and the time. Out: what to write next, or when to look again. It does not
//! know who writes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::context::is_plan;
use super::throttle::{self, Due};
use crate::model::{AdapterError, Check, CheckDetail, CheckState, ErrorClass, Later};

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

/// The time, which passes faster in the cluster of a rehearsal than outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    /// The time in the cluster: how fresh a report is.
    pub(crate) cluster: Timestamp,
    /// The time on the wall since the start: how long a forge needs.
    pub(crate) wall: Duration,
}

/// What to do about the checks that are not written.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// Write these.
    Write(Vec<Check>),
    /// Ask again at this time in the cluster, with the checks as they are then.
    Refresh(Timestamp),
    /// Ask again at this time on the wall.
    Retry(Duration),
    /// Nothing, for now.
    Nothing,
}

/// The name of a check and its revision.
type Key = (String, String);

/// The facts of one check.
#[derive(Debug, Default)]
struct Entry {
    /// What it is to say.
    wanted: Option<Check>,
    /// The number of the last request for it; 0 if nobody has asked for it again.
    attempt: u32,
    /// What this process wrote last, and when.
    written: Option<(Check, Timestamp)>,
    /// Some write carried it, so that others may have seen it.
    is_out: bool,
    /// Until when the other side cannot take it, and how long that was from the answer on.
    deferred: Option<(Duration, Duration)>,
    /// The title with which it is pending on the other side, although nothing is wanted of it here: an earlier process left it.
    left: Option<String>,
}

impl Entry {
    fn due(&self, check: &Check, now: Timestamp) -> Due {
        throttle::due(self.written.as_ref(), check, now)
    }

    /// The title, if it is pending.
    fn pending(&self) -> Option<&str> {
        let wanted = self.wanted.as_ref();
        let pending = wanted.filter(|check| check.state == CheckState::Pending);
        let left = self.left.as_deref();
        pending.map(|check| &*check.title).or(left)
    }

    /// Returns true if it was written as pending.
    fn was_pending(&self) -> bool {
        let written = self.written.as_ref();
        written.is_some_and(|(check, _)| check.state == CheckState::Pending)
    }
}

/// See the module. One write at a time carries all that is due.
#[derive(Debug, Default)]
pub(crate) struct CheckDesk {
    entries: BTreeMap<Key, Entry>,
    /// How often somebody has asked for any check again.
    attempts: u32,
    /// What the write under way carries.
    writing: Vec<Check>,
    /// The last write failed, and until then it is too early to try again.
    held_until: Option<Duration>,
    /// How many writes failed in a row.
    failures: u32,
    /// When checks are refreshed.
    refresh_at: Option<Timestamp>,
    /// When the desk is asked again for what it holds back.
    retry_at: Option<Duration>,
}

impl CheckDesk {
    /// Takes in a check that is newer than any before. Returns true if it says something else.
    pub(crate) fn set(&mut self, check: Check) -> bool {
        let entry = self.entries.entry(key(&check)).or_default();
        let check = Check {
            attempt: entry.attempt,
            ..check
        };
        entry.left = None;
        let is_change = entry.wanted.as_ref() != Some(&check);
        entry.wanted = Some(check);
        is_change
    }

    /// The check of this name and revision, as it is to be.
    pub(crate) fn wanted(&self, context: &str, revision: &str) -> Option<&Check> {
        let entry = self
            .entries
            .get(&(context.to_owned(), revision.to_owned()))?;
        entry.wanted.as_ref()
    }

    /// Takes in a check that an earlier process left pending. What this process wants of it goes first.
    pub(crate) fn leave(&mut self, context: &str, revision: &str, title: String) {
        let entry = self.entry(context, revision);
        entry.is_out = true;
        if entry.wanted.is_none() {
            entry.left = Some(title);
        }
    }

    /// The revisions whose check of this name is pending, each with its title.
    pub(crate) fn pending<'a>(
        &'a self,
        context: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let entries = self.entries.iter();
        let named = entries.filter(move |(key, _)| key.0 == context);
        named.filter_map(|(key, entry)| Some((&*key.1, entry.pending()?)))
    }

    /// Returns true if the check of this name and revision is pending.
    pub(crate) fn is_pending(&self, context: &str, revision: &str) -> bool {
        let entry = self.entries.get(&(context.to_owned(), revision.to_owned()));
        entry.is_some_and(|entry| entry.pending().is_some())
    }

    /// Takes a check back that nobody can have seen; `false` if somebody may have.
    pub(crate) fn withdraw(&mut self, context: &str, revision: &str) -> bool {
        let key = (context.to_owned(), revision.to_owned());
        let is_unseen = self.entries.get(&key).is_none_or(|entry| !entry.is_out);
        if is_unseen {
            self.entries.remove(&key);
        }
        is_unseen
    }

    /// Makes the check of this name and revision a new one, which is written even if it equals the last.
    pub(crate) fn renew(&mut self, context: &str, revision: &str) {
        self.attempts += 1;
        let attempt = self.attempts;
        let entry = self.entry(context, revision);
        entry.attempt = attempt;
        entry.deferred = None;
        if let Some(wanted) = &mut entry.wanted {
            wanted.attempt = attempt;
        }
    }

    /// What to do now. After [`Next::Write`] the desk is busy until [`Self::answered`].
    pub(crate) fn next(&mut self, now: Now) -> Next {
        if self.is_busy() {
            return Next::Nothing;
        }
        if let Some(until) = self.held_until.filter(|until| now.wall < *until) {
            return self.retry(until, now);
        }
        self.held_until = None;
        let (checks, refresh) = self.due(now);
        if !checks.is_empty() {
            for check in &checks {
                let entry = self.entry(&check.context, &check.revision);
                // From now on the other side may have it.
                (entry.is_out, entry.deferred) = (true, None);
            }
            self.writing.clone_from(&checks);
            return Next::Write(checks);
        }
        let is_new = |at: &Timestamp| {
            let alarm = self.refresh_at;
            alarm.is_none_or(|alarm| alarm <= now.cluster || *at < alarm)
        };
        if let Some(at) = refresh.filter(is_new) {
            self.refresh_at = Some(at);
            return Next::Refresh(at);
        }
        let deferred = self.entries.values().filter_map(|entry| entry.deferred);
        let deferred = deferred.map(|(until, _)| until);
        match deferred.filter(|until| now.wall < *until).min() {
            Some(until) => self.retry(until, now),
            None => Next::Nothing,
        }
    }

    /// Asks for another look then, once.
    fn retry(&mut self, until: Duration, now: Now) -> Next {
        let is_set = |at: Duration| now.wall < at && at <= until;
        if self.retry_at.is_some_and(is_set) {
            return Next::Nothing;
        }
        self.retry_at = Some(until);
        Next::Retry(until)
    }

    /// What is to be written now; and when to refresh the rest.
    fn due(&self, now: Now) -> (Vec<Check>, Option<Timestamp>) {
        let (mut checks, mut next) = (Vec::new(), None::<Timestamp>);
        let mut room = MOST_QUEUED;
        let is_deferred = |entry: &Entry| entry.deferred.is_some_and(|(until, _)| now.wall < until);
        for entry in self.entries.values().filter(|entry| !is_deferred(entry)) {
            let Some(check) = &entry.wanted else {
                continue;
            };
            match entry.due(check, now.cluster) {
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

    /// Takes in how the write under way ended. What keeps checks from being written is logged once.
    pub(crate) fn answered(&mut self, answer: Result<&[Later], &AdapterError>, now: Now) {
        let writing = std::mem::take(&mut self.writing);
        let is_first = !self.is_failing();
        let later = match answer {
            Ok(later) => later,
            Err(error) => {
                match is_first {
                    true => tracing::warn!(%error, "cannot write checks; applying continues"),
                    false => tracing::debug!(%error, "still cannot write checks"),
                }
                let wait = RETRY.saturating_mul(1 << self.failures.min(8));
                self.failures = self.failures.saturating_add(1);
                self.held_until = Some(now.wall + wait.min(MOST_RETRY));
                return;
            }
        };
        if !is_first {
            tracing::info!("checks can be written again");
        }
        self.failures = 0;
        for one in later {
            let entry = self.entry(&one.context, &one.revision);
            entry.deferred = Some((now.wall + one.wait, one.wait));
        }
        let is_late = |check: &Check| {
            let mut later = later.iter();
            later.any(|one| (&one.context, &one.revision) == (&check.context, &check.revision))
        };
        for check in writing.into_iter().filter(|check| !is_late(check)) {
            let entry = self.entry(&check.context, &check.revision);
            entry.is_out = true;
            entry.written = Some((check, now.cluster));
        }
    }

    /// Takes in whether checks can be written, before one was.
    pub(crate) fn probed(&mut self, answer: &Result<(), AdapterError>) {
        match answer {
            Err(error) if error.class() == ErrorClass::Denied && !self.is_failing() => {
                tracing::warn!(%error, "cannot write checks; applying continues");
                self.failures = 1;
            }
            Err(error) => tracing::debug!(%error, "cannot ask whether checks can be written"),
            Ok(()) => {}
        }
    }

    /// Returns true while a write is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.writing.is_empty()
    }

    /// How many checks are being written.
    pub(crate) const fn under_way(&self) -> usize {
        self.writing.len()
    }

    /// Returns true if the last write failed.
    pub(crate) const fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Returns true if a check of `revision` is under way, or can be written now or in a moment.
    pub(crate) fn has_due(&self, revision: &str, now: Now) -> bool {
        let is_held = self.held_until.is_some_and(|until| now.wall < until);
        let is_due = |entry: &Entry| {
            let is_soon = entry.deferred.is_none_or(|(_, wait)| wait < SOON);
            let wanted = entry.wanted.as_ref().filter(|_| is_soon);
            wanted.is_some_and(|check| entry.due(check, now.cluster) == Due::Now)
        };
        let mut entries = self.entries.iter();
        self.writing.iter().any(|check| check.revision == revision)
            || !is_held && entries.any(|(key, entry)| key.1 == revision && is_due(entry))
    }

    /// Forgets all revisions but those to `keep` and checks that are not written yet; if these are too many, only those
    /// that end what is written as pending. What is pending stays known until it is ended.
    pub(crate) fn forget(&mut self, keep: impl Fn(&str) -> bool) {
        let wanted = self.entries.values().filter(|entry| entry.wanted.is_some());
        let has_room = wanted.count() <= MOST_UNWRITTEN;
        // Of what the other side could not take yet, nothing is left pending there.
        let is_owed = |entry: &Entry| {
            let check = entry.wanted.as_ref().filter(|_| entry.deferred.is_none());
            let is_unwritten = |check| entry.due(check, Timestamp::MAX) != Due::Never;
            check.is_some_and(is_unwritten) && (has_room || entry.was_pending())
        };
        let mut kept = BTreeSet::new();
        for (key, entry) in &mut self.entries {
            if keep(&key.1) || is_owed(entry) {
                kept.insert(key.1.clone());
            } else {
                let is_seen = entry.is_out && entry.deferred.is_none();
                entry.left = entry.pending().filter(|_| is_seen).map(str::to_owned);
                entry.wanted = None;
            }
        }
        let is_kept = |key: &Key, entry: &Entry| kept.contains(&key.1) || entry.left.is_some();
        self.entries.retain(|key, entry| is_kept(key, entry));
    }

    fn entry(&mut self, context: &str, revision: &str) -> &mut Entry {
        let key = (context.to_owned(), revision.to_owned());
        self.entries.entry(key).or_default()
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

fn key(check: &Check) -> Key {
    (check.context.clone(), check.revision.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: &str = "capstan/a/sync";

    fn check(revision: &str, state: CheckState) -> Check {
        Check {
            revision: revision.to_owned(),
            context: SYNC.to_owned(),
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
            attempt: 0,
        }
    }

    /// So many seconds after the start, on both clocks.
    fn at(second: i64) -> Now {
        Now {
            cluster: Timestamp::from_second(second).expect("in range"),
            wall: Duration::from_secs(second.unsigned_abs()),
        }
    }

    /// What is written now.
    fn written(desk: &mut CheckDesk, second: i64) -> Vec<Check> {
        match desk.next(at(second)) {
            Next::Write(checks) => checks,
            _ => Vec::new(),
        }
    }

    fn succeed(desk: &mut CheckDesk, second: i64) {
        desk.answered(Ok(&[]), at(second));
    }

    fn fail(desk: &mut CheckDesk, second: i64) {
        let error = AdapterError::new(ErrorClass::Transient, "it is away");
        desk.answered(Err(&error), at(second));
    }

    /// A desk that writes this check.
    fn writing(check: Check) -> CheckDesk {
        let mut desk = CheckDesk::default();
        desk.set(check);
        assert_eq!(written(&mut desk, 0).len(), 1);
        desk
    }

    /// How many checks it knows.
    fn known(desk: &CheckDesk) -> usize {
        let entries = desk.entries.values();
        entries.filter(|entry| entry.wanted.is_some()).count()
    }

    #[test]
    fn what_failed_to_arrive_is_due_again_after_a_while_and_holds_nobody_up() {
        let mut desk = writing(check("a", CheckState::Pending));
        assert!(desk.has_due("a", at(0)), "it is under way");
        fail(&mut desk, 0);
        assert!(!desk.is_busy() && !desk.has_due("a", at(1)));
        assert_eq!(desk.next(at(1)), Next::Retry(RETRY));
        assert_eq!(desk.next(at(2)), Next::Nothing, "it is asked for once");
        assert_eq!(written(&mut desk, 15).len(), 1);
    }

    #[test]
    fn a_repository_that_takes_nothing_is_tried_less_and_less() {
        let mut desk = CheckDesk::default();
        let mut wait = |succeeds: bool| {
            match succeeds {
                true => succeed(&mut desk, 0),
                false => fail(&mut desk, 0),
            }
            desk.held_until.map_or(0, |until| until.as_secs())
        };
        let waits: Vec<u64> = (0..7).map(|_| wait(false)).collect();
        assert_eq!(waits, [15, 30, 60, 120, 240, 300, 300]);
        desk.held_until = None;
        succeed(&mut desk, 0);
        fail(&mut desk, 0);
        assert_eq!(desk.held_until, Some(RETRY));
    }

    #[test]
    fn of_what_waits_a_few_are_written_at_a_time_and_results_all_at_once() {
        let mut desk = CheckDesk::default();
        for revision in 0..20 {
            let mut waits = check(&format!("w{revision}"), CheckState::Pending);
            waits.detail = Some(CheckDetail::Queued);
            desk.set(waits);
            desk.set(check(&format!("r{revision}"), CheckState::Success));
        }
        let counts = std::array::from_fn(|_| {
            let checks = written(&mut desk, 0);
            succeed(&mut desk, 0);
            checks.len()
        });
        assert_eq!(counts, [20 + MOST_QUEUED, 5, 5, 5, 0]);
    }

    #[test]
    fn the_followed_ref_does_not_wait_for_the_checks_of_candidates() {
        let mut desk = CheckDesk::default();
        let of = |context: &str, revision: &str| Check {
            context: format!("capstan/prod/{context}"),
            ..check(revision, CheckState::Success)
        };
        for revision in 0..MOST_PLANS + 3 {
            desk.set(of("plan", &revision.to_string()));
        }
        let mut round = |meanwhile: Option<Check>| {
            let checks = written(&mut desk, 0);
            if let Some(check) = meanwhile {
                desk.set(check);
            }
            succeed(&mut desk, 0);
            let revisions = checks.into_iter().map(|check| check.revision);
            revisions.collect::<Vec<_>>()
        };
        assert_eq!(round(Some(of("sync", "main"))).len(), MOST_PLANS);
        assert_eq!(round(None), ["main"]);
        assert_eq!(round(None).len(), 3);
        assert_eq!(round(None).len(), 0);
    }

    #[test]
    fn only_what_nobody_can_have_seen_is_taken_back() {
        let mut desk = CheckDesk::default();
        desk.set(check("a", CheckState::Pending));
        assert!(desk.withdraw(SYNC, "a"));
        assert_eq!(known(&desk), 0);
        let mut desk = writing(check("a", CheckState::Pending));
        // Some of a write that failed may have arrived.
        fail(&mut desk, 0);
        desk.renew(SYNC, "a");
        assert!(!desk.withdraw(SYNC, "a"));
        desk.leave(SYNC, "b", String::new());
        assert!(!desk.withdraw(SYNC, "b"));
    }

    #[test]
    fn what_an_earlier_process_left_is_pending_until_this_one_says_something() {
        let mut desk = CheckDesk::default();
        desk.set(check("own", CheckState::Success));
        desk.leave(SYNC, "own", "1/2".to_owned());
        desk.leave(SYNC, "left", "1/2".to_owned());
        desk.leave("capstan/a/plan", "left", String::new());
        desk.set(check("new", CheckState::Pending));
        let pending = |desk: &CheckDesk| {
            let pending = desk.pending(SYNC);
            let pending = pending.map(|(revision, title)| format!("{revision} {title}"));
            pending.collect::<Vec<_>>()
        };
        assert_eq!(pending(&desk), ["left 1/2", "new "]);
        desk.forget(|_| false);
        assert_eq!(pending(&desk), ["left 1/2", "new "], "it is not ended");
        desk.set(check("left", CheckState::Error));
        assert_eq!(pending(&desk), ["new "]);
    }

    #[test]
    fn what_is_forgotten_while_it_is_pending_is_still_known_to_be() {
        let mut desk = writing(check("a", CheckState::Pending));
        succeed(&mut desk, 0);
        desk.forget(|_| false);
        assert_eq!(known(&desk), 0);
        assert!(desk.is_pending(SYNC, "a"));
        desk.set(check("a", CheckState::Error));
        assert_eq!(written(&mut desk, 1).len(), 1);
        succeed(&mut desk, 1);
        desk.forget(|_| false);
        assert!(desk.entries.is_empty());
    }

    #[test]
    fn what_must_wait_is_written_after_that_and_not_once_nobody_needs_it() {
        let later = |seconds: u64| Later {
            context: SYNC.to_owned(),
            revision: "a".to_owned(),
            wait: Duration::from_secs(seconds),
        };
        let mut desk = writing(check("a", CheckState::Pending));
        desk.answered(Ok(&[later(1)]), at(0));
        assert_eq!(desk.next(at(0)), Next::Retry(Duration::from_secs(1)));
        assert!(desk.has_due("a", at(0)), "in a moment");
        assert_eq!(written(&mut desk, 9).len(), 1, "it was not written yet");
        desk.answered(Ok(&[later(60)]), at(9));
        assert!(!desk.has_due("a", at(9)), "nothing waits for it so long");
        desk.set(check("b", CheckState::Success));
        assert_eq!(written(&mut desk, 9).len(), 1, "others do not wait");
        desk.forget(|revision| revision == "a");
        assert!(desk.wanted(SYNC, "a").is_some());
        desk.forget(|_| false);
        assert!(
            !desk
                .entries
                .contains_key(&key(&check("a", CheckState::Pending)))
        );
    }

    #[test]
    fn what_is_written_after_a_wait_is_ended_whatever_becomes_of_it() {
        for succeeds in [true, false] {
            let mut desk = writing(check("a", CheckState::Pending));
            let later = Later {
                context: SYNC.to_owned(),
                revision: "a".to_owned(),
                wait: Duration::from_secs(1),
            };
            desk.answered(Ok(&[later]), at(0));
            assert_eq!(written(&mut desk, 1).len(), 1);
            desk.set(check("a", CheckState::Error));
            desk.forget(|_| false);
            match succeeds {
                true => succeed(&mut desk, 1),
                false => fail(&mut desk, 1),
            }
            assert_eq!(written(&mut desk, 99), [check("a", CheckState::Error)]);
        }
    }

    #[test]
    fn what_arrived_is_not_due_until_it_changes() {
        let mut desk = writing(check("a", CheckState::Pending));
        succeed(&mut desk, 0);
        assert_eq!(desk.next(at(1)), Next::Nothing);
        desk.set(check("a", CheckState::Success));
        assert_eq!(written(&mut desk, 1), [check("a", CheckState::Success)]);
    }

    #[test]
    fn what_somebody_wants_again_during_a_write_is_written_after_it() {
        let mut desk = writing(check("a", CheckState::Success));
        desk.renew(SYNC, "a");
        succeed(&mut desk, 0);
        let again = written(&mut desk, 1);
        assert_eq!((again.len(), again[0].attempt), (1, 1));
        succeed(&mut desk, 1);
        assert_eq!(desk.next(at(2)), Next::Nothing, "once");
        desk.set(check("a", CheckState::Success));
        assert_eq!(desk.next(at(2)), Next::Nothing, "it is the same");
    }

    /// Else a revision that is taken up again would wait for a push that never comes.
    #[test]
    fn nothing_is_owed_when_the_same_was_written_or_its_time_has_not_come() {
        let mut desk = writing(check("a", CheckState::Pending));
        succeed(&mut desk, 0);
        desk.set(check("a", CheckState::Pending));
        assert!(!desk.has_due("a", at(1)), "it was written");
        let mut more = check("a", CheckState::Pending);
        more.title = "1/2".to_owned();
        desk.set(more);
        assert!(!desk.has_due("a", at(1)), "it waits for its minute");
        assert_eq!(desk.next(at(1)), Next::Refresh(at(60).cluster));
        assert_eq!(desk.next(at(2)), Next::Nothing, "it is asked for once");
        assert!(desk.has_due("a", at(61)));
        assert!(!desk.has_due("b", at(61)));
    }

    #[test]
    fn old_revisions_are_forgotten_once_they_were_told() {
        let mut desk = CheckDesk::default();
        desk.set(check("old", CheckState::Success));
        desk.forget(|_| false);
        assert_eq!(known(&desk), 1, "it was not written yet");
        written(&mut desk, 0);
        succeed(&mut desk, 0);
        desk.forget(|revision| revision != "old");
        assert!(desk.entries.is_empty());
    }

    #[test]
    fn the_end_of_what_is_pending_over_there_is_never_forgotten() {
        let mut desk = writing(check("old", CheckState::Pending));
        succeed(&mut desk, 0);
        desk.set(check("old", CheckState::Error));
        for revision in 0..=MOST_UNWRITTEN {
            desk.set(check(&revision.to_string(), CheckState::Failure));
        }
        for _ in 0..2 {
            desk.forget(|_| false);
            assert_eq!(desk.due(at(1)).0, [check("old", CheckState::Error)]);
        }
    }

    #[test]
    fn a_repository_that_takes_nothing_does_not_fill_the_memory() {
        let mut desk = CheckDesk::default();
        for revision in 0..=MOST_UNWRITTEN {
            desk.set(check(&revision.to_string(), CheckState::Failure));
        }
        desk.forget(|revision| revision == "7");
        assert_eq!(desk.entries.len(), 1);
    }
}
