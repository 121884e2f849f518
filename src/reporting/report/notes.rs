//! What the check of a sound revision says beside its progress: its warnings, and what leaves the fleet by mistake.

use std::collections::HashSet;

use super::parts::{counted, list, unread_count, unread_text};
use super::unread::Unread;
use crate::compile::Checked;
use crate::model::{Check, CheckDetail, CheckState, ObjectId, Severity};
use crate::plan::Plan;

/// The most warnings of a revision that its check repeats.
const MOST_WARNINGS: usize = 20;

/// What the check of a sound revision says beside its progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// The first warnings, in words, and the number of all.
    warnings: (Vec<String>, usize),
    files: Unread,
    /// In words: the files that define nothing any more, and which objects leave for that.
    unread: Vec<String>,
}

impl Notes {
    /// Those of a revision without errors.
    pub(crate) fn of(checked: &Checked) -> Self {
        let warnings = checked.findings.iter();
        let warnings = warnings.filter(|finding| finding.severity == Severity::Warning);
        let shown = warnings.take(MOST_WARNINGS).map(ToString::to_string);
        Self {
            warnings: (shown.collect(), checked.count(Severity::Warning)),
            files: Unread::of(&checked.findings),
            unread: Vec::new(),
        }
    }

    /// Adds what leaves the fleet with the plan before.
    pub(crate) fn compare(&mut self, before: &Plan, after: &Plan) {
        let kept = after.steps.iter().map(|step| &*step.object);
        let kept: HashSet<&ObjectId> = kept.collect();
        let gone = before.steps.iter();
        let gone = gone.filter(|step| !kept.contains(&*step.object));
        let gone = gone.map(|step| (&*step.object, &step.action.payload));
        self.unread = self.files.lines(gone);
    }

    /// The number of warnings.
    pub(super) const fn warnings(&self) -> usize {
        self.warnings.1
    }

    /// The warnings as text; empty when there are none.
    fn warned(&self) -> String {
        let (lines, count) = &self.warnings;
        if lines.is_empty() {
            return String::new();
        }
        let more = match count - lines.len() {
            0 => String::new(),
            more => format!("- and {more} more\n"),
        };
        let count = counted(*count, "warning");
        format!("\n{count}:\n\n{}{more}", list(lines.iter().cloned()))
    }
}

/// The check of a revision with these notes.
pub(crate) fn noted(check: Check, notes: &Notes) -> Check {
    let is_noisy = notes.warnings.1 > 0 || !notes.unread.is_empty();
    let is_warned = check.state == CheckState::Success && is_noisy;
    Check {
        detail: is_warned.then_some(CheckDetail::Warnings).or(check.detail),
        title: check.title + &unread_count(&notes.unread),
        summary: unread_text(&notes.unread) + &check.summary + &notes.warned(),
        ..check
    }
}
