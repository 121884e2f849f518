//! The comments on pull requests, with a GitHub App and with a token.
//!
//! GitHub lists the comments of a pull request as those of an issue of its number, oldest first; `updated_at` differs from
//! `created_at` once one was edited. Who may write it tells every token that may read the repository's metadata
//! (`GET /repos/{o}/{r}/collaborators/{login}/permission`, docs.github.com/rest/collaborators/collaborators).

use std::collections::BTreeSet;

use super::{CheckRuns, Statuses, conversation};
use crate::adapters::checks::forge::{Account, Client, Comment, Comments, Fault, Page};
use crate::model::MayWrite;

impl Comments for CheckRuns {
    /// An app comments as a bot.
    async fn own(&self, _: &Client) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    async fn comments(
        &self,
        client: &Client,
        pull_request: u64,
        page: usize,
    ) -> Result<Page<Comment>, Fault> {
        let of = conversation(&self.repository, client);
        of.comments(pull_request, page).await
    }

    async fn may_write(&self, client: &Client, account: &Account) -> Result<MayWrite, Fault> {
        let of = conversation(&self.repository, client);
        of.may_write(&account.login).await
    }

    async fn tells_rights(&self, _: &Client) -> Result<bool, Fault> {
        Ok(true)
    }

    async fn authors(&self, client: &Client, pull_request: u64) -> Result<BTreeSet<String>, Fault> {
        let of = conversation(&self.repository, client);
        of.authors(pull_request).await
    }
}

impl Comments for Statuses {
    /// Only the token of an app may not ask, and an app comments as a bot.
    async fn own(&self, client: &Client) -> Result<Option<String>, Fault> {
        match conversation(&self.repository, client).user().await {
            Ok(id) => Ok(Some(id)),
            Err(Fault::Refused(_)) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    async fn comments(
        &self,
        client: &Client,
        pull_request: u64,
        page: usize,
    ) -> Result<Page<Comment>, Fault> {
        let of = conversation(&self.repository, client);
        of.comments(pull_request, page).await
    }

    async fn may_write(&self, client: &Client, account: &Account) -> Result<MayWrite, Fault> {
        let of = conversation(&self.repository, client);
        of.may_write(&account.login).await
    }

    async fn tells_rights(&self, _: &Client) -> Result<bool, Fault> {
        Ok(true)
    }

    async fn authors(&self, client: &Client, pull_request: u64) -> Result<BTreeSet<String>, Fault> {
        let of = conversation(&self.repository, client);
        of.authors(pull_request).await
    }
}
