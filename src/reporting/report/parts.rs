//! What sync checks and plan checks have in common: their form, lists, findings.

use std::fmt::Write as _;

use crate::compile::Allowed;
use crate::model::markdown::{markdown, plain};
use crate::model::{Annotation, Check, CheckState, Finding, Severity};

/// The most annotations a check carries.
pub(super) const MOST_ANNOTATIONS: usize = 50;
/// The most lines of one list in a summary. A note is kept for as long as the repository is.
pub(super) const MOST_LINES: usize = 100;

/// A check. The title is plain text, whatever it is made of; the summary is Markdown, in which those who write it
/// escape what others wrote.
pub(super) fn check(
    context: String,
    revision: &str,
    state: CheckState,
    title: &str,
    summary: String,
) -> Check {
    Check {
        summary,
        ..Check::new(context, revision, state, plain(title))
    }
}

/// A fleet without objects, where there were some before.
pub(super) const EMPTIED: &str = "the fleet has no objects any more";
/// What to do about it.
pub(super) const RESTORE: &str = "This revision has no objects, which is probably a mistake, so nothing is removed. Restore the files. To remove nearly everything on purpose, keep one object, such as a Namespace.";

/// Why a revision could not be read.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// What could not be done with it, in a few words.
    pub(crate) summary: &'static str,
    /// The whole message.
    pub(crate) message: String,
    /// The commit itself is at fault, not the machine or the repository.
    pub(crate) is_of_the_commit: bool,
}

pub(super) fn state_of(fault: &Fault) -> CheckState {
    match fault.is_of_the_commit {
        true => CheckState::Failure,
        false => CheckState::Error,
    }
}

/// What stays in the cluster instead.
pub(super) fn stays(good: Option<&str>) -> String {
    good.map_or_else(
        || "Nothing is applied: no good revision is known.".to_owned(),
        |good| format!("The last good revision {} stays applied.", markdown(good)),
    )
}

/// A Markdown list of any texts that does not grow without end.
pub(super) fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(MOST_LINES);
    let mut text: String = items
        .take(MOST_LINES)
        .map(|item| format!("- {}\n", markdown(&item)))
        .collect();
    if more > 0 {
        let _ = writeln!(text, "- and {more} more");
    }
    text
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn severity_count(findings: &[Finding], severity: Severity) -> usize {
    let all = findings.iter();
    all.filter(|finding| finding.severity == severity).count()
}

/// `2 errors and 1 warning`
pub(super) fn severity_counts(findings: &[Finding]) -> String {
    let of = |severity, word| match severity_count(findings, severity) {
        0 => None,
        count => Some(counted(count, word)),
    };
    let counts = [
        of(Severity::Error, "error"),
        of(Severity::Warning, "warning"),
    ];
    counts
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" and ")
}

/// Errors and warnings as a Markdown list, with their lines.
pub(super) fn findings(findings: &[Finding]) -> String {
    let shown = findings.iter();
    let shown: Vec<&Finding> = shown
        .filter(|finding| finding.severity != Severity::Info)
        .collect();
    list(shown.into_iter().map(ToString::to_string))
}

/// The warnings that are allowed, with the reasons; empty when there are none.
pub(super) fn allowed(allowed: &[Allowed]) -> String {
    if allowed.is_empty() {
        return String::new();
    }
    let line = |one: &Allowed| format!("{}: {}", one.finding.headline(), one.reason);
    let count = counted(allowed.len(), "warning");
    format!("\n{count} allowed:\n\n{}", list(allowed.iter().map(line)))
}

pub(super) fn annotations(findings: &[Finding]) -> Vec<Annotation> {
    let annotation = |finding: &Finding| {
        let span = finding.span.as_ref()?;
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => return None,
        };
        Some(Annotation {
            path: span.path.to_string(),
            line: span.start.line,
            level: level.to_owned(),
            message: plain(&finding.headline()),
        })
    };
    findings
        .iter()
        .filter_map(annotation)
        .take(MOST_ANNOTATIONS)
        .collect()
}

/// The end of a title where objects leave because of files that are not read.
pub(super) fn unread_count(unread: &[String]) -> String {
    match unread.len() {
        0 => String::new(),
        1 => "; 1 file no longer defines its objects".to_owned(),
        count => format!("; {count} files no longer define their objects"),
    }
}

/// Which files these are, and which objects leave; empty when there are none.
pub(super) fn unread_text(unread: &[String]) -> String {
    if unread.is_empty() {
        return String::new();
    }
    let lines = list(unread.iter().cloned());
    format!("Files that no longer define their objects, which leave the fleet:\n\n{lines}\n")
}
