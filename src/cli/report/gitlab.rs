//! Findings as a code quality report of GitLab, which shows them in merge requests.
//!
//! In: the findings to list. Out: a JSON array. Paths are relative to the root of the repository, as GitLab requires;
//! what has no place is reported at the root itself (facts/forges.md §4).

use serde_json::{Value as Json, json};

use super::fingerprint::Fingerprints;
use super::line::sentence;
use super::listing::Report;
use crate::model::{Finding, Severity};

/// The report, the most severe findings first.
pub(in crate::cli) fn gitlab(report: &Report<'_>) -> Json {
    let mut prints = Fingerprints::default();
    let entries = report.by_severity().into_iter();
    entries
        .map(|finding| entry(finding, &prints.of(finding)))
        .collect()
}

fn entry(finding: &Finding, print: &str) -> Json {
    let span = finding.span.as_ref();
    json!({
        "description": sentence(finding),
        "check_name": finding.id,
        "fingerprint": print,
        "severity": severity(finding.severity),
        "location": {
            "path": span.map_or(".", |span| relative(&span.path)),
            "lines": {"begin": span.map_or(1, |span| span.start.line.max(1))},
        },
    })
}

/// GitLab's words. What is an error to Capstan fails in Azure or destroys something.
const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "critical",
        Severity::Warning => "minor",
        Severity::Info => "info",
    }
}

fn relative(path: &str) -> &str {
    path.trim_start_matches("./").trim_start_matches('/')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::compile::Checked;
    use crate::model::Span;

    fn report(findings: Vec<Finding>) -> Vec<Json> {
        let json = gitlab(&Report::of(&Checked {
            findings,
            ..Checked::default()
        }));
        json.as_array().expect("an array").clone()
    }

    #[test]
    fn an_entry_has_all_that_gitlab_needs() {
        let path: Arc<str> = Arc::from("./ov/a.yaml");
        let finding = Finding::error("Y99", "odd")
            .at(&Span::new(&path, 2, 7, 6))
            .help("so");
        let mut entries = report(vec![Finding::info("Y98", "fine"), finding]);
        let print = entries[0]["fingerprint"].take();
        assert_eq!(
            entries[0],
            json!({"description": "odd\nhelp: so", "check_name": "Y99", "fingerprint": null,
                "severity": "critical", "location": {"path": "ov/a.yaml", "lines": {"begin": 2}}})
        );
        assert!(print.as_str().is_some_and(|print| !print.is_empty()));
        assert_eq!(
            entries[1]["location"],
            json!({"path": ".", "lines": {"begin": 1}})
        );
    }

    #[test]
    fn fingerprints_are_unique_and_do_not_depend_on_lines() {
        let at =
            |line| Finding::error("Y99", "odd").at(&Span::new(&Arc::from("a.yaml"), line, 1, 1));
        let prints = |lines: [u32; 3]| -> BTreeSet<String> {
            let entries = report(lines.map(at).into());
            entries
                .iter()
                .map(|entry| entry["fingerprint"].to_string())
                .collect()
        };
        assert_eq!(prints([1, 2, 3]).len(), 3);
        assert_eq!(prints([1, 2, 3]), prints([4, 5, 9]));
    }
}
