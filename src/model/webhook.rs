//! What the webhooks of a forge ask for.
//!
//! In: nothing. Out: values. It does not know how a forge words them, or what becomes of them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A reason to fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// The checks that somebody wants again.
    pub reruns: BTreeSet<Rerun>,
    /// The buttons that somebody pressed.
    pub presses: BTreeSet<Press>,
}

/// Somebody wants a check of a commit again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rerun {
    /// The commit.
    pub head: Head,
    /// The check's context; all of the commit if `None`.
    pub context: Option<String>,
    /// The GitHub App that wrote it.
    pub app: Option<u64>,
}

/// A commit, as webhooks name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Head {
    /// By its id, or by at least 12 digits of it: Bitbucket Cloud writes no more.
    Commit(String),
    /// As the head of the pull request with this number.
    PullRequest(u64),
}

impl Rerun {
    /// All checks of `head`.
    #[must_use]
    pub const fn all(head: Head) -> Self {
        Self {
            head,
            context: None,
            app: None,
        }
    }
}

impl Head {
    /// Whether this is `commit`, the head of `pull_request` if it is one.
    #[must_use]
    pub fn is(&self, commit: &str, pull_request: Option<u64>) -> bool {
        match self {
            Self::Commit(id) => *id == commit || id.len() >= 12 && commit.starts_with(id.as_str()),
            Self::PullRequest(number) => pull_request == Some(*number),
        }
    }
}

/// Somebody pressed a button of a check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Press {
    /// The commit of the check.
    pub commit: String,
    /// The check's context.
    pub context: String,
    /// The GitHub App that wrote the check.
    pub app: u64,
    /// The id of the button.
    pub button: String,
    /// Who pressed it: a person, not an app.
    pub login: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::cut;

    #[test]
    fn a_head_is_known_by_its_id_or_by_its_pull_request() {
        let id = "69b59063470310ebbd88a9156325322a124e55a3";
        let commit = |id: &str| Head::Commit(id.to_owned());
        assert!(commit(id).is(id, None) && commit(cut::head(id, 12)).is(id, Some(7)));
        assert!(!commit(cut::head(id, 11)).is(id, None) && !commit("").is(id, None));
        assert!(Head::PullRequest(7).is(id, Some(7)));
        assert!(!Head::PullRequest(7).is(id, Some(8)) && !Head::PullRequest(7).is(id, None));
    }
}
