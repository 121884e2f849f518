//! What is still to be told, and when.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::{Daemon, Event};
use crate::adapters::checks::{Due, Throttle};
use crate::model::Check;

/// How long checks that could not be written wait before they are tried again.
pub(super) const RETRY: Duration = Duration::from_secs(15);

/// Checks on their way to the repository. One push at a time carries all that is due.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Per (context, revision): the newest word.
    newest: BTreeMap<(String, String), Check>,
    throttle: Throttle,
    /// What the push under way carries.
    sent: Vec<Check>,
    /// What the last push carried, whether or not it arrived.
    tried: Vec<Check>,
    /// The last push failed, and its time to be tried again has not come.
    held: bool,
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

    /// The push under way has ended at `now`.
    pub(super) fn published(&mut self, arrived: bool, now: Timestamp) {
        self.tried = std::mem::take(&mut self.sent);
        self.held = !arrived;
        for check in self.tried.iter().filter(|_| arrived) {
            self.throttle.written(check.clone(), now);
        }
    }

    /// What could not be written may be tried again.
    pub(super) fn retry(&mut self) {
        self.held = false;
    }

    /// Whether the last push carried word of `revision`.
    pub(super) fn was_tried(&self, revision: &str) -> bool {
        self.tried.iter().any(|check| check.revision == revision)
    }

    /// Forgets all revisions but those that somebody may still speak of.
    fn forget(&mut self, keep: impl Fn(&str) -> bool) {
        let throttle = &self.throttle;
        // What was not written yet is kept.
        let unwritten = |check: &Check| !matches!(throttle.due(check, Timestamp::MAX), Due::Never);
        self.newest
            .retain(|(_, revision), check| keep(revision) || unwritten(check));
        self.throttle.retain(keep);
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
        self.blocking(move |source| Event::Published(Box::new(source.publish(&checks, now))));
    }

    /// Lets go of revisions that no ref leads to any more.
    pub(super) fn forget(&mut self) {
        let current = self.head.clone().into_iter().chain(self.applied());
        let keep: Vec<String> = current.chain(self.candidates.commits()).collect();
        self.notes
            .forget(|revision| keep.iter().any(|kept| kept == revision));
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

    #[test]
    fn what_failed_to_arrive_is_due_again_after_a_while() {
        let mut notes = Notes::default();
        notes.offer(check("a", CheckState::Pending));
        assert_eq!(notes.due(at(0)).0.len(), 1);
        notes.sent = notes.due(at(0)).0;
        notes.published(false, at(0));
        assert!(notes.was_tried("a") && !notes.is_busy());
        assert_eq!(notes.due(at(1)), (Vec::new(), None));
        notes.retry();
        assert_eq!(notes.due(at(1)).0.len(), 1);
    }

    #[test]
    fn what_arrived_is_not_due_until_it_changes() {
        let mut notes = Notes::default();
        notes.offer(check("a", CheckState::Pending));
        notes.sent = notes.due(at(0)).0;
        notes.published(true, at(0));
        assert_eq!(notes.due(at(1)), (Vec::new(), None));
        notes.offer(check("a", CheckState::Success));
        assert_eq!(notes.due(at(1)).0, [check("a", CheckState::Success)]);
    }

    #[test]
    fn old_revisions_are_forgotten_once_they_were_told() {
        let mut notes = Notes::default();
        notes.offer(check("old", CheckState::Success));
        notes.forget(|_| false);
        assert_eq!(notes.newest.len(), 1, "it was not written yet");
        notes.sent = notes.due(at(0)).0;
        notes.published(true, at(0));
        notes.forget(|revision| revision != "old");
        assert!(notes.newest.is_empty());
    }
}
