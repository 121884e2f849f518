//! Findings as people and programs read them, one file for each format.
//!
//! In: a compiled fleet, which of its findings are wanted, and for text its sources. Out: a text. It does not
//! know where it is printed.

mod azure;
mod fingerprint;
mod github;
mod gitlab;
mod json;
mod line;
mod listing;
mod sarif;
mod text;

pub(super) use azure::azure;
pub(super) use github::github;
pub(super) use gitlab::gitlab;
pub(super) use json::json;
pub(super) use line::errors;
pub(super) use listing::Report;
pub(super) use sarif::sarif;
pub(super) use text::{Style, text};

#[cfg(test)]
mod commands;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compile::{Allowed, Checked};
    use crate::model::{Finding, Position, Span, Tree};

    const TEXTS: [&str; 7] = [
        "",
        "a",
        "ä:\tb\r\nc: d\r\n",
        "\u{feff}x: y",
        "😀e\u{301}: z\r",
        "a\rb\u{1b}[31m\n\u{200d}",
        "\u{202e}a: |\n  b\n",
    ];
    const NUMBERS: [u32; 6] = [0, 1, 2, 3, 90, u32::MAX];

    /// Every span that these numbers make, the end before the start as well.
    fn spans(path: &Arc<str>) -> Vec<Span> {
        let lines = NUMBERS.into_iter();
        let positions = lines.flat_map(|line| NUMBERS.map(|column| Position { line, column }));
        let positions: Vec<Position> = positions.collect();
        let from = |start: &Position| {
            let span = |end: &Position| Span {
                path: Arc::clone(path),
                start: *start,
                end: *end,
            };
            positions.iter().map(span).collect::<Vec<_>>()
        };
        positions.iter().flat_map(from).collect()
    }

    fn all_over(text: &str, path: &Arc<str>) -> Checked {
        let allowed = |by: Span| Allowed {
            finding: Finding::warning("Y98", text),
            reason: text.to_owned(),
            by,
        };
        let at = |span| Finding::error("Y29", text).at(span);
        Checked {
            findings: spans(path).iter().map(at).collect(),
            allowed: spans(path).into_iter().map(allowed).collect(),
            ..Checked::default()
        }
    }

    #[test]
    fn no_place_is_too_odd_for_any_format() {
        let path: Arc<str> = Arc::from("a b/%:ü.yaml");
        for text in TEXTS {
            let tree = Tree {
                files: [(Arc::clone(&path), Arc::from(text.as_bytes()))].into(),
                ..Tree::default()
            };
            let compiled = all_over(text, &path);
            let count = compiled.findings.len();
            let shown = super::text(&Report::of(&compiled), &[&tree], &Style::plain());
            assert!(shown.contains(&format!("{count} warnings allowed:")));
            assert!(!shown.contains('\u{1b}'), "{text:?}");
            for lines in [super::github, super::azure] {
                assert_eq!(lines(&Report::of(&compiled)).lines().count(), count);
            }
            let quality = super::gitlab(&Report::of(&compiled));
            assert_eq!(quality.as_array().map(Vec::len), Some(count));
            let log = super::sarif(&Report::of(&compiled));
            let results = log["runs"][0]["results"].as_array().expect("results");
            assert_eq!(results.len(), 2 * count);
            for result in &results[..count] {
                let region = &result["locations"][0]["physicalLocation"]["region"];
                let region = region.as_object().expect("a region");
                assert!(region.values().all(|number| number.as_u64() > Some(0)));
            }
            let report = super::json(&Report::of(&compiled));
            assert_eq!(report["findings"].as_array().map(Vec::len), Some(count));
        }
    }
}
