//! Pull requests that the daemon opens on Gitea and Forgejo.
//!
//! No list takes the branch of a head, and the one answer by branches is any of their pull requests, whatever its state
//! (`GetPullRequestByBaseHeadInfo` in Gitea's models/issues/pull.go): unless it is open, the list of all is read down to
//! it. Without an order, that list begins with the newest (`applySorts` in models/issues/issue_search.go). Gitea refuses a
//! second open one with 409, and takes note of a pushed branch a little after the push; until then it answers 404.

use crate::adapters::checks::forge::client::{Client, Dialect};
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::listed::{Branches, Listed};
use crate::adapters::checks::forge::opener::PullRequestApi;
use crate::adapters::checks::forge::repository::Repository;
use crate::adapters::checks::forge::wire::Call;

/// The most pull requests of a page, and the most pages that are read.
const PAGE: usize = 50;
const PAGES: usize = 20;
/// First parts of branches that Gitea takes for something else below the path of a pull request.
const TAKEN: [&str; 4] = ["commits", "files", "merge", "reviews"];

/// The pull requests of a repository on Gitea or Forgejo.
#[derive(Debug)]
pub struct GiteaPulls {
    repository: Repository,
}

impl GiteaPulls {
    /// Those of `repository`.
    #[must_use]
    pub const fn new(repository: Repository) -> Self {
        Self { repository }
    }

    /// The headers that Gitea wants of all requests. Its answers mean what they mean everywhere.
    #[must_use]
    pub fn dialect() -> Dialect {
        Dialect {
            verdict: |_, _| None,
            ..super::Gitea::dialect()
        }
    }

    /// Some pull request of the branches, if one question tells it; [`Fault::Absent`] if there is none, or the token sees
    /// none.
    async fn any(&self, client: &Client, branches: &Branches<'_>) -> Result<Option<Listed>, Fault> {
        let parts: Vec<&str> = branches.head.split('/').collect();
        if TAKEN.contains(&parts[0]) {
            return Ok(None);
        }
        let parts = [&["pulls", branches.base], &parts[..]].concat();
        let call = Call::get(self.repository.url(&parts));
        let found: Listed = client.call(&call).await?.parsed()?;
        // One that was opened by a push to `refs/for` counts as one of the repository's branches there.
        Ok(Some(found).filter(|found| found.is_of(branches)))
    }

    /// The pull requests of a page of `length`, newest first.
    async fn page(
        &self,
        client: &Client,
        length: usize,
        page: usize,
    ) -> Result<Vec<Listed>, Fault> {
        let mut url = self.repository.url(&["pulls"]);
        url.set_query(Some(&format!("state=all&limit={length}&page={page}")));
        let rows: Option<Vec<Listed>> = client.call(&Call::get(url)).await?.parsed()?;
        Ok(rows.unwrap_or_default())
    }

    /// The open pull request of the branches, else the newest that is newer than number `oldest`.
    async fn newest(
        &self,
        client: &Client,
        branches: &Branches<'_>,
        oldest: u64,
    ) -> Result<Option<Listed>, Fault> {
        let mut newest = None;
        for page in 1..=PAGES {
            let rows = self.page(client, PAGE, page).await?;
            let is_last = rows.last().is_none_or(|last| last.number <= oldest);
            for listed in rows.into_iter().filter(|listed| listed.is_of(branches)) {
                if listed.is_open() {
                    return Ok(Some(listed));
                }
                newest.get_or_insert(listed);
            }
            if is_last {
                break;
            }
        }
        Ok(newest)
    }
}

impl PullRequestApi for GiteaPulls {
    const NEEDS: &'static str = "pull requests need a token with the scope write:repository, of a user who may write to the repository";
    const PAGE: &'static str = "pulls";
    const LENGTH: &'static str = "limit";

    fn repository(&self) -> &Repository {
        &self.repository
    }

    fn unopened(&self, branches: &Branches<'_>, said: &str) -> Fault {
        let Branches { head, base } = branches;
        Fault::Early(format!(
            "{said}; it does not know {head:?} or {base:?} as a branch (yet)"
        ))
    }

    /// Reads 1,000 pull requests at most: an older one of a branch that is used again may not be found.
    async fn find(
        &self,
        client: &Client,
        branches: &Branches<'_>,
    ) -> Result<Option<Listed>, Fault> {
        let known = match self.any(client, branches).await {
            // Nobody who sees no pull requests can tell.
            Err(Fault::Absent(_)) => return self.page(client, 1, 1).await.map(|_| None),
            known => known?,
        };
        if known.as_ref().is_some_and(Listed::is_open) {
            return Ok(known);
        }
        let oldest = known.as_ref().map_or(0, |known| known.number);
        let newest = self.newest(client, branches, oldest).await?;
        Ok(newest.or(known))
    }
}
