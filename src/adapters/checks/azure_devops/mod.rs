//! Checks on Azure DevOps (forges.md §2).
//!
//! In: checks. Out: a status on the commit and, on an open pull request, a status on the iteration that the commit
//! is the head of, a comment with the summary, and a thread on each line that has findings. The threads are
//! updated and closed; none is opened twice. Without the permission to write on pull requests there is one warning,
//! and the statuses of commits are written all the same.

mod pull_request;
mod threads;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::forge::{
    Answer, Call, Client, Dialect, Fault, Forge, Found, Outcome, Repository, Verdict, digest,
    digest_of, message, outcome,
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
    /// It was logged that nothing can be written on pull requests.
    is_refused: AtomicBool,
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
    /// The digest of the pull request's number and the check that it shows.
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
        Self {
            repository,
            is_refused: AtomicBool::new(false),
        }
    }

    fn refused(&self, number: u64, said: &str) {
        if !self.is_refused.swap(true, Ordering::Relaxed) {
            tracing::warn!(repository = %self.repository, number, said, "cannot write on pull requests; commit statuses are written");
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

/// What people see of a check on its pull request, as a short text.
fn told(check: &Check) -> String {
    digest_of(&(check.pull_request, digest(check)))
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
        let is_told = check.pull_request.is_none()
            || self.is_refused.load(Ordering::Relaxed)
            || posted.told == told(check);
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
        let Some(number) = check.pull_request else {
            return Ok(());
        };
        match self.tell(client, check, number, posted).await {
            Err(Fault::Refused(said) | Fault::Absent(said)) => {
                self.refused(number, &said);
                Ok(())
            }
            written => {
                written?;
                posted.told = told(check);
                self.is_refused.store(false, Ordering::Relaxed);
                Ok(())
            }
        }
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
