//! Findings as people and programs read them, one file for each format.
//!
//! In: what a fleet comes to, for text its sources too. Out: a text. It does not know where it goes.

mod github;
mod json;
mod sarif;
mod text;

pub(super) use github::github;
pub(super) use json::json;
pub(super) use sarif::sarif;
pub(super) use text::text;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::compile::{Allowed, Compiled};
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

    /// Every place that these numbers make, the end before the start as well.
    fn places() -> impl Iterator<Item = (Position, Position)> {
        let positions = || {
            let lines = NUMBERS.into_iter();
            lines.flat_map(|line| NUMBERS.map(|column| Position { line, column }))
        };
        positions().flat_map(move |start| positions().map(move |end| (start, end)))
    }

    #[test]
    fn no_place_is_too_odd_for_any_format() {
        let path: Arc<str> = Arc::from("a b/%:ü.yaml");
        for text in TEXTS {
            let tree = Tree {
                files: [(Arc::clone(&path), Arc::from(text.as_bytes()))].into(),
                ..Tree::default()
            };
            for (start, end) in places() {
                let span = Span {
                    path: Arc::clone(&path),
                    start,
                    end,
                };
                let finding = Finding::error("Y99", text).at(&span);
                let allowed = Allowed {
                    finding: Finding::warning("Y98", text),
                    reason: text.to_owned(),
                    by: span,
                };
                let compiled = Compiled {
                    findings: vec![finding],
                    allowed: vec![allowed],
                    ..Compiled::default()
                };
                let shown = super::text(&compiled, &[&tree], false);
                assert!(shown.contains("1 warning allowed:"), "{shown}");
                assert!(!shown.contains('\u{1b}'), "{shown:?}");
                let commands = super::github(&compiled);
                assert_eq!(commands.lines().count(), 1, "{commands}");
                let region = &super::sarif(&compiled)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
                    ["region"];
                let region = region.as_object().expect("a region");
                assert!(region.values().all(|number| number.as_u64() > Some(0)));
                assert_eq!(super::json(&compiled)["findings"][0]["line"], start.line);
            }
        }
    }
}
