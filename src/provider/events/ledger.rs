//! The record for the next process, and what is written of it.
//!
//! In: what is to be recorded of each instance, what came of writes, and the time. Out: the whole record, when it is to be
//! written. One write is under way at a time and carries everything since the last one. It does not know where it is kept.

use std::time::Duration;

use super::event::Record;
use super::settings::backoff;
use crate::provider::status::State;

/// How long the next write waits after one, so that many changes are one write. It is shorter than the time for
/// which new states are held back, so that these seldom wait for it.
const PAUSE: Duration = Duration::from_millis(250);

/// See the module.
#[derive(Debug)]
pub(super) struct Ledger {
    wanted: Record,
    /// What is kept; `None` if a write failed, which may have been carried out.
    kept: Option<Record>,
    /// The content of the write under way.
    writing: Option<Record>,
    /// Something may have changed since the last write began.
    is_changed: bool,
    failures: u32,
    /// The time at which the first write began after the last one that succeeded.
    tried_since: Option<Duration>,
    /// The earliest time of the next write.
    held_until: Duration,
}

impl Ledger {
    /// The ledger of which this is kept.
    pub(super) fn new(kept: Record) -> Self {
        Self {
            wanted: kept.clone(),
            kept: Some(kept),
            writing: None,
            is_changed: false,
            failures: 0,
            tried_since: None,
            held_until: Duration::ZERO,
        }
    }

    /// The state that was last delivered of an instance is this one, or not known.
    pub(super) fn set(&mut self, instance: &str, state: Option<State>) {
        if self.wanted.get(instance) != Some(&state) {
            self.wanted.insert(instance.to_owned(), state);
            self.is_changed = true;
        }
    }

    /// There is nothing to be known of an instance.
    pub(super) fn remove(&mut self, instance: &str) {
        self.is_changed |= self.wanted.remove(instance).is_some();
    }

    /// Returns true if the next process will know that something may have been told of an instance, whenever this one ends.
    pub(super) fn covers(&self, instance: &str) -> bool {
        let is_open = |record: &Record| record.get(instance) == Some(&None);
        let is_written = self.writing.as_ref().is_none_or(is_open);
        is_written && self.kept.as_ref().is_some_and(is_open)
    }

    /// The time of the next write; `None` while one is under way or all is written.
    pub(super) fn due(&self) -> Option<Duration> {
        let is_due = self.is_changed && self.writing.is_none();
        is_due.then_some(self.held_until)
    }

    /// Begins the write that is due at `now`, if any.
    pub(super) fn begin(&mut self, now: Duration) -> Option<Record> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        self.is_changed = false;
        if self.kept.as_ref() == Some(&self.wanted) {
            return None;
        }
        self.tried_since.get_or_insert(now);
        self.writing = Some(self.wanted.clone());
        self.writing.clone()
    }

    pub(super) fn written(&mut self, now: Duration) {
        if let Some(written) = self.writing.take() {
            self.kept = Some(written);
            self.failures = 0;
            self.tried_since = None;
            self.held_until = now.saturating_add(PAUSE);
        }
    }

    pub(super) fn failed(&mut self, now: Duration) {
        if self.writing.take().is_some() {
            self.kept = None;
            self.is_changed = true;
            self.failures = self.failures.saturating_add(1);
            self.held_until = now.saturating_add(backoff(self.failures));
        }
    }

    /// Does not wait any longer.
    pub(super) fn hurry(&mut self, now: Duration) {
        self.held_until = self.held_until.min(now);
    }

    /// Since when no write has succeeded; `None` unless one is under way or failed.
    pub(super) const fn tried_since(&self) -> Option<Duration> {
        self.tried_since
    }

    /// Returns true if the last write failed.
    pub(super) const fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Returns true if no write is under way or due before it is tried again.
    pub(super) fn is_at_rest(&self) -> bool {
        self.writing.is_none() && (!self.is_changed || self.is_failing())
    }
}
