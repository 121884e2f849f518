//! What the log says of a revision that is not applied: enough to mend it with `kubectl logs` alone. Pure.

use crate::model::{Finding, Severity};

/// The most findings that are logged of one revision.
const MOST_LOGGED: usize = 20;

/// A line per finding, `path:line:column: id message`: errors first, then warnings; and how many more
/// there are.
pub(crate) fn lines(findings: &[Finding]) -> Vec<String> {
    let of = |severity: Severity| {
        let findings = findings.iter();
        findings.filter(move |finding| finding.severity == severity)
    };
    let all: Vec<&Finding> = of(Severity::Error).chain(of(Severity::Warning)).collect();
    let words = |finding: &&Finding| {
        let text = finding.to_string();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = all.iter().take(MOST_LOGGED).map(words).collect();
    let more = all.len().saturating_sub(MOST_LOGGED);
    if more > 0 {
        lines.push(format!("and {more} more; `capstan validate` lists all"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::Span;

    fn at(line: u32, finding: Finding) -> Finding {
        finding.at(&Span::new(&Arc::from("a.yaml"), line, 1, 2))
    }

    #[test]
    fn errors_come_first_on_one_line_each() {
        let warning = at(1, Finding::warning("N08", "too new"));
        let error = at(7, Finding::error("S04", "bad\n value"));
        let lines = lines(&[warning, error]);
        assert_eq!(
            lines,
            ["a.yaml:7:1: S04 bad value", "a.yaml:1:1: N08 too new"]
        );
    }

    #[test]
    fn twenty_are_logged_and_the_others_counted() {
        let findings: Vec<Finding> = (0..27)
            .map(|line| at(line, Finding::error("S04", "bad")))
            .collect();
        let lines = lines(&findings);
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[20], "and 7 more; `capstan validate` lists all");
    }
}
