//! Findings as logging commands of Azure Pipelines, one line each, the most severe first.
//!
//! In: the findings to list. Out: lines. The agent knows errors and warnings; information is an ordinary line
//! (facts/forges.md §7d).

use std::fmt::Write as _;

use super::line::{self, sentence};
use super::listing::Report;
use crate::cli::ui::without_commands;
use crate::model::words::is_unseen;
use crate::model::{Finding, Severity};

/// A line for each finding.
pub(in crate::cli) fn azure(report: &Report<'_>) -> String {
    let mut out = String::new();
    for finding in report.by_severity() {
        let line = match finding.severity {
            Severity::Error => command("error", finding),
            Severity::Warning => command("warning", finding),
            Severity::Info => line::plain(finding),
        };
        let _ = writeln!(out, "{line}");
    }
    out
}

fn command(level: &str, finding: &Finding) -> String {
    let place = finding.span.as_ref().map_or_else(String::new, |span| {
        let (path, start) = (property(&span.path), span.start);
        let (line, column) = (start.line.max(1), start.column.max(1));
        format!("sourcepath={path};linenumber={line};columnnumber={column};")
    });
    let (id, message) = (finding.id, escape(&sentence(finding)));
    format!("##vso[task.logissue type={level};{place}code={id}]{message}")
}

/// The agent's escaping of a message.
fn escape(text: &str) -> String {
    without_commands(text)
        .replace('%', "%AZP25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
        .replace(is_unseen, "\u{fffd}")
}

/// The agent's escaping of a property.
fn property(text: &str) -> String {
    escape(text).replace(';', "%3B").replace(']', "%5D")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compile::Checked;
    use crate::model::Span;

    fn lines(findings: Vec<Finding>) -> String {
        azure(&Report::of(&Checked {
            findings,
            ..Checked::default()
        }))
    }

    #[test]
    fn commands_are_escaped() {
        let path: Arc<str> = Arc::from("a ]b%;c.yaml");
        let finding = Finding::error("Y99", "this is\r\n100% wrong; [x]")
            .at(&Span::new(&path, 2, 7, 6))
            .help("do this");
        assert_eq!(
            lines(vec![finding]),
            "##vso[task.logissue type=error;sourcepath=a %5Db%AZP25%3Bc.yaml;linenumber=2;columnnumber=7;code=Y99]this is%0D%0A100%AZP25 wrong; [x]%0Ahelp: do this\n"
        );
    }

    #[test]
    fn the_most_severe_come_first_and_information_is_no_command() {
        let of = |severity| Finding {
            severity,
            ..Finding::info("Y99", "so")
        };
        let shown = lines(
            [Severity::Info, Severity::Warning, Severity::Error]
                .map(of)
                .into(),
        );
        assert_eq!(
            shown,
            "##vso[task.logissue type=error;code=Y99]so\n##vso[task.logissue type=warning;code=Y99]so\ninfo[Y99]: so\n"
        );
    }
}
