//! Checks on Azure DevOps (forges.md §2).
//!
//! In: checks. Out: a status on the commit and, on a pull request, a status on the iteration that the commit
//! is the head of, a comment with the summary, and a thread on each line that has findings. The threads are
//! updated and closed; none is opened twice.

mod pull_request;
mod threads;

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::forge::{
    Call, Client, Dialect, Fault, Forge, Found, Outcome, Repository, digest, outcome,
};
use super::text::{Limit, line};
use crate::model::{Check, CheckState};
use threads::Thread;

#[cfg(test)]
mod tests;

/// Not published; a safe guess (forges.md §2a, §12).
const NAME: Limit = Limit::Chars(255);
const DESCRIPTION: Limit = Limit::Chars(2_000);
/// The first part of the name of our statuses: a policy names them `capstan/prod/plan`.
const GENRE: &str = "capstan";
const VERSION: &str = "7.1";

/// What Azure DevOps wants of all requests: no redirect to a sign-in page.
#[must_use]
pub fn dialect() -> Dialect {
    Dialect {
        headers: vec![
            ("accept", "application/json"),
            ("x-tfs-fedauthredirect", "Suppress"),
        ],
        spacing: Duration::ZERO,
        verdict: |_, _| None,
    }
}

/// The statuses and threads of a repository.
#[derive(Debug)]
pub struct AzureDevOps {
    repository: Repository,
}

/// What was written of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Posted {
    /// The status on the commit.
    commit: Value,
    /// The pull request and the iteration that the commit is the head of.
    iteration: Option<(u64, u64)>,
    /// The status there.
    pull_request: Value,
    /// Who we are, as Azure DevOps calls us.
    author: Option<String>,
    /// All threads of this check on the pull request, by their marks; `None` before they were listed.
    threads: Option<std::collections::BTreeMap<String, Thread>>,
    /// The digest of the check that the pull request shows.
    told: String,
}

/// A status in a list.
#[derive(Deserialize)]
struct Row {
    state: String,
    description: Option<String>,
    #[serde(rename = "targetUrl")]
    url: Option<String>,
    context: Context,
    #[serde(rename = "createdBy")]
    author: Option<threads::Author>,
}

#[derive(Deserialize)]
struct Context {
    name: String,
    genre: Option<String>,
}

/// The form of all lists.
#[derive(Deserialize)]
struct List<T> {
    value: Vec<T>,
}

impl AzureDevOps {
    /// Those of `repository`.
    #[must_use]
    pub const fn new(repository: Repository) -> Self {
        Self { repository }
    }

    fn get(&self, parts: &[&str], query: &str) -> Call {
        Call::get(self.url(parts, query))
    }

    fn post(&self, parts: &[&str], body: Value) -> Call {
        Call::send(Method::POST, self.url(parts, ""), body)
    }

    fn patch(&self, parts: &[&str], body: Value) -> Call {
        Call::send(Method::PATCH, self.url(parts, ""), body)
    }

    fn url(&self, parts: &[&str], query: &str) -> reqwest::Url {
        let mut url = self.repository.url(parts);
        let mark = if query.is_empty() { "" } else { "&" };
        url.set_query(Some(&format!("{query}{mark}api-version={VERSION}")));
        url
    }
}

/// The list in an answer.
fn list<T: serde::de::DeserializeOwned>(answer: &super::forge::Answer) -> Result<Vec<T>, Fault> {
    let list: Result<List<T>, _> = answer.read();
    let list =
        list.map_err(|cause| Fault::Busy(format!("cannot read its answer as a list: {cause}")))?;
    Ok(list.value)
}

/// A status, as it is sent.
fn status(check: &Check) -> Value {
    let state = match outcome(check.state, check.detail) {
        Outcome::Queued | Outcome::Running | Outcome::Approval => "pending",
        Outcome::Good | Outcome::Warned => "succeeded",
        Outcome::Bad => "failed",
        Outcome::Fault => "error",
        Outcome::Superseded => "notApplicable",
    };
    let description = line(&check.title, DESCRIPTION);
    status_as(
        state,
        &description,
        check.target_url.as_deref(),
        &check.context,
    )
}

fn status_as(state: &str, description: &str, url: Option<&str>, context: &str) -> Value {
    let mut status = json!({
        "state": state,
        "description": description,
        "context": {"name": name(context), "genre": GENRE},
    });
    if let Some(url) = url.filter(|url| !url.is_empty()) {
        status["targetUrl"] = url.into();
    }
    status
}

/// The name within the genre.
fn name(context: &str) -> String {
    let name = context.strip_prefix(GENRE);
    let name = name.and_then(|name| name.strip_prefix('/'));
    line(name.unwrap_or(context), NAME)
}

impl Forge for AzureDevOps {
    type Remote = Posted;

    fn place(&self) -> String {
        self.repository.to_string()
    }

    fn probe(&self, revision: Option<&str>) -> Call {
        match revision {
            Some(revision) => self.get(&["commits", revision], ""),
            None => self.get(&[], ""),
        }
    }

    fn shows(&self, check: &Check, posted: &Posted) -> bool {
        let is_told = check.pull_request.is_none() || posted.told == digest(check);
        posted.commit == status(check) && is_told
    }

    async fn write(
        &self,
        client: &Client,
        check: &Check,
        posted: &mut Posted,
    ) -> Result<(), Fault> {
        let status = status(check);
        if posted.commit != status {
            let parts = ["commits", &check.revision, "statuses"];
            let answer = client.call(&self.post(&parts, status.clone())).await?;
            let author = &answer.json()["createdBy"]["id"];
            posted.author = author.as_str().map(str::to_owned);
            posted.commit = status;
        }
        if let Some(number) = check.pull_request {
            self.tell(client, check, number, posted).await?;
            posted.told = digest(check);
        }
        Ok(())
    }

    async fn find(
        &self,
        client: &Client,
        revision: &str,
        context: &str,
        posted: &mut Posted,
    ) -> Result<Option<Found>, Fault> {
        let parts = ["commits", revision, "statuses"];
        let call = self.get(&parts, "top=1000&latestOnly=true");
        let rows: Vec<Row> = list(&client.call(&call).await?)?;
        let own = name(context);
        let is_own =
            |row: &Row| row.context.genre.as_deref() == Some(GENRE) && row.context.name == own;
        // The pull request is asked again, too.
        let author = posted.author.take();
        let row = rows.into_iter().find(is_own);
        let by = row.as_ref().and_then(|row| row.author.as_ref());
        *posted = Posted {
            author: author.or_else(|| by.map(|by| by.id.clone())),
            ..Posted::default()
        };
        let Some(row) = row else {
            return Ok(None);
        };
        let title = row.description.unwrap_or_default();
        posted.commit = status_as(&row.state, &title, row.url.as_deref(), context);
        let state = match row.state.as_str() {
            "pending" | "notSet" => CheckState::Pending,
            "succeeded" | "notApplicable" => CheckState::Success,
            "failed" => CheckState::Failure,
            _ => CheckState::Error,
        };
        Ok(Some(Found { state, title }))
    }
}
