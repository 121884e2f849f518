//! Approvals of deletions, as commit messages give them, and people with the button of a check; and approvals to recreate
//! an HCP cluster that Azure failed to create, as commit messages give them. Pure.
//!
//! In: the trailers `Capstan-Approve` of commits, and their messages. Out: the clusters that may be deleted, those that may
//! be recreated, and the lines that look like an approval and are none.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::api::labels;

/// The word that approves a deletion.
const DELETE: &str = "delete";
/// The word that approves a recreation.
const RECREATE: &str = "recreate";

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

/// What counted for a revision that is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Granted {
    /// The revision.
    pub(super) revision: String,
    /// What people approved with a button.
    pub(super) pressed: Vec<Pressed>,
    /// Lines of its commits that look like an approval and are none.
    pub(super) unclear: Vec<String>,
}

/// The clusters that these trailers approve of deleting.
pub(super) fn approved(trailers: &[String]) -> BTreeSet<String> {
    named(trailers, DELETE)
}

/// The clusters that these trailers approve of recreating.
pub(super) fn recreated(trailers: &[String]) -> BTreeSet<String> {
    named(trailers, RECREATE)
}

fn named(trailers: &[String], verb: &str) -> BTreeSet<String> {
    let clusters = trailers.iter().filter_map(|trailer| cluster(trailer, verb));
    clusters.map(str::to_owned).collect()
}

/// The cluster of `<verb> <namespace>/<name>`.
fn cluster<'a>(trailer: &'a str, verb: &str) -> Option<&'a str> {
    let name = trailer.trim().strip_prefix(verb)?.strip_prefix(' ')?.trim();
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
        let is_given = cluster(value, DELETE).is_some_and(|cluster| own.contains(cluster))
            || cluster(value, RECREATE).is_some();
        let is_given = is_key && is_given;
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
    fn an_approval_to_recreate_is_none_to_delete() {
        let trailers = ["recreate c/one", "delete c/two", "recreate all"].map(str::to_owned);
        assert_eq!(recreated(&trailers), ["c/one".to_owned()].into());
        assert_eq!(approved(&trailers), ["c/two".to_owned()].into());
        let message = "it\n\nCapstan-Approve: recreate c/one\nCapstan-Approve: recreate all\n";
        let unclear = unclear(&[message.to_owned()], &BTreeSet::new());
        assert_eq!(unclear, ["Capstan-Approve: recreate all"]);
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
