//! A finding as words on one line, for the logs of CI systems.
//!
//! In: a finding. Out: text. It does not know any CI system's commands; its lines are none.

use super::listing::Report;
use crate::cli::ui;
use crate::model::{Finding, Severity};

/// A line for each finding of the report.
pub(in crate::cli) fn errors(report: &Report<'_>) -> Vec<String> {
    report.findings().map(plain).collect()
}

/// The message, where it applies, and the help on a line of its own.
pub(super) fn sentence(finding: &Finding) -> String {
    let scope = finding.scope().map(|scope| format!(", {scope}"));
    let help = finding.help.as_ref().map(|help| format!("\nhelp: {help}"));
    let (scope, help) = (scope.unwrap_or_default(), help.unwrap_or_default());
    format!("{}{scope}{help}", finding.message)
}

/// `error[Y99]: a.yaml:2:7: this is wrong`, which no CI system reads as a command.
pub(super) fn plain(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    let place = finding.span.as_ref().map(|span| {
        let start = span.start;
        format!(" {}:{}:{}:", span.path, start.line, start.column)
    });
    let (id, place, message) = (finding.id, place.unwrap_or_default(), sentence(finding));
    ui::plain(&format!("{level}[{id}]:{place} {message}"))
}
