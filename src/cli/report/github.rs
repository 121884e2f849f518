//! Findings as GitHub workflow commands, one line each.

use std::fmt::Write as _;

use super::listing::Report;
use crate::model::{Finding, Severity, Span};

/// A command for each finding.
pub(in crate::cli) fn github(report: &Report<'_>) -> String {
    let mut out = String::new();
    for finding in report.findings() {
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let place = finding.span.as_ref().map_or_else(String::new, place);
        let (id, message) = (finding.id, escape(&message(finding)));
        let _ = writeln!(out, "::{level} {place}title={id}::{message}");
    }
    out
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

fn message(finding: &Finding) -> String {
    let scope = finding.scope().map(|scope| format!(", {scope}"));
    let help = finding.help.as_ref().map(|help| format!("\nhelp: {help}"));
    let (scope, help) = (scope.unwrap_or_default(), help.unwrap_or_default());
    format!("{}{scope}{help}", finding.message)
}

/// GitHub's escaping of a message.
fn escape(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
        .replace(char::is_control, "\u{fffd}")
}

/// GitHub's escaping of a property.
fn property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compile::Compiled;

    fn command(finding: Finding) -> String {
        github(&Report::of(&Compiled {
            findings: vec![finding],
            ..Compiled::default()
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
