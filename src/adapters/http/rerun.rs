//! Commands in comments: to run a check again, and to approve.
//!
//! In: the text of a comment. Out: whether it has the command. It does not know who may write one: a re-run plans a head
//! again, and a comment that may approve is a reason to look.

use crate::model::{self, COMMENT_MARK};

/// The line of a comment that asks for a new plan.
const COMMAND: &str = "/capstan rerun";

/// Whether a comment asks for a re-run: a line of it is the command, and nothing else.
pub(super) fn is_command(comment: &str) -> bool {
    let mut lines = comment.lines();
    // The daemon's own comments quote files, and must never ask for anything.
    !comment.contains(COMMENT_MARK) && lines.any(|line| line.trim() == COMMAND)
}

/// Returns true if a line of a comment begins as an approval does.
pub(super) fn may_approve(comment: &str) -> bool {
    let start = format!("{} approve ", model::COMMAND);
    !comment.contains(COMMENT_MARK) && comment.lines().any(|line| line.starts_with(&start))
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
    fn a_line_that_begins_as_an_approval_is_a_reason_to_look() {
        for comment in [
            "/capstan approve delete c/one",
            "Fine.\r\n\r\n/capstan approve typo",
        ] {
            assert!(may_approve(comment), "{comment}");
        }
        for comment in [
            "",
            "> /capstan approve delete c/one",
            "/capstan approves",
            "<!-- capstan: capstan/prod/plan -->\n/capstan approve delete c/one",
        ] {
            assert!(!may_approve(comment), "{comment}");
        }
    }
}
