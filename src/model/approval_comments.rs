//! The port for the comments on a pull request that speak to Capstan.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::AdapterError;

/// The word that a line for Capstan begins with.
pub const COMMAND: &str = "/capstan";

/// Who wrote a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A person, as far as the forge says.
    Person,
    /// An app or a bot.
    Bot,
    /// The user whose token Capstan has.
    Own,
}

/// The answer to the question who may write to the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayWrite {
    /// The user may.
    Yes,
    /// The user may not.
    No,
    /// The forge does not tell the token.
    Unknown,
}

/// A comment on a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullComment {
    /// Its id at the forge.
    pub id: String,
    /// The name of the author's account, which no other account has; empty if the account is gone.
    pub author: String,
    /// What else the forge calls the author, such as a display name or an address. Nobody is trusted for it.
    pub other_names: Vec<String>,
    /// Who wrote it.
    pub writer: Writer,
    /// The text, as it was written.
    pub text: String,
    /// The time when it was written.
    pub created: Timestamp,
    /// The time when it was changed last, if the forge has one.
    pub edited: Option<Timestamp>,
    /// Whether the author may write to the repository.
    pub may_write: MayWrite,
}

/// Reads the comments of pull requests.
pub trait ApprovalComments: Send + Sync {
    /// Lists the comments with [`COMMAND`] in them, in any case, oldest first. A pull request with so many comments that
    /// they are not read to the end is an error that says what to do.
    fn comments(&self, pull_request: u64) -> BoxFuture<'_, Result<Vec<PullComment>, AdapterError>>;

    /// Lists the pull requests that this commit is in, or was made by.
    fn pull_requests<'a>(
        &'a self,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u64>, AdapterError>>;

    /// Asks whether the forge tells the token who may write to the repository, once after a start: if it does not,
    /// [`PullComment::may_write`] is unknown, and only those count whom the fleet names.
    fn tells_rights(&self) -> BoxFuture<'_, Result<bool, AdapterError>>;

    /// Lists the names, as in [`PullComment::author`] and [`PullComment::other_names`], of who opened the pull request and
    /// who wrote its commits.
    fn authors(&self, pull_request: u64) -> BoxFuture<'_, Result<BTreeSet<String>, AdapterError>>;
}
