//! Commit statuses: what any token may write. One line, no summary (forges.md §1b).

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::pull_requests;
use crate::adapters::checks::forge::{
    Answer, Call, Client, Fault, Forge, Found, Outcome, PullRequest, Repository, outcome,
};
use crate::adapters::checks::text::{Limit, line};
use crate::model::{Check, CheckState};

const DESCRIPTION: Limit = Limit::Chars(140);
const CONTEXT: Limit = Limit::Chars(255);
/// GitHub takes 1,000 statuses of a context on a commit. The last of them are for how it ended.
const MOST_PROGRESS: u32 = 900;
/// How many pages of 100 statuses are searched for ours.
const PAGES: usize = 10;

/// The statuses of a repository.
#[derive(Debug)]
pub struct Statuses {
    pub(super) repository: Repository,
}

/// The last status, and how many there were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    shown: Value,
    count: u32,
}

/// A status in a list.
#[derive(Deserialize)]
struct Row {
    state: String,
    context: String,
    description: Option<String>,
    target_url: Option<String>,
}

impl Statuses {
    /// Those of `repository`.
    #[must_use]
    pub const fn new(repository: Repository) -> Self {
        Self { repository }
    }
}

/// What is sent but the context.
fn shown(check: &Check) -> Value {
    let state = match outcome(check.state, check.detail) {
        Outcome::Queued | Outcome::Running => "pending",
        Outcome::Good | Outcome::Warned => "success",
        Outcome::Bad | Outcome::Approval => "failure",
        Outcome::Fault | Outcome::Superseded => "error",
    };
    shown_as(
        state,
        &line(&check.title, DESCRIPTION),
        check.target_url.as_deref(),
    )
}

fn shown_as(state: &str, description: &str, url: Option<&str>) -> Value {
    let mut shown = json!({"state": state, "description": description});
    if let Some(url) = url.filter(|url| !url.is_empty()) {
        shown["target_url"] = url.into();
    }
    shown
}

impl Forge for Statuses {
    type Remote = Status;

    fn place(&self) -> String {
        self.repository.to_string()
    }

    fn probe(&self, revision: Option<&str>) -> Call {
        Call::get(match revision {
            Some(revision) => self.repository.url(&["commits", revision]),
            None => self.repository.url(&[]),
        })
    }

    /// What a classic token lacks: an answer to other tokens says nothing about them.
    fn lacks(&self, repository: &Answer) -> Option<String> {
        let scopes = repository.header("x-oauth-scopes");
        let mut scopes = scopes
            .filter(|all| !all.is_empty())?
            .split(',')
            .map(str::trim);
        let json = repository.json();
        let suffices = |scope| {
            matches!(scope, "repo" | "repo:status")
                || scope == "public_repo" && json["private"] == false
        };
        if !scopes.any(suffices) {
            return Some("the token needs the scope repo:status".to_owned());
        }
        let is_reader = json["permissions"]["push"] == false;
        is_reader.then(|| {
            "the user of the token may not push to this repository: grant it write access"
                .to_owned()
        })
    }

    fn shows(&self, check: &Check, status: &Status) -> bool {
        let is_progress = !outcome(check.state, check.detail).is_final();
        status.shown == shown(check) || is_progress && status.count >= MOST_PROGRESS
    }

    async fn write(
        &self,
        client: &Client,
        check: &Check,
        status: &mut Status,
    ) -> Result<(), Fault> {
        let shown = shown(check);
        let mut body = shown.clone();
        body["context"] = line(&check.context, CONTEXT).into();
        let url = self.repository.url(&["statuses", &check.revision]);
        client.call(&Call::send(Method::POST, url, body)).await?;
        (status.shown, status.count) = (shown, status.count + 1);
        Ok(())
    }

    async fn find(
        &self,
        client: &Client,
        revision: &str,
        context: &str,
        status: &mut Status,
    ) -> Result<Option<Found>, Fault> {
        let context = line(context, CONTEXT).to_lowercase();
        for page in 1..=PAGES {
            let mut url = self.repository.url(&["commits", revision, "statuses"]);
            url.set_query(Some(&format!("per_page=100&page={page}")));
            let answer = client.call(&Call::get(url)).await?;
            let rows: Vec<Row> = answer
                .read()
                .map_err(|cause| Fault::Busy(cause.to_string()))?;
            // Newest first.
            if let Some(row) = rows
                .iter()
                .find(|row| row.context.to_lowercase() == context)
            {
                let title = row.description.clone().unwrap_or_default();
                status.shown = shown_as(&row.state, &title, row.target_url.as_deref());
                let state = state(&row.state);
                return Ok(Some(Found { state, title }));
            }
            if rows.len() < 100 {
                break;
            }
        }
        *status = Status::default();
        Ok(None)
    }

    async fn pull_requests(
        &self,
        client: &Client,
        commit: &str,
    ) -> Result<Vec<PullRequest>, Fault> {
        pull_requests(&self.repository, client, commit).await
    }
}

fn state(word: &str) -> CheckState {
    match word {
        "pending" => CheckState::Pending,
        "success" => CheckState::Success,
        "failure" => CheckState::Failure,
        _ => CheckState::Error,
    }
}
