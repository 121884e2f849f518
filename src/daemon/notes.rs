//! What is still to be told, and when.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::job::Failure;
use super::{Daemon, Event};
use crate::adapters::checks::{Due, Throttle};
use crate::model::Check;

/// How long checks that could not be written wait before they are tried again, at first; each time
/// twice as long, up to [`MOST_RETRY`].
const RETRY: Duration = Duration::from_secs(15);
const MOST_RETRY: Duration = Duration::from_secs(300);
/// How many checks are kept for a repository that takes none.
const MOST_UNWRITTEN: usize = 500;

/// Checks on their way to the repository. One push at a time carries all that is due.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Per (context, revision): the newest word.
    newest: BTreeMap<(String, String), Check>,
    throttle: Throttle,
    /// What the push under way carries.
    sent: Vec<Check>,
    /// The last push failed, and its time to be tried again has not come.
    held: bool,
    /// How often pushes failed, in a row.
    failures: u32,
    /// When somebody will look again.
    alarm: Option<Timestamp>,
}

impl Notes {
    /// Takes in a check, newer than any before.
    fn offer(&mut self, check: Check) {
        self.newest
            .insert((check.context.clone(), check.revision.clone()), check);
    }

    /// What is to be written now; and when to ask again for the rest.
    fn due(&mut self, now: Timestamp) -> (Vec<Check>, Option<Timestamp>) {
        if self.held {
            return (Vec::new(), None);
        }
        let (mut checks, mut next) = (Vec::new(), None::<Timestamp>);
        for check in self.newest.values() {
            match self.throttle.due(check, now) {
                Due::Now => checks.push(check.clone()),
                Due::At(at) => next = Some(next.map_or(at, |next| next.min(at))),
                Due::Never => {}
            }
        }
        (checks, next)
    }

    /// Whether a push is under way.
    pub(super) fn is_busy(&self) -> bool {
        !self.sent.is_empty()
    }

    /// The push under way has ended at `now`. Returns when to try again what did not arrive.
    fn ended(&mut self, arrived: bool, now: Timestamp) -> Option<Duration> {
        let sent = std::mem::take(&mut self.sent);
        self.held = !arrived;
        if arrived {
            self.failures = 0;
            for check in sent {
                self.throttle.written(check, now);
            }
            return None;
        }
        let wait = RETRY.saturating_mul(1 << self.failures.min(8));
        self.failures = self.failures.saturating_add(1);
        Some(wait.min(MOST_RETRY))
    }

    /// What could not be written may be tried again.
    pub(super) fn retry(&mut self) {
        self.held = false;
    }

    /// Whether `revision` is still to be told something that can be told now.
    pub(super) fn owes(&self, revision: &str, now: Timestamp) -> bool {
        let under_way = self.sent.iter().any(|check| check.revision == revision);
        let due = |check: &Check| self.throttle.due(check, now) == Due::Now;
        let mut newest = self.newest.values();
        under_way || !self.held && newest.any(|check| check.revision == revision && due(check))
    }

    /// Forgets all revisions but those that somebody may still speak of, and what is not written yet,
    /// unless that is too much.
    fn forget(&mut self, keep: impl Fn(&str) -> bool) {
        let throttle = &self.throttle;
        let unwritten = |check: &Check| throttle.due(check, Timestamp::MAX) != Due::Never;
        let room = self.newest.len() <= MOST_UNWRITTEN;
        self.newest
            .retain(|(_, revision), check| keep(revision) || room && unwritten(check));
        self.throttle.retain(keep);
    }

    /// Whether there is word on this revision.
    fn knows(&self, key: &(String, String)) -> bool {
        self.newest.contains_key(key)
    }
}

impl Daemon {
    /// Tells a commit something, and whoever looks on.
    pub(super) fn tell(&mut self, check: Check) {
        let key = (check.context.clone(), check.revision.clone());
        self.view.send_if_modified(|view| {
            view.checks.insert(key, check.clone()).as_ref() != Some(&check)
        });
        self.notes.offer(check);
    }

    /// Starts a push when something is due and none is under way.
    pub(super) fn publish(&mut self) {
        if self.notes.is_busy() {
            return;
        }
        let clock = &self.engine.target.clock;
        let now = clock.now();
        let (checks, next) = self.notes.due(now);
        if checks.is_empty() {
            if let Some(at) = next.filter(|at| {
                self.notes
                    .alarm
                    .is_none_or(|alarm| alarm <= now || *at < alarm)
            }) {
                self.notes.alarm = Some(at);
                let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                self.after(self.engine.target.clock.real(wait), Event::Tick);
            }
            return;
        }
        self.notes.sent.clone_from(&checks);
        let published = |answer| Event::Published(Box::new(answer));
        self.blocking(
            move |source| published(source.publish(&checks, now).map_err(Failure::Git)),
            move |failure| published(Err(failure)),
        );
    }

    /// Checks were written, or could not be, which is said once.
    pub(super) fn published(&mut self, answer: &Result<(), Failure>) {
        let first = self.notes.failures == 0;
        match answer {
            Err(error) if first => {
                tracing::warn!(%error, "checks could not be written; the fleet goes on");
            }
            Err(error) => tracing::debug!(%error, "checks could still not be written"),
            Ok(()) if !first => tracing::info!("checks can be written again"),
            Ok(()) => {}
        }
        let now = self.engine.target.clock.now();
        if let Some(wait) = self.notes.ended(answer.is_ok(), now) {
            self.after(wait, Event::Retry);
        }
    }

    /// Lets go of revisions that no ref leads to any more.
    pub(super) fn forget(&mut self) {
        let current = self.head.clone().into_iter().chain(self.applied());
        let keep: Vec<String> = current.chain(self.candidates.commits()).collect();
        self.notes
            .forget(|revision| keep.iter().any(|kept| kept == revision));
        let notes = &self.notes;
        self.view.send_if_modified(|view| {
            view.checks.retain(|key, _| notes.knows(key));
            false
        });
    }
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
            target_url: None,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    /// Notes that have sent what was due.
    fn sending(check: Check) -> Notes {
        let mut notes = Notes::default();
        notes.offer(check);
        notes.sent = notes.due(at(0)).0;
        assert!(notes.is_busy());
        notes
    }

    #[test]
    fn what_failed_to_arrive_is_due_again_after_a_while_and_holds_nobody_up() {
        let mut notes = sending(check("a", CheckState::Pending));
        assert!(notes.owes("a", at(0)), "it is under way");
        assert_eq!(notes.ended(false, at(0)), Some(RETRY));
        assert!(!notes.is_busy() && !notes.owes("a", at(1)));
        assert_eq!(notes.due(at(1)), (Vec::new(), None));
        notes.retry();
        assert_eq!(notes.due(at(1)).0.len(), 1);
    }

    #[test]
    fn a_repository_that_takes_nothing_is_tried_less_and_less() {
        let mut notes = Notes::default();
        let waits: Vec<u64> = (0..7)
            .filter_map(|_| notes.ended(false, at(0)))
            .map(|wait| wait.as_secs())
            .collect();
        assert_eq!(waits, [15, 30, 60, 120, 240, 300, 300]);
        assert_eq!(notes.ended(true, at(0)), None);
        assert_eq!(notes.ended(false, at(0)), Some(RETRY));
    }

    #[test]
    fn what_arrived_is_not_due_until_it_changes() {
        let mut notes = sending(check("a", CheckState::Pending));
        notes.ended(true, at(0));
        assert_eq!(notes.due(at(1)), (Vec::new(), None));
        notes.offer(check("a", CheckState::Success));
        assert_eq!(notes.due(at(1)).0, [check("a", CheckState::Success)]);
    }

    /// Else a revision that is taken up again would wait for a push that never comes.
    #[test]
    fn nothing_is_owed_when_the_same_was_written_or_its_time_has_not_come() {
        let mut notes = sending(check("a", CheckState::Pending));
        notes.ended(true, at(0));
        notes.offer(check("a", CheckState::Pending));
        assert!(!notes.owes("a", at(1)), "it was written");
        let mut more = check("a", CheckState::Pending);
        more.title = "1/2".to_owned();
        notes.offer(more);
        assert!(!notes.owes("a", at(1)), "it waits for its minute");
        assert!(notes.owes("a", at(61)));
        assert!(!notes.owes("b", at(61)));
    }

    #[test]
    fn old_revisions_are_forgotten_once_they_were_told() {
        let mut notes = Notes::default();
        notes.offer(check("old", CheckState::Success));
        notes.forget(|_| false);
        assert_eq!(notes.newest.len(), 1, "it was not written yet");
        notes.sent = notes.due(at(0)).0;
        notes.ended(true, at(0));
        notes.forget(|revision| revision != "old");
        assert!(notes.newest.is_empty());
    }

    #[test]
    fn a_repository_that_takes_nothing_does_not_fill_the_memory() {
        let mut notes = Notes::default();
        for revision in 0..=MOST_UNWRITTEN {
            notes.offer(check(&revision.to_string(), CheckState::Failure));
        }
        notes.forget(|revision| revision == "7");
        assert_eq!(notes.newest.len(), 1);
    }
}
