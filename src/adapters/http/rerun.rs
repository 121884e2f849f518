//! Requests to run a check again, and the command for that in a comment.
//!
//! In: the text of a comment. Out: whether it is the command. It does not know who may write one: all that a re-run
//! does is to plan a head again.

use crate::model::COMMENT_MARK;

/// The line of a comment that asks for a new plan.
const COMMAND: &str = "/capstan rerun";

/// Somebody wants a check of a commit again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rerun {
    /// The commit.
    pub head: Head,
    /// The check's context; all of the commit if `None`.
    pub context: Option<String>,
    /// The GitHub App that wrote it.
    pub app: Option<u64>,
}

/// A commit, as webhooks name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// Whether a comment asks for a re-run: a line of it is the command, and nothing else.
pub(super) fn is_command(comment: &str) -> bool {
    let mut lines = comment.lines();
    // The daemon's own comments quote files, and must never ask for anything.
    !comment.contains(COMMENT_MARK) && lines.any(|line| line.trim() == COMMAND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_its_own_is_the_command() {
        for comment in [
            "/capstan rerun",
            " /capstan rerun \r\n",
            "The network is back.\n\n/capstan rerun\n",
        ] {
            assert!(is_command(comment), "{comment}");
        }
        for comment in [
            "",
            "please /capstan rerun",
            "> /capstan rerun",
            "/capstan rerun now",
            "/capstan  rerun",
            "/Capstan rerun",
            "<!-- capstan: capstan/prod/plan -->\n```\n/capstan rerun\n```",
        ] {
            assert!(!is_command(comment), "{comment}");
        }
    }

    #[test]
    fn a_head_is_known_by_its_id_or_by_its_pull_request() {
        let id = "69b59063470310ebbd88a9156325322a124e55a3";
        let commit = |id: &str| Head::Commit(id.to_owned());
        assert!(commit(id).is(id, None) && commit(&id[..12]).is(id, Some(7)));
        assert!(!commit(&id[..11]).is(id, None) && !commit("").is(id, None));
        assert!(Head::PullRequest(7).is(id, Some(7)));
        assert!(!Head::PullRequest(7).is(id, Some(8)) && !Head::PullRequest(7).is(id, None));
    }
}
