//! The pull requests that a commit is in, or was made by, and whether one of them is a fork's.
//!
//! In: a commit of the repository. Out: pull requests. What GitHub and Gitea have in common is here: both also list the
//! pull requests that were closed last, since an index may lack the newest, and Gitea's has no commit of a rebase but the
//! last. It does not know what is asked for.

use reqwest::Url;
use serde::Deserialize;

use super::client::Client;
use super::fault::Fault;
use super::repository::Repository;
use super::wire::Call;
use crate::model::CommitSource;

/// How many pull requests that were closed last are listed.
const LISTED: usize = 50;
/// How many of those that forks had merged are looked into.
const LOOKED_INTO: usize = 10;

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
        None => CommitSource::Own,
    }
}

/// A pull request of GitHub or Gitea.
#[derive(Deserialize)]
struct Row {
    number: u64,
    merged_at: Option<String>,
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
    pub(in crate::adapters::checks) async fn find(
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
        if rows.is_empty() {
            return self.lately_merged(client, sha).await;
        }
        Ok(rows.iter().map(PullRequest::from).collect())
    }

    /// The pull request of a fork among those merged lately that made the commit, has it, or has one with the same
    /// message: a rebase changes all else.
    async fn lately_merged(&self, client: &Client, sha: &str) -> Result<Vec<PullRequest>, Fault> {
        let mut url = self.repository.url(&["pulls"]);
        let query = format!("state=closed&{}&{}={LISTED}", self.newest_first, self.page);
        url.set_query(Some(&query));
        let answer = client.call(&Call::get(url).aside()).await?;
        let rows: Option<Vec<Row>> = answer.parsed()?;
        let is_candidate = |row: &&Row| {
            let one = PullRequest::from(*row);
            one.is_merged && one.is_of_fork
        };
        let rows = rows.unwrap_or_default();
        let forks: Vec<&Row> = rows.iter().filter(is_candidate).collect();
        let made = |row: &&&Row| row.merge_commit_sha.as_deref() == Some(sha);
        if let Some(row) = forks.iter().find(made) {
            return Ok(vec![PullRequest::from(*row)]);
        }
        if forks.is_empty() {
            return Ok(Vec::new());
        }
        let answer = client.call(&Call::get(self.commit.clone()).aside()).await?;
        let own: Listed = answer.parsed()?;
        for row in forks.into_iter().take(LOOKED_INTO) {
            let number = row.number.to_string();
            let mut url = self.repository.url(&["pulls", &number, "commits"]);
            url.set_query(Some(&format!("{}={LISTED}", self.page)));
            let answer = client.call(&Call::get(url).aside()).await?;
            let commits: Option<Vec<Listed>> = answer.parsed()?;
            let is_same = |one: &Listed| {
                let (one, own) = (one.commit.message.trim(), own.commit.message.trim());
                one == own
            };
            let mut commits = commits.unwrap_or_default().into_iter();
            if commits.any(|one| one.sha == sha || is_same(&one)) {
                return Ok(vec![PullRequest::from(row)]);
            }
        }
        Ok(Vec::new())
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
            (&[][..], CommitSource::Own),
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
