//! Approvals with the annotation on the parent of a fleet's ApplySet.
//!
//! In: its text, and the revision that is applied. Out: what it approves of that, and the lines of it that approve nothing.
//! It does not know who wrote it: whoever may write the parent may.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::approval::{How, What};
use super::buttons::Pressed;
use super::lines::quoted;
use crate::api::labels::APPROVE_ANNOTATION;

/// The most approvals of one annotation, and the most bytes: no person writes more.
const MOST: usize = 100;
const MOST_TEXT: usize = 16 << 10;

/// The approvals of an annotation, which was on the parent while `revision` was applied, or about to be. One that is too
/// long approves nothing.
pub(crate) fn annotated(text: &str, revision: &str, at: Timestamp) -> Pressed {
    let lines = text.split(['\n', ',']).map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty());
    let is_long = text.len() > MOST_TEXT || lines.clone().nth(MOST).is_some();
    let losses: BTreeSet<String> = if is_long {
        let kib = MOST_TEXT >> 10;
        let why =
            format!("(the annotation has more than {MOST} approvals, or more than {kib} KiB)");
        let first = lines.next().map(|line| format!("{} {why}", quoted(line)));
        first.into_iter().collect()
    } else {
        let said = |line| What::parse(line).map_or_else(|| quoted(line), |what| what.to_string());
        lines.map(said).collect()
    };
    Pressed {
        commit: revision.to_owned(),
        losses,
        how: How::Annotation,
        login: String::new(),
        at,
        is_applied: true,
    }
}

impl Pressed {
    /// The lines of an annotation that approve nothing.
    pub(crate) fn unclear(&self) -> impl Iterator<Item = String> {
        let unclear = self
            .losses
            .iter()
            .filter(|line| What::parse(line).is_none());
        unclear.map(|line| format!("{APPROVE_ANNOTATION}: {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Vec<String>, Vec<String>) {
        let given = annotated(text, "a", Timestamp::UNIX_EPOCH);
        let approvals = given.approvals().map(|one| one.what.to_string());
        (approvals.collect(), given.unclear().collect())
    }

    #[test]
    fn an_annotation_approves_what_its_lines_say() {
        for text in [
            "delete c/one,release c/two/mp1",
            " release c/two/mp1\r\n\ndelete  c/one , ",
        ] {
            let (given, unclear) = of(text);
            assert_eq!(given, ["delete c/one", "release c/two/mp1"], "{text}");
            assert_eq!(unclear, [""; 0]);
        }
        for text in ["", " \n,", "\u{0}"] {
            assert_eq!(of(text).0, [""; 0], "{text:?}");
        }
        let (given, unclear) = of("remove c/one\ndelete one\ndelete c/two");
        assert_eq!(given, ["delete c/two"]);
        assert_eq!(
            unclear,
            [
                "capstan.dev/approve: delete one",
                "capstan.dev/approve: remove c/one"
            ]
        );
    }

    #[test]
    fn a_long_annotation_approves_nothing() {
        let many: String = (0..=MOST).map(|at| format!("delete c/{at},")).collect();
        let long = format!("delete c/one,{}", "x".repeat(MOST_TEXT));
        for text in [many, long] {
            let (given, unclear) = of(&text);
            assert_eq!((given.len(), unclear.len()), (0, 1));
            assert!(
                unclear[0].contains("more than 100 approvals"),
                "{unclear:?}"
            );
        }
        let (given, unclear) = of(&format!("delete c/{}", "x ".repeat(4_000)));
        assert_eq!(given, [""; 0]);
        assert!(unclear[0].len() < 300, "{unclear:?}");
    }
}
