//! Approvals of deletions, as commit messages give them, and people with the button of a check. Pure.
//!
//! In: the trailers `Capstan-Approve` of commits, and their messages. Out: the clusters that may be deleted, and the
//! lines that look like an approval and are none.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::api::labels;

/// Somebody approved the deletion of clusters with the button of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pressed {
    /// The commit of the check.
    pub(super) commit: String,
    /// The clusters, `namespace/name`.
    pub(super) clusters: BTreeSet<String>,
    /// Who pressed.
    pub(super) login: String,
    pub(super) at: Timestamp,
    /// Whether the commit was applied already, and none since.
    #[serde(default)]
    pub(super) is_applied: bool,
}

/// What commits approve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Approvals {
    /// The clusters that may be deleted, `namespace/name`.
    pub(super) approved: BTreeSet<String>,
    /// Those among them that the candidate's own commits name.
    pub(super) own: BTreeSet<String>,
    /// Lines of the candidate's own commits that look like an approval and are none.
    pub(super) unclear: Vec<String>,
    /// Those that people gave with a button; their clusters are among the approved.
    pub(super) pressed: Vec<Pressed>,
}

/// The clusters that these trailers approve of deleting.
pub(super) fn approved(trailers: &[String]) -> BTreeSet<String> {
    let clusters = trailers.iter().filter_map(|trailer| cluster(trailer));
    clusters.map(str::to_owned).collect()
}

/// The cluster of `delete <namespace>/<name>`.
fn cluster(trailer: &str) -> Option<&str> {
    let name = trailer.trim().strip_prefix("delete ")?.trim();
    let (namespace, rest) = name.split_once('/')?;
    let is_name = |part: &str| !part.is_empty() && !part.contains(['/', ' ']);
    (is_name(namespace) && is_name(rest)).then_some(name)
}

/// The lines of these messages that look like an approval, and give none of those in `own`: a misspelt word, or a
/// line that is not in the last paragraph, where git looks for trailers.
pub(super) fn unclear(messages: &[String], own: &BTreeSet<String>) -> Vec<String> {
    let lines = messages.iter().flat_map(|message| message.lines());
    let unclear = lines.filter(|line| {
        let Some((key, value)) = line.split_once([':', '=']) else {
            return false;
        };
        let letters = key.chars().filter(|c| c.is_ascii_alphabetic());
        let word: String = letters.map(|c| c.to_ascii_lowercase()).collect();
        let is_key = key.trim().eq_ignore_ascii_case(labels::APPROVE) && line.contains(':');
        let is_given = is_key && cluster(value).is_some_and(|cluster| own.contains(cluster));
        word.starts_with("capstanap") && !is_given
    });
    unclear.map(|line| line.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(trailers: &[&str]) -> BTreeSet<String> {
        approved(
            &trailers
                .iter()
                .map(|one| (*one).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn an_approval_names_one_cluster() {
        assert_eq!(
            of(&["delete c/two", "delete  c/one "]),
            ["c/one", "c/two"].map(str::to_owned).into()
        );
        for wrong in [
            "delete two",
            "remove c/two",
            "c/two",
            "delete c/",
            "delete a/b/c",
            "Delete c/two",
        ] {
            assert!(of(&[wrong]).is_empty(), "{wrong}");
        }
    }

    #[test]
    fn a_line_that_looks_like_an_approval_and_is_none_is_named() {
        let own = of(&["delete c/two"]);
        let message = "it\n\nCapstan-Aproved: delete c/two\nCapstan-Approve: remove c/two\ncapstan_approve: delete c/two\nCapstan-Approve: delete c/three\n\nCapstan-Approve: delete c/two\ncapstan-approve:delete c/two\nSigned-off-by: me\n";
        let unclear = unclear(&[message.to_owned()], &own);
        assert_eq!(
            unclear,
            [
                "Capstan-Aproved: delete c/two",
                "Capstan-Approve: remove c/two",
                "capstan_approve: delete c/two",
                "Capstan-Approve: delete c/three",
            ]
        );
    }
}
