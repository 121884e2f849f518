//! The newest commit while it is not applied, and what the cluster records of that.
//!
//! In: what became of a commit, and what is recorded. Out: in a line, why it is not applied. It does not know where that is
//! recorded.

use super::rollout::Rollout;
use crate::apply::{AppliedState, Newest};
use crate::compile::Checked;
use crate::model::Severity;

/// Why a commit without objects is not applied.
pub(crate) const EMPTIED: &str = "the fleet has no objects any more, which is probably a mistake";

/// What is known, and recorded, of the newest commit.
#[derive(Default)]
pub(crate) struct NewestRecord {
    /// The newest commit, if it was examined and is not applied.
    pub(crate) rejected: Option<Newest>,
    /// What the parent records, once that is known.
    recorded: Option<Option<Newest>>,
    /// True while a write is under way, or after one that failed just now.
    is_busy: bool,
    /// Which parent was seen last.
    parent: Option<String>,
    /// True if another parent was seen since the last write began.
    is_replaced: bool,
}

impl NewestRecord {
    /// The newest commit is not applied.
    pub(crate) fn reject(&mut self, newest: Newest) {
        self.rejected = Some(newest);
    }

    /// The newest commit is applied.
    pub(crate) fn accept(&mut self) {
        self.rejected = None;
    }

    /// This parent was seen, or none. What it held at first is of interest, for then only this writes it:
    /// a parent that was deleted takes the record with it.
    pub(crate) fn seen(&mut self, parent: Option<&str>, newest: Option<Newest>) {
        if self.recorded.is_none() || self.parent.as_deref() != parent {
            self.recorded = Some(newest);
            self.is_replaced = true;
        }
        self.parent = parent.map(str::to_owned);
    }

    /// What the parent is to record beside `current`; `None` if that is the newest commit, and applied.
    pub(crate) fn wanted(&self, current: Option<&Rollout>, fleet: &str) -> Option<Newest> {
        if self.rejected.is_some() {
            return self.rejected.clone();
        }
        let rollout = current?;
        let revision = &rollout.release.revision;
        if rollout.is_emptied() {
            return Some(Newest::refused(revision, EMPTIED));
        }
        if matches!(
            rollout.applied,
            AppliedState::This | AppliedState::Unwatched
        ) {
            return None;
        }
        if rollout.suspended.is_some() {
            let why = format!("the fleet is suspended; `capstan resume --name {fleet}` continues");
            return Some(Newest::waiting(revision, &why));
        }
        // While it is resumed, the parent is read and written by what applies: nothing comes in between.
        let recorded = self.recorded.clone().flatten();
        recorded.filter(|newest| newest.waits_at(revision))
    }

    /// Begins to write this; `false` if it stands there already, or cannot be written now.
    pub(crate) fn begin(&mut self, wanted: &Option<Newest>) -> bool {
        let is_known = self
            .recorded
            .as_ref()
            .is_some_and(|recorded| recorded != wanted);
        let begins = is_known && !self.is_busy;
        if begins {
            (self.is_busy, self.is_replaced) = (true, false);
        }
        begins
    }

    /// Lets what failed be written again.
    pub(crate) const fn retry(&mut self) {
        self.is_busy = false;
    }

    /// This was written; perhaps into a parent that is gone again.
    pub(crate) fn written(&mut self, newest: Option<Newest>) {
        self.is_busy = false;
        if !self.is_replaced {
            self.recorded = Some(newest);
        }
    }
}

/// Why a commit with errors is not applied: their number, and the first.
pub(super) fn errors(checked: &Checked) -> String {
    let errors = checked.findings.iter();
    let mut errors = errors.filter(|finding| finding.severity == Severity::Error);
    let first = errors.next().map(|finding| match &finding.span {
        Some(span) => format!("{span}: {}", finding.headline()),
        None => finding.headline(),
    });
    let first = first.unwrap_or_default();
    match errors.count() {
        0 => first,
        1 => format!("{first}; and 1 more error"),
        more => format!("{first}; and {more} more errors"),
    }
}

#[cfg(test)]
impl NewestRecord {
    /// Returns true while a write is under way, or after one that failed just now.
    pub(crate) const fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// The parent holds this.
    pub(crate) fn set_recorded(&mut self, newest: Option<Newest>) {
        self.recorded = Some(newest);
    }
}
