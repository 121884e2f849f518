//! The pull requests of a commit.
//!
//! Data Center lists those that contain a commit, and those that a rebase or a squash made it for. The Cloud lists those
//! that a commit was reviewed in, once somebody installed its app for that; what a merge or a rebase made is found among
//! the pull requests that were merged lately.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::place::Edition;
use crate::adapters::checks::forge::client::Client;
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::lately::{self, Lists, Merged, Page, Said};
use crate::adapters::checks::forge::pull_request::PullRequest;
use crate::adapters::checks::forge::repository::Repository;
use crate::adapters::checks::forge::wire::{Answer, Call};

/// How many pull requests of a commit are looked into: each costs a request.
const OF_COMMIT: usize = 20;
/// How many pull requests are listed at once: Bitbucket lists no more.
const LISTED: usize = 50;
/// How many commits of a pull request are compared: Bitbucket lists no more at once, and its other pages have no numbers.
const COMMITS: usize = 100;
/// What to do where the Cloud has no index.
const UNINSTALLED: &str = "Bitbucket does not know the pull requests of commits in this repository: on the page of a commit, follow the link to its pull requests once, which installs the app Pull Request Commit Links";

#[derive(Deserialize)]
struct List<T> {
    values: Vec<T>,
    /// Where it goes on, in the Cloud.
    next: Option<String>,
    /// Whether it ends, on a server of one's own.
    #[serde(rename = "isLastPage")]
    is_last: Option<bool>,
}

#[derive(Deserialize)]
struct Named {
    id: u64,
}

/// A pull request of the Cloud.
#[derive(Deserialize)]
struct Row {
    id: u64,
    state: String,
    source: Side,
    destination: Side,
    merge_commit: Option<Commit>,
    updated_on: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Side {
    repository: Option<Place>,
}

#[derive(Deserialize)]
struct Place {
    uuid: String,
}

/// The beginning of an id.
#[derive(Deserialize)]
struct Commit {
    hash: String,
}

/// A commit in full.
#[derive(Deserialize)]
struct Listed {
    hash: String,
    message: String,
    date: Option<Timestamp>,
}

/// A pull request of Data Center.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnRow {
    id: u64,
    state: String,
    from_ref: OwnSide,
    to_ref: OwnSide,
}

#[derive(Deserialize)]
struct OwnSide {
    repository: Named,
}

impl From<&Row> for PullRequest {
    fn from(row: &Row) -> Self {
        let of = |side: &Side| side.repository.as_ref().map(|place| place.uuid.clone());
        let source = of(&row.source);
        Self {
            number: row.id,
            is_merged: row.state == "MERGED",
            is_of_fork: source.is_none() || source != of(&row.destination),
        }
    }
}

/// Finds the pull requests of `commit`.
pub(super) async fn find(
    repository: &Repository,
    edition: Edition,
    client: &Client,
    commit: &str,
) -> Result<Vec<PullRequest>, Fault> {
    match edition {
        Edition::Cloud => on_cloud(repository, client, commit).await,
        Edition::DataCenter => on_own_server(repository, client, commit).await,
    }
}

async fn on_own_server(
    repository: &Repository,
    client: &Client,
    commit: &str,
) -> Result<Vec<PullRequest>, Fault> {
    let url = repository.url(&["commits", commit, "pull-requests"]);
    let page: List<OwnRow> = get(client, url, "limit=100").await?.parsed()?;
    if page.is_last == Some(false) {
        return Err(lately::too_many("too many pull requests have the commit"));
    }
    let found = page.values.into_iter().map(|row| PullRequest {
        number: row.id,
        is_merged: row.state == "MERGED",
        is_of_fork: row.from_ref.repository.id != row.to_ref.repository.id,
    });
    Ok(found.collect())
}

async fn on_cloud(
    repository: &Repository,
    client: &Client,
    commit: &str,
) -> Result<Vec<PullRequest>, Fault> {
    let url = repository.url(&["commit", commit, "pullrequests"]);
    let answer = match get(client, url, &format!("pagelen={OF_COMMIT}")).await {
        Err(Fault::Absent(_)) => return Err(Fault::Refused(UNINSTALLED.to_owned())),
        answer => answer?,
    };
    if answer.status == 202 {
        let why = "Bitbucket has not listed the pull requests of this commit yet";
        return Err(Fault::Busy(why.to_owned()));
    }
    let page: List<Named> = answer.parsed()?;
    if page.next.is_some() {
        return Err(lately::too_many("too many pull requests have the commit"));
    }
    let mut found = Vec::new();
    // The list says nothing of where they come from.
    for named in page.values {
        let url = repository.url(&["pullrequests", &named.id.to_string()]);
        let row: Row = get(client, url, "").await?.parsed()?;
        found.push(PullRequest::from(&row));
    }
    if found.is_empty() {
        found.extend(lately::find(&Lately(repository), client, commit).await?);
    }
    Ok(found)
}

/// The lists of the Cloud. Its app knows nothing of what a rebase made.
struct Lately<'a>(&'a Repository);

impl Lately<'_> {
    async fn page<T: DeserializeOwned>(
        &self,
        client: &Client,
        parts: &[&str],
        query: &str,
        page: usize,
    ) -> Result<Page<T>, Fault> {
        let next = match page {
            1 => String::new(),
            page => format!("&page={page}"),
        };
        let query = format!("{query}{next}");
        let answer = get(client, self.0.url(parts), &query).await?;
        let list: List<T> = answer.parsed()?;
        Ok(Page {
            rows: list.values,
            is_last: list.next.is_none(),
        })
    }
}

impl Lists for Lately<'_> {
    const IS_COMPLETE: bool = false;

    async fn commit(&self, client: &Client, id: &str) -> Result<Said, Fault> {
        let answer = get(client, self.0.url(&["commit", id]), "").await?;
        let commit: Listed = answer.parsed()?;
        Ok(commit.into())
    }

    async fn merged(
        &self,
        client: &Client,
        _: Timestamp,
        page: usize,
    ) -> Result<Page<Merged>, Fault> {
        let query = format!("state=MERGED&sort=-updated_on&pagelen={LISTED}");
        let found: Page<Row> = self.page(client, &["pullrequests"], &query, page).await?;
        Ok(found.map(|row| Merged {
            found: PullRequest::from(&row),
            made: row.merge_commit.map(|made| made.hash),
            // It does not say when it was merged.
            at: row.updated_on,
            changed: row.updated_on,
        }))
    }

    async fn commits(
        &self,
        client: &Client,
        number: u64,
        page: usize,
    ) -> Result<Page<Said>, Fault> {
        if page > 1 {
            let many = format!("pull request {number} of a fork has more than {COMMITS} commits");
            return Err(lately::too_many(&many));
        }
        let parts = ["pullrequests", &number.to_string(), "commits"];
        let query = format!("pagelen={COMMITS}");
        let found: Page<Listed> = self.page(client, &parts, &query, page).await?;
        Ok(found.map(Said::from))
    }
}

impl From<Listed> for Said {
    fn from(listed: Listed) -> Self {
        Self {
            id: listed.hash,
            message: listed.message,
            is_cut: false,
            at: listed.date,
        }
    }
}

pub(super) async fn get(
    client: &Client,
    mut url: reqwest::Url,
    query: &str,
) -> Result<Answer, Fault> {
    url.set_query(Some(query).filter(|query| !query.is_empty()));
    client.call(&Call::get(url).aside()).await
}
