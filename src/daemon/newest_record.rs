//! What the daemon knows of its newest commit while it is not applied.
//!
//! In: what became of a commit. Out: in a line, why it is not applied. It does not know: where that is recorded.

use crate::apply::Newest;
use crate::compile::Compiled;
use crate::model::Severity;

/// Why a commit without objects is not applied.
pub(super) const EMPTIED: &str = "the fleet has no objects any more, which is probably a mistake";

/// What is known, and recorded, of the newest commit.
#[derive(Default)]
pub(super) struct NewestRecord {
    /// The newest commit, if it was examined and is not applied.
    pub(super) rejected: Option<Newest>,
    /// What the parent records, once that is known.
    pub(super) recorded: Option<Option<Newest>>,
    /// Whether a write is under way, or failed just now.
    pub(super) busy: bool,
    /// Which parent was seen last.
    parent: Option<String>,
    /// Whether another parent was seen since the last write began.
    is_replaced: bool,
}

impl NewestRecord {
    /// The newest commit is not applied.
    pub(super) fn reject(&mut self, newest: Newest) {
        self.rejected = Some(newest);
    }

    /// The newest commit is applied.
    pub(super) fn accept(&mut self) {
        self.rejected = None;
    }

    /// This parent was seen, or none. What it held at first is of interest, for then only this writes it:
    /// a parent that was deleted takes the record with it.
    pub(super) fn seen(&mut self, parent: Option<&str>, newest: Option<Newest>) {
        if self.recorded.is_none() || self.parent.as_deref() != parent {
            self.recorded = Some(newest);
            self.is_replaced = true;
        }
        self.parent = parent.map(str::to_owned);
    }

    /// A write begins.
    pub(super) fn begin(&mut self) {
        (self.busy, self.is_replaced) = (true, false);
    }

    /// This was written; perhaps into a parent that is gone again.
    pub(super) fn written(&mut self, newest: Option<Newest>) {
        self.busy = false;
        if !self.is_replaced {
            self.recorded = Some(newest);
        }
    }
}

/// Why a commit with errors is not applied: their number, and the first.
pub(super) fn errors(compiled: &Compiled) -> String {
    let errors = compiled.findings.iter();
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
