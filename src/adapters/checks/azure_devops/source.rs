//! The pull requests that brought a commit in.
//!
//! In: a commit. Out: the pull requests that merged it, or whose merge it is, and whether each is of a fork. A rebase
//! makes other commits, of which Azure DevOps knows the last: the rest is found among what was completed lately.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AzureDevOps, list, pull_request::unreadable};
use crate::adapters::checks::forge::lately::{self, Lists, Merged, Page, Said};
use crate::adapters::checks::forge::{Client, Fault, PullRequest};

/// How many pull requests of a commit are looked into: each costs a request.
const MOST: usize = 20;
/// How many rows of a list are asked for at once.
const LISTED: usize = 100;
/// How a list says that it goes on.
const GOES_ON: &str = "x-ms-continuationtoken";

#[derive(Deserialize)]
struct Results {
    results: Vec<BTreeMap<String, Vec<Numbered>>>,
}

#[derive(Deserialize)]
struct Numbered {
    #[serde(rename = "pullRequestId")]
    number: u64,
}

#[derive(Deserialize)]
struct Row {
    status: String,
    #[serde(rename = "forkSource")]
    fork: Option<Value>,
}

impl Row {
    fn is_of_fork(&self) -> bool {
        self.fork.as_ref().is_some_and(|fork| !fork.is_null())
    }
}

/// A pull request in a list.
#[derive(Deserialize)]
struct Completed {
    #[serde(flatten)]
    row: Row,
    #[serde(rename = "pullRequestId")]
    number: u64,
    #[serde(rename = "lastMergeCommit")]
    made: Option<Id>,
    #[serde(rename = "closedDate")]
    at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Id {
    #[serde(rename = "commitId")]
    id: String,
}

/// A commit. In a list, its message may be cut.
#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "commitId")]
    id: String,
    comment: String,
    #[serde(rename = "commentTruncated", default)]
    is_cut: bool,
    committer: Option<By>,
}

#[derive(Deserialize)]
struct By {
    date: Option<Timestamp>,
}

impl From<Listed> for Said {
    fn from(listed: Listed) -> Self {
        Self {
            id: listed.id,
            message: listed.comment,
            is_cut: listed.is_cut,
            at: listed.committer.and_then(|by| by.date),
        }
    }
}

impl AzureDevOps {
    /// Finds the pull requests of `commit`.
    pub(super) async fn pull_requests_of(
        &self,
        client: &Client,
        commit: &str,
    ) -> Result<Vec<PullRequest>, Fault> {
        let query = |kind: &str| json!({"type": kind, "items": [commit]});
        let body = json!({"queries": [query("lastMergeCommit"), query("commit")]});
        let call = self.post(&["pullrequestquery"], body).aside();
        let found: Results = client.call(&call).await?.read().map_err(unreadable)?;
        let found = found.results.into_iter().flat_map(BTreeMap::into_values);
        let numbers: BTreeSet<u64> = found.flatten().map(|one| one.number).collect();
        if numbers.len() > MOST {
            return Err(lately::too_many("too many pull requests have the commit"));
        }
        if numbers.is_empty() {
            let found = lately::find(self, client, commit).await?;
            return Ok(found.into_iter().collect());
        }
        let mut rows = Vec::new();
        for number in numbers.into_iter().rev() {
            let call = self.get(&["pullRequests", &number.to_string()], "").aside();
            let row: Row = client.call(&call).await?.read().map_err(unreadable)?;
            rows.push(PullRequest {
                number,
                is_merged: row.status == "completed",
                is_of_fork: row.is_of_fork(),
            });
        }
        Ok(rows)
    }
}

impl Lists for AzureDevOps {
    const IS_COMPLETE: bool = false;

    async fn commit(&self, client: &Client, id: &str) -> Result<Said, Fault> {
        let call = self.get(&["commits", id], "").aside();
        let commit: Listed = client.call(&call).await?.read().map_err(unreadable)?;
        match commit.is_cut {
            true => Err(lately::too_many("the message is too long to compare")),
            false => Ok(commit.into()),
        }
    }

    async fn merged(
        &self,
        client: &Client,
        since: Timestamp,
        page: usize,
    ) -> Result<Page<Merged>, Fault> {
        let criteria = format!(
            "searchCriteria.status=completed&searchCriteria.queryTimeRangeType=closed&searchCriteria.minTime={since}"
        );
        let skip = LISTED * (page - 1);
        let query = format!("{criteria}&$top={LISTED}&$skip={skip}");
        let call = self.get(&["pullrequests"], &query).aside();
        let rows: Vec<Completed> = list(&client.call(&call).await?)?;
        let page = Page {
            is_last: rows.len() < LISTED,
            rows,
        };
        Ok(page.map(|row| Merged {
            found: PullRequest {
                number: row.number,
                is_merged: row.row.status == "completed",
                is_of_fork: row.row.is_of_fork(),
            },
            made: row.made.map(|made| made.id),
            at: row.at,
            // In the order in which they were opened.
            changed: None,
        }))
    }

    async fn commits(
        &self,
        client: &Client,
        number: u64,
        page: usize,
    ) -> Result<Page<Said>, Fault> {
        if page > 1 {
            let many = format!("pull request {number} of a fork has {LISTED} commits or more");
            return Err(lately::too_many(&many));
        }
        let parts = ["pullRequests", &number.to_string(), "commits"];
        let call = self.get(&parts, &format!("$top={LISTED}")).aside();
        let answer = client.call(&call).await?;
        let rows: Vec<Listed> = list(&answer)?;
        let page = Page {
            is_last: rows.len() < LISTED && answer.header(GOES_ON).is_none(),
            rows,
        };
        Ok(page.map(Said::from))
    }
}
