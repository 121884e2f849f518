//! The pull requests of a commit, as GitHub and Gitea list them.
//!
//! In: a commit of the repository. Out: pull requests. Of both, those that were merged lately are compared, too, since an
//! index may lack the newest, and Gitea's has no commit of a rebase but the last. It does not know what is asked for.

use jiff::Timestamp;
use reqwest::Url;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client::Client;
use super::fault::Fault;
use super::lately::{self, Lists, Merged, Page, Said};
use super::pull_request::PullRequest;
use super::repository::Repository;
use super::wire::Call;

/// How many pull requests, or commits of one, are listed at once: Gitea lists no more.
const LISTED: usize = 50;
/// How many pull requests of one commit are listed: GitHub lists no more at once.
pub(in crate::adapters::checks) const MOST: usize = 100;

/// A pull request of GitHub or Gitea.
#[derive(Deserialize)]
struct Row {
    number: u64,
    merged_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    merge_commit_sha: Option<String>,
    head: Side,
    base: Side,
}

#[derive(Deserialize)]
struct Side {
    repo: Option<Repo>,
}

#[derive(Deserialize)]
struct Repo {
    id: u64,
}

/// One or a list: Gitea knows one pull request of a commit.
#[derive(Deserialize)]
#[serde(untagged)]
enum Rows {
    One(Box<Row>),
    Many(Vec<Row>),
    None(()),
}

/// A commit of GitHub or Gitea.
#[derive(Deserialize)]
struct Listed {
    sha: String,
    commit: Text,
}

#[derive(Deserialize)]
struct Text {
    message: String,
    committer: Option<By>,
}

#[derive(Deserialize)]
struct By {
    date: Option<Timestamp>,
}

impl From<&Row> for PullRequest {
    fn from(row: &Row) -> Self {
        let id = |side: &Side| side.repo.as_ref().map(|repo| repo.id);
        let (head, base) = (id(&row.head), id(&row.base));
        Self {
            number: row.number,
            is_merged: row.merged_at.is_some(),
            is_of_fork: head.is_none() || head != base,
        }
    }
}

/// Where GitHub or Gitea has what is asked for.
pub(in crate::adapters::checks) struct Index<'a> {
    pub(in crate::adapters::checks) repository: &'a Repository,
    /// The pull requests of the commit.
    pub(in crate::adapters::checks) of_commit: Url,
    /// The commit itself.
    pub(in crate::adapters::checks) commit: Url,
    /// How the closed pull requests are sorted by their last change.
    pub(in crate::adapters::checks) newest_first: &'static str,
    /// What the length of a page is called.
    pub(in crate::adapters::checks) page: &'static str,
}

impl Index<'_> {
    /// Finds the pull requests of the commit with the id `sha`.
    pub(in crate::adapters::checks) async fn find<const IS_COMPLETE: bool>(
        &self,
        client: &Client,
        sha: &str,
    ) -> Result<Vec<PullRequest>, Fault> {
        let call = Call::get(self.of_commit.clone()).aside();
        let rows = match client.call(&call).await {
            // Gitea says so of a commit without any.
            Err(Fault::Absent(_)) => Vec::new(),
            answer => match answer?.parsed()? {
                Rows::One(row) => vec![*row],
                Rows::Many(rows) => rows,
                Rows::None(()) => Vec::new(),
            },
        };
        if rows.len() >= MOST {
            return Err(lately::too_many("too many pull requests have the commit"));
        }
        if rows.is_empty() {
            let lists = Lately::<IS_COMPLETE>(self);
            let found = lately::find(&lists, client, sha).await?;
            return Ok(found.into_iter().collect());
        }
        Ok(rows.iter().map(PullRequest::from).collect())
    }

    async fn page<T: DeserializeOwned>(
        &self,
        client: &Client,
        parts: &[&str],
        query: &str,
        page: usize,
    ) -> Result<Page<T>, Fault> {
        let mut url = self.repository.url(parts);
        let next = match page {
            1 => String::new(),
            page => format!("&page={page}"),
        };
        url.set_query(Some(&format!("{query}{}={LISTED}{next}", self.page)));
        let answer = client.call(&Call::get(url).aside()).await?;
        let rows: Option<Vec<T>> = answer.parsed()?;
        let rows = rows.unwrap_or_default();
        // An administrator of Gitea may have made its pages shorter.
        let is_next = |link: &str| link.contains("rel=\"next\"");
        let is_last = rows.len() < LISTED && !answer.header("link").is_some_and(is_next);
        Ok(Page { rows, is_last })
    }
}

/// The lists of GitHub, which knows the pull requests of every commit after a moment, or of Gitea, which does not.
struct Lately<'a, const IS_COMPLETE: bool>(&'a Index<'a>);

impl<const IS_COMPLETE: bool> Lists for Lately<'_, IS_COMPLETE> {
    const IS_COMPLETE: bool = IS_COMPLETE;

    async fn commit(&self, client: &Client, _: &str) -> Result<Said, Fault> {
        let call = Call::get(self.0.commit.clone()).aside();
        let commit: Listed = client.call(&call).await?.parsed()?;
        Ok(commit.into())
    }

    async fn merged(
        &self,
        client: &Client,
        _: Timestamp,
        page: usize,
    ) -> Result<Page<Merged>, Fault> {
        let query = format!("state=closed&{}&", self.0.newest_first);
        let found: Page<Row> = self.0.page(client, &["pulls"], &query, page).await?;
        Ok(found.map(|row| Merged {
            found: PullRequest::from(&row),
            made: row.merge_commit_sha,
            at: row.merged_at,
            changed: row.updated_at,
        }))
    }

    async fn commits(
        &self,
        client: &Client,
        number: u64,
        page: usize,
    ) -> Result<Page<Said>, Fault> {
        let parts = ["pulls", &number.to_string(), "commits"];
        let found: Page<Listed> = self.0.page(client, &parts, "", page).await?;
        Ok(found.map(Said::from))
    }
}

impl From<Listed> for Said {
    fn from(listed: Listed) -> Self {
        Self {
            id: listed.sha,
            message: listed.commit.message,
            is_cut: false,
            at: listed.commit.committer.and_then(|by| by.date),
        }
    }
}
