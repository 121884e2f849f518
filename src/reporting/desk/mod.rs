//! Every fact of the checks of a fleet: what is wanted, what is being written, what was written, what waits, and what an earlier
//! process left.
//!
//! In: checks, the answers of those who write them, and the time. Out: what to write next, or when to look again. It does not
//! know who writes.

#[cfg(test)]
mod tests;

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
    /// The time by the calendar, as forges have it: when people read and wrote.
    pub(crate) calendar: Timestamp,
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
    /// What it asked people to approve last, and since when they have seen that.
    asked: Option<(Vec<String>, Timestamp)>,
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

    /// People see from now on that it asks for these approvals, if they have not before.
    fn note_asked(&mut self, asked: &[String], now: Timestamp) {
        let before = self.asked.as_ref();
        let is_known = |one: &String| before.is_some_and(|(before, _)| before.contains(one));
        if !asked.iter().all(is_known) {
            self.asked = Some((asked.to_vec(), now));
        }
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

    /// The names and revisions of the checks that this process made.
    pub(crate) fn known(&self) -> BTreeSet<Key> {
        let entries = self.entries.iter();
        let made = entries.filter(|(_, entry)| entry.wanted.is_some());
        made.map(|(key, _)| key.clone()).collect()
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

    /// The checks that people have seen ask for approvals, and do still, each with when that began.
    pub(crate) fn asking(&self) -> impl Iterator<Item = (&Check, Timestamp)> {
        let entries = self.entries.values();
        entries.filter_map(|entry| {
            let (written, wanted) = (&entry.written.as_ref()?.0, entry.wanted.as_ref()?);
            let asks = !wanted.asked.is_empty() && wanted.asked == written.asked;
            asks.then_some((wanted, entry.asked.as_ref()?.1))
        })
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
            entry.note_asked(&check.asked, now.calendar);
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
