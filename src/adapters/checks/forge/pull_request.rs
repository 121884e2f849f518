//! A pull request that a commit is in, or was made by, and whether it brought the commit in from a fork.
//!
//! In: the pull requests of a commit. Out: how it came in. Pure; it does not know how a forge lists them.

use crate::model::CommitSource;

/// A pull request that a commit is in, or was made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// Whether it was merged.
    pub is_merged: bool,
    /// Whether it comes from another repository, or from one that is gone.
    pub is_of_fork: bool,
}

/// How a commit came in that is in these. Anybody may open a pull request of a fork with commits of others: while it is
/// not merged, one of the repository's own counts more.
pub(super) fn source(found: &[PullRequest]) -> CommitSource {
    let is_own = found.iter().any(|one| !one.is_of_fork);
    let brings = |one: &&PullRequest| one.is_of_fork && (one.is_merged || !is_own);
    match found.iter().find(brings) {
        Some(fork) => CommitSource::Fork(fork.number),
        None if found.is_empty() => CommitSource::Unlisted,
        None => CommitSource::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_brings_a_commit_in_once_merged_or_if_nobody_else_has_it() {
        let one = |number, is_merged, is_of_fork| PullRequest {
            number,
            is_merged,
            is_of_fork,
        };
        let fork = CommitSource::Fork(7);
        for (found, expected) in [
            (&[][..], CommitSource::Unlisted),
            (&[one(7, true, true)], fork),
            (&[one(7, false, true)], fork),
            (&[one(8, true, false)], CommitSource::Own),
            // Anybody can open one with the commits of somebody else.
            (
                &[one(7, false, true), one(8, true, false)],
                CommitSource::Own,
            ),
            (
                &[one(7, false, true), one(8, false, false)],
                CommitSource::Own,
            ),
            // It was merged into another branch first.
            (&[one(8, true, false), one(7, true, true)], fork),
        ] {
            assert_eq!(source(found), expected, "{found:?}");
        }
    }
}
