//! The port for pull requests that the daemon opens itself.

use futures::future::BoxFuture;

use super::AdapterError;

/// The branches and texts of a pull request to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPullRequest {
    /// The branch of the repository that has the commits.
    pub head: String,
    /// The branch that they are for.
    pub base: String,
    /// One line; it is cut at 255 bytes.
    pub title: String,
    /// Markdown, in which words of others are escaped already; it is cut at 65,536 characters.
    pub body: String,
}

/// A pull request of one branch of the repository onto another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPullRequest {
    /// The number in the repository.
    pub number: u64,
    /// The address of its page, on the server that is asked.
    pub url: String,
    /// The state.
    pub state: PullRequestState,
}

impl OwnPullRequest {
    /// The commit that its merge made, if it was merged.
    #[must_use]
    pub fn merge(&self) -> Option<&str> {
        match &self.state {
            PullRequestState::Merged { commit } => Some(commit),
            PullRequestState::Open | PullRequestState::Closed => None,
        }
    }
}

/// The state of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullRequestState {
    /// It may be merged.
    Open,
    /// It was merged.
    Merged {
        /// The commit that the merge made, in hexadecimal; of several, the last.
        commit: String,
    },
    /// It was closed without a merge.
    Closed,
}

/// Opens pull requests between branches of a repository, and follows them.
///
/// Errors of class [`Transient`](super::ErrorClass::Transient) go away by themselves, also that a forge does not know
/// a pushed branch yet. One of class [`Denied`](super::ErrorClass::Denied) names the permission that the token lacks.
pub trait OwnPullRequests: Send + Sync {
    /// Opens a pull request, or returns the one that is open for these branches, whatever its texts. One that was merged
    /// or closed does not count: [`Self::find`] knows it.
    fn open<'a>(
        &'a self,
        new: &'a NewPullRequest,
    ) -> BoxFuture<'a, Result<OwnPullRequest, AdapterError>>;

    /// Finds the pull request of `head` onto `base`: the open one, else the newest.
    fn find<'a>(
        &'a self,
        head: &'a str,
        base: &'a str,
    ) -> BoxFuture<'a, Result<Option<OwnPullRequest>, AdapterError>>;

    /// Returns the pull request of this number; `None` if there is none.
    fn get(&self, number: u64) -> BoxFuture<'_, Result<Option<OwnPullRequest>, AdapterError>>;

    /// Closes a pull request, and returns it as it is then: closed, or merged if somebody was faster. The branch stays. An
    /// error of class [`Gone`](super::ErrorClass::Gone) says that there is none of this number.
    fn close(&self, number: u64) -> BoxFuture<'_, Result<OwnPullRequest, AdapterError>>;
}
