//! The pull requests of a commit.
//!
//! Data Center lists those that contain a commit, and those that a rebase or a squash made it for. The Cloud lists those
//! that a commit was reviewed in, once somebody installed its app for that; what a merge made is found among the pull
//! requests that were merged lately.

use serde::Deserialize;

use super::place::Edition;
use crate::adapters::checks::forge::client::Client;
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::pull_request::PullRequest;
use crate::adapters::checks::forge::repository::Repository;
use crate::adapters::checks::forge::wire::{Answer, Call};

/// How many pull requests of a commit are looked into, and how many that were merged lately.
const OF_COMMIT: usize = 5;
const LATELY: usize = 50;
/// What to do where the Cloud has no index.
const UNINSTALLED: &str = "Bitbucket does not know the pull requests of commits in this repository: on the page of a commit, follow the link to its pull requests once, which installs the app Pull Request Commit Links";

#[derive(Deserialize)]
struct Page<T> {
    values: Vec<T>,
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
    let page: Page<OwnRow> = get(client, url, "limit=100").await?.parsed()?;
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
    let page: Page<Named> = answer.parsed()?;
    let mut found = Vec::new();
    // The list says nothing of where they come from.
    for named in page.values {
        let url = repository.url(&["pullrequests", &named.id.to_string()]);
        let row: Row = get(client, url, "").await?.parsed()?;
        found.push(PullRequest::from(&row));
    }
    if found.is_empty() {
        let url = repository.url(&["pullrequests"]);
        let query = format!("state=MERGED&sort=-updated_on&pagelen={LATELY}");
        let page: Page<Row> = get(client, url, &query).await?.parsed()?;
        let made = |row: &&Row| {
            let made = row.merge_commit.as_ref().map(|made| made.hash.as_str());
            made.is_some_and(|made| !made.is_empty() && commit.starts_with(made))
        };
        found.extend(page.values.iter().find(made).map(PullRequest::from));
    }
    Ok(found)
}

async fn get(client: &Client, mut url: reqwest::Url, query: &str) -> Result<Answer, Fault> {
    url.set_query(Some(query).filter(|query| !query.is_empty()));
    client.call(&Call::get(url).aside()).await
}
