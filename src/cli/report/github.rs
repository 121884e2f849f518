//! Findings as GitHub workflow commands, one line each, the most severe first.
//!
//! In: the findings to list. Out: lines. GitHub shows only the first ten of each level in a step and drops the rest
//! (facts/forges.md §7d), so the rest are ordinary lines of the log.

use std::fmt::Write as _;

use super::line::{self, sentence};
use super::listing::Report;
use crate::cli::ui::without_commands;
use crate::model::words::is_unseen;
use crate::model::{Finding, Severity, Span};

/// How many annotations of one level a step may have.
const SHOWN: usize = 10;

/// A line for each finding: a command, or words beyond what GitHub shows.
pub(in crate::cli) fn github(report: &Report<'_>) -> String {
    let mut out = String::new();
    let findings = report.by_severity();
    for same in findings.chunk_by(|one, next| one.severity == next.severity) {
        for (at, finding) in same.iter().enumerate() {
            let line = match at < SHOWN {
                true => command(finding),
                false => line::plain(finding),
            };
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

fn command(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let place = finding.span.as_ref().map_or_else(String::new, place);
    let (id, message) = (finding.id, escape(&sentence(finding)));
    format!("::{level} {place}title={id}::{message}")
}

/// GitHub accepts columns only for a range within one line.
fn place(span: &Span) -> String {
    let (path, start, end) = (property(&span.path), span.start, span.end);
    let column = match start.line == end.line {
        true => format!("col={},", start.column),
        false => String::new(),
    };
    format!(
        "file={path},line={},endLine={},{column}",
        start.line, end.line
    )
}

/// GitHub's escaping of a message.
fn escape(text: &str) -> String {
    without_commands(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
        .replace(is_unseen, "\u{fffd}")
}

/// GitHub's escaping of a property.
fn property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compile::Checked;

    fn command(finding: Finding) -> String {
        github(&Report::of(&Checked {
            findings: vec![finding],
            ..Checked::default()
        }))
    }

    #[test]
    fn nothing_steers_a_terminal() {
        let line = command(Finding::warning("Y99", "\u{1b}[2J"));
        assert!(
            line.contains("\u{fffd}[2J") && !line.contains('\u{1b}'),
            "{line}"
        );
    }

    #[test]
    fn the_most_severe_come_first_and_what_github_drops_stays_in_the_log() {
        let warnings = (0..12).map(|_| Finding::warning("Y98", "odd"));
        let errors = (0..11).map(|_| Finding::error("Y99", "::error::wrong"));
        let shown = github(&Report::of(&Checked {
            findings: warnings.chain(errors).collect(),
            ..Checked::default()
        }));
        let lines: Vec<&str> = shown.lines().collect();
        let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((count("::error "), count("::warning ")), (10, 10));
        assert!(lines[..10].iter().all(|line| line.starts_with("::error ")));
        assert_eq!(lines[10], "error[Y99]: ::error::wrong");
        assert_eq!(lines.len(), 23);
    }

    #[test]
    fn commands_are_escaped() {
        let path: Arc<str> = Arc::from("a b%, c:d.yaml");
        let finding = Finding::error("Y99", "this is\r\n100% wrong")
            .at(&Span::new(&path, 2, 7, 6))
            .help("do this, then: that");
        assert_eq!(
            command(finding),
            "::error file=a b%25%2C c%3Ad.yaml,line=2,endLine=2,col=7,title=Y99::this is%0D%0A100%25 wrong%0Ahelp: do this, then: that\n"
        );
    }

    #[test]
    fn a_place_may_have_several_lines_or_be_missing() {
        let path: Arc<str> = Arc::from("a.yaml");
        let mut span = Span::new(&path, 2, 7, 6);
        span.end.line = 4;
        let finding = Finding::warning("Y99", "odd").at(&span);
        let expected = "::warning file=a.yaml,line=2,endLine=4,title=Y99::odd\n";
        assert_eq!(command(finding), expected);
        let mut finding = Finding::info("Y99", "so");
        finding.clusters = vec!["n/a".to_owned()];
        assert_eq!(command(finding), "::notice title=Y99::so, in n/a\n");
    }
}
