//! The pull requests that brought a commit in.
//!
//! In: a commit. Out: the pull requests that merged it, or whose merge it is, and whether each is of a fork. A rebase
//! makes other commits, of which Azure DevOps knows the last.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{AzureDevOps, pull_request::unreadable};
use crate::adapters::checks::forge::{Client, Fault, PullRequest};

/// How many pull requests of a commit are looked into.
const MOST: usize = 10;

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
        let mut rows = Vec::new();
        for number in numbers.into_iter().rev().take(MOST) {
            let call = self.get(&["pullRequests", &number.to_string()], "").aside();
            let row: Row = client.call(&call).await?.read().map_err(unreadable)?;
            rows.push(PullRequest {
                number,
                is_merged: row.status == "completed",
                is_of_fork: row.fork.is_some_and(|fork| !fork.is_null()),
            });
        }
        Ok(rows)
    }
}
