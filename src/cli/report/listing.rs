//! Which findings are listed, and which are only counted.
//!
//! In: a compiled fleet, the least severity, and what is not selected. Out: the findings to list, and counts. It
//! does not know: any format.

use crate::compile::Checked;
use crate::model::{Finding, Severity};

/// What is reported.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Report<'a> {
    pub(in crate::cli) compiled: &'a Checked,
    /// The least severe findings that are listed. All are counted.
    pub(in crate::cli) level: Severity,
    /// Findings that concern only what is not selected: they are counted. `None` if nothing was selected.
    pub(in crate::cli) others: Option<&'a [Finding]>,
}

impl<'a> Report<'a> {
    /// All findings of a fleet.
    pub(in crate::cli) const fn of(compiled: &'a Checked) -> Self {
        Self {
            compiled,
            level: Severity::Info,
            others: None,
        }
    }

    /// The findings that are listed.
    pub(super) fn findings(&self) -> impl Iterator<Item = &'a Finding> + use<'a> {
        let level = self.level;
        let findings = self.compiled.findings.iter();
        findings.filter(move |finding| finding.severity <= level)
    }

    /// The same, the most severe first.
    pub(super) fn by_severity(&self) -> Vec<&'a Finding> {
        let mut findings: Vec<&Finding> = self.findings().collect();
        findings.sort_by_key(|finding| finding.severity);
        findings
    }

    /// How many errors and warnings concern only what is not selected.
    pub(super) fn others_count(&self) -> (usize, usize) {
        let count = |severity| {
            let others = self.others.unwrap_or_default().iter();
            others.filter(|other| other.severity == severity).count()
        };
        (count(Severity::Error), count(Severity::Warning))
    }

    /// The same in words, if there are any.
    pub(in crate::cli) fn others(&self) -> Option<String> {
        let (errors, warnings) = self.others_count();
        let (e, w) = (counted(errors, "error"), counted(warnings, "warning"));
        (errors + warnings > 0)
            .then(|| format!("{e}, {w} elsewhere in the fleet, which do not concern the selection"))
    }
}

/// `1 error`, `2 errors`.
pub(super) fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
