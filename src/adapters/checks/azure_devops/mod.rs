//! Checks on Azure DevOps (forges.md §2).
//!
//! In: checks. Out: a status on the commit and, on each open pull request of it, a status on the iteration that the
//! commit is the head of, a comment with the summary, and a thread on each line that has findings. The threads are
//! updated and closed; none is opened twice. Without the permission to write on pull requests there is one warning,
//! and the statuses of commits are written all the same.

mod comments;
mod pull_request;
mod source;
mod threads;

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::forge::{
    Answer, Aside, Call, Client, Dialect, Fault, Forge, Found, Outcome, PullRequest, Repository,
    Verdict, digest, message, outcome,
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
        verdict: own,
    }
}

/// Whoever may write statuses of commits need not have the permission to contribute to pull requests, nor a token the
/// scope of threads: commit statuses go on without (forges.md §2d).
fn own(call: &Call, answer: &Answer) -> Option<Verdict> {
    let path = call.url.path();
    let is_missing = match answer.status {
        403 => path.contains("/pullRequests/"),
        401 => path.contains("/threads"),
        _ => false,
    };
    is_missing.then(|| Verdict::Fault(Fault::Refused(message(answer))))
}

/// The statuses and threads of a repository.
#[derive(Debug)]
pub struct AzureDevOps {
    repository: Repository,
    /// All that is written on pull requests, and threads alone, for which a token needs a scope of their own.
    pull_requests: Aside,
    threads: Aside,
}

/// What was written of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Posted {
    /// The status on the commit.
    commit: Value,
    /// Who we are, as Azure DevOps calls us.
    author: Option<String>,
    /// By the numbers of the pull requests.
    pull_requests: BTreeMap<u64, OnPullRequest>,
}

/// What was written of a check on one pull request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct OnPullRequest {
    /// The iteration that the commit is the head of.
    iteration: Option<u64>,
    /// The status there.
    status: Value,
    /// All threads of this check, by their marks; `None` before they were listed.
    threads: Option<BTreeMap<String, Thread>>,
    /// The digest of the check that was written, as far as the pull request took it.
    reported: String,
}

impl OnPullRequest {
    /// Whether the status is pending, or nobody knows.
    fn may_be_pending(&self) -> bool {
        self.status.is_null() || self.status["state"] == "pending"
    }
}

impl Posted {
    /// The pull requests that still wait for the end of this check, which is not about them any more: their heads moved
    /// on.
    fn left(&self, check: &Check) -> Vec<u64> {
        let is_final = outcome(check.state, check.detail).is_final();
        let is_left = |(number, on): &(&u64, &OnPullRequest)| {
            on.may_be_pending() && !check.pull_requests().any(|own| own == **number)
        };
        let left = self.pull_requests.iter().filter(|_| is_final);
        left.filter(is_left).map(|(number, _)| *number).collect()
    }

    /// Whether this pull request shows the check.
    fn is_reported(&self, number: u64, check: &Check) -> bool {
        let on = self.pull_requests.get(&number);
        on.is_some_and(|on| on.reported == digest(check))
    }
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
        Self {
            repository,
            pull_requests: Aside::new("write on pull requests"),
            threads: Aside::new("comment on pull requests"),
        }
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
fn list<T: serde::de::DeserializeOwned>(answer: &Answer) -> Result<Vec<T>, Fault> {
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

/// Keeps the numbers alone: nobody knows what the pull requests show.
fn forget(pull_requests: &mut BTreeMap<u64, OnPullRequest>) {
    for on in pull_requests.values_mut() {
        *on = OnPullRequest::default();
    }
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
        let mut own = check.pull_requests();
        posted.commit == status(check)
            && own.all(|number| posted.is_reported(number, check))
            && posted.left(check).is_empty()
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
        for number in check.pull_requests() {
            if !posted.is_reported(number, check) {
                self.report(client, check, number, posted).await?;
            }
        }
        for number in posted.left(check) {
            self.report(client, check, number, posted).await?;
            posted.pull_requests.remove(&number);
        }
        Ok(())
    }

    fn overtaken(&self, posted: &mut Posted) {
        forget(&mut posted.pull_requests);
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
        // The pull requests are asked again, too.
        forget(&mut posted.pull_requests);
        let Some(row) = rows.into_iter().find(is_own) else {
            posted.commit = Value::Null;
            return Ok(None);
        };
        let author = posted.author.take();
        posted.author = author.or_else(|| row.author.map(|author| author.id));
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

    async fn pull_requests(
        &self,
        client: &Client,
        commit: &str,
    ) -> Result<Vec<PullRequest>, Fault> {
        self.pull_requests_of(client, commit).await
    }
}
