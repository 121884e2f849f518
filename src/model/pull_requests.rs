//! The port for what a forge knows of pull requests.

use futures::future::BoxFuture;

use super::AdapterError;

/// How a commit came into a repository, as far as the forge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitSource {
    /// By somebody who may write to it: with a push, or with the pull request of one of its branches.
    Own,
    /// The forge lists no pull request with it: somebody pushed it, or the forge has not noted a merge yet.
    Unlisted,
    /// With the pull request of a fork, which has this number.
    Fork(u64),
}

/// Knows the pull requests of a repository.
pub trait PullRequests: Send + Sync {
    /// Asks how this commit of the repository came into it.
    fn source_of<'a>(
        &'a self,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<CommitSource, AdapterError>>;
}
