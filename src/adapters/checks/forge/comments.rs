//! The comments on a pull request that speak to Capstan, and who may write to the repository.
//!
//! In: pages of comments, as a forge lists them. Out: those with a command, each with what its author may do. Whose the
//! token is, and what somebody may do, is asked once in five minutes. It does not know what a command means.

use std::collections::BTreeSet;
use std::future::Future;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;

use super::client::Client;
use super::fault::Fault;
use super::lately::Page;
use super::pull_request::PullRequest;
use super::sink::{Forge, ForgeSink};
use crate::model::cut;
use crate::model::{AdapterError, ApprovalComments, COMMAND, MayWrite, PullComment, Writer};

/// The most comments of a pull request that are read.
pub(in crate::adapters::checks) const MOST: usize = 1_000;
/// How much of the text of a comment is kept: a little more than is read for approvals.
const MOST_TEXT: usize = (64 << 10) + 8;
/// The most pages that are read, whatever is on them.
const PAGES: usize = 50;

/// Says that nobody can tell who wrote a pull request of so many commits.
pub(in crate::adapters::checks) fn too_many_commits(number: u64, most: usize) -> Fault {
    Fault::Refused(format!(
        "pull request {number} has {most} commits or more, so nobody can tell who wrote them; approve with the line in a signed commit"
    ))
}

/// Somebody with an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What the forge asks for, such as a number; no two accounts have the same.
    pub id: String,
    /// The name that people know, which no two accounts have either; empty if the account is gone.
    pub login: String,
    /// What else the forge calls it.
    pub other_names: Vec<String>,
    /// True if the forge says that it is a bot.
    pub is_bot: bool,
}

/// A comment, as a forge lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its id.
    pub id: String,
    /// Who wrote it.
    pub author: Account,
    /// The text.
    pub text: String,
    /// The time when it was written.
    pub created: Timestamp,
    /// The time when it was changed last.
    pub edited: Option<Timestamp>,
}

/// A forge whose comments are read.
pub trait Comments: Forge {
    /// Asks whose the token is: the id of the account. `None` if it is not the token of an account that could comment as
    /// a person.
    fn own(&self, client: &Client) -> impl Future<Output = Result<Option<String>, Fault>> + Send;

    /// Lists the comments of a pull request that people wrote, oldest first. The first page is 1.
    fn comments(
        &self,
        client: &Client,
        pull_request: u64,
        page: usize,
    ) -> impl Future<Output = Result<Page<Comment>, Fault>> + Send;

    /// Asks whether this account may write to the repository.
    fn may_write(
        &self,
        client: &Client,
        account: &Account,
    ) -> impl Future<Output = Result<MayWrite, Fault>> + Send;

    /// Asks whether the token learns of others what they may do.
    fn tells_rights(&self, client: &Client) -> impl Future<Output = Result<bool, Fault>> + Send;

    /// Lists the names of who opened the pull request and who wrote its commits.
    fn authors(
        &self,
        client: &Client,
        pull_request: u64,
    ) -> impl Future<Output = Result<BTreeSet<String>, Fault>> + Send;
}

impl<F: Comments> ForgeSink<F> {
    async fn commands(&self, pull_request: u64) -> Result<Vec<PullComment>, Fault> {
        let mut found = Vec::new();
        for comment in self.with_commands(pull_request).await? {
            found.push(self.weighed(comment).await?);
        }
        found.sort_by_key(|comment| comment.created);
        Ok(found)
    }

    async fn with_commands(&self, pull_request: u64) -> Result<Vec<Comment>, Fault> {
        let (mut found, mut seen) = (Vec::new(), 0);
        for page in 1..=PAGES {
            let Page { rows, is_last } = self
                .forge
                .comments(&self.client, pull_request, page)
                .await?;
            seen += rows.len();
            let has_command = |one: &Comment| one.text.to_ascii_lowercase().contains(COMMAND);
            found.extend(rows.into_iter().filter(has_command).map(bounded));
            if seen > MOST {
                break;
            }
            if is_last {
                return Ok(found);
            }
        }
        Err(Fault::Refused(format!(
            "pull request {pull_request} has more than {MOST} comments, which are not read; approve with a line in a commit message"
        )))
    }

    async fn weighed(&self, comment: Comment) -> Result<PullComment, Fault> {
        let author = comment.author;
        let own = self.own_account().await?;
        let writer = match () {
            () if own.is_some_and(|own| own == author.id) => Writer::Own,
            () if author.is_bot => Writer::Bot,
            () => Writer::Person,
        };
        let may_write = match writer {
            Writer::Person if author.login.is_empty() => MayWrite::No,
            Writer::Person => self.rights(&author).await?,
            Writer::Bot | Writer::Own => MayWrite::Unknown,
        };
        Ok(PullComment {
            id: comment.id,
            author: author.login,
            other_names: author.other_names,
            writer,
            text: comment.text,
            created: comment.created,
            edited: comment.edited,
            may_write,
        })
    }

    async fn own_account(&self) -> Result<Option<String>, Fault> {
        let now = self.client.now();
        if let Some(own) = self.remembered.own(now) {
            return Ok(own);
        }
        let own = self.forge.own(&self.client).await?;
        self.remembered.set_own(own.clone(), now);
        Ok(own)
    }

    async fn rights(&self, account: &Account) -> Result<MayWrite, Fault> {
        let now = self.client.now();
        if let Some(may_write) = self.remembered.rights(&account.id, now) {
            return Ok(may_write);
        }
        let may_write = self.forge.may_write(&self.client, account).await?;
        self.remembered.set_rights(&account.id, may_write, now);
        Ok(may_write)
    }
}

/// The comment with as much of its text as tells that it is too long.
fn bounded(mut comment: Comment) -> Comment {
    comment
        .text
        .truncate(cut::head(&comment.text, MOST_TEXT).len());
    comment
}

impl<F: Comments> ApprovalComments for ForgeSink<F> {
    fn comments(&self, pull_request: u64) -> BoxFuture<'_, Result<Vec<PullComment>, AdapterError>> {
        let asked = self.commands(pull_request);
        asked
            .map(|done| done.map_err(|fault| self.error(fault)))
            .boxed()
    }

    fn pull_requests<'a>(
        &'a self,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u64>, AdapterError>> {
        let numbers = |found: Vec<PullRequest>| found.iter().map(|one| one.number).collect();
        let asked = self.forge.pull_requests(&self.client, commit);
        asked
            .map(move |done| done.map(numbers).map_err(|fault| self.error(fault)))
            .boxed()
    }

    fn tells_rights(&self) -> BoxFuture<'_, Result<bool, AdapterError>> {
        let asked = self.forge.tells_rights(&self.client);
        asked
            .map(|done| done.map_err(|fault| self.error(fault)))
            .boxed()
    }

    fn authors(&self, pull_request: u64) -> BoxFuture<'_, Result<BTreeSet<String>, AdapterError>> {
        let asked = self.forge.authors(&self.client, pull_request);
        asked
            .map(|done| done.map_err(|fault| self.error(fault)))
            .boxed()
    }
}
