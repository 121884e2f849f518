//! GitLab: commit statuses, and one note on a merge request (forges.md §4).
//!
//! A status is a job of a pipeline: it moves from pending to running to an end, never back, and what it says cannot be
//! changed on the way. One that has ended stays; the next is a new row. So a status is sent when its state changes, and
//! the note has the words.

mod comments;

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::client::{Client, Dialect};
use super::comment;
use super::fault::Fault;
use super::lately;
use super::outcome::{Outcome, outcome};
use super::pull_request::PullRequest;
use super::repository::Repository;
use super::sink::{Forge, Found};
use super::verdict::{Verdict, message};
use super::wire::{Answer, Call};
use crate::adapters::checks::text::{Limit, line};
use crate::model::{Check, CheckState};

/// GitLab's column is a varchar(255).
const DESCRIPTION: Limit = Limit::Chars(255);
/// GitLab takes 1,000,000 characters; people do not.
const NOTE: usize = 65_536;
/// The level of the role Developer; below it no status is taken (forges.md §4).
const DEVELOPER: u64 = 30;
/// How many rows a page of the API has, and how many pages are read.
const PAGE: usize = 100;
const PAGES: usize = 20;

/// Where GitLab's answers mean something else than those of other forges.
fn own(call: &Call, answer: &Answer) -> Option<Verdict> {
    let said = message(answer);
    let is_status = call.is_change() && call.url.path().contains("/statuses/");
    match answer.status {
        // It is in that state already, or beyond it: nothing is left to do.
        400 if is_status && said.contains("Cannot transition status") => Some(Verdict::Done),
        422 if said.contains("number of jobs has exceeded") => {
            Some(Verdict::Fault(Fault::Full(said)))
        }
        403 if is_status => Some(Verdict::Fault(Fault::Denied(format!(
            "it answered 403: {said}; the token needs the scope api and the role Developer"
        )))),
        _ => None,
    }
}

/// The state of a status.
const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Queued | Outcome::Approval => "pending",
        Outcome::Running => "running",
        Outcome::Good | Outcome::Warned => "success",
        Outcome::Bad | Outcome::Fault => "failed",
        Outcome::Superseded => "canceled",
    }
}

fn state(word: &str) -> CheckState {
    match word {
        "success" | "skipped" => CheckState::Success,
        "failed" => CheckState::Failure,
        "canceled" => CheckState::Error,
        _ => CheckState::Pending,
    }
}

/// A project on GitLab.
pub struct GitLab {
    repository: Repository,
}

/// What GitLab has of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitLabRemote {
    /// The state of the newest status.
    state: Option<String>,
    /// The id of whoever the token belongs to.
    own: Option<u64>,
    /// The note's id and text.
    note: Option<(u64, String)>,
}

#[derive(Deserialize)]
struct Row {
    id: u64,
    #[serde(default)]
    status: String,
    #[serde(default)]
    name: String,
    description: Option<String>,
    author: Option<Person>,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    state: String,
    /// None once the fork is gone.
    source_project_id: Option<u64>,
    target_project_id: u64,
}

#[derive(Deserialize)]
struct Person {
    id: u64,
}

#[derive(Deserialize)]
struct Note {
    id: u64,
    #[serde(default)]
    body: String,
    author: Option<Person>,
}

impl GitLab {
    /// The project.
    #[must_use]
    pub const fn new(repository: Repository) -> Self {
        Self { repository }
    }

    /// What GitLab wants of all requests.
    #[must_use]
    pub fn dialect() -> Dialect {
        Dialect {
            headers: vec![("accept", "application/json")],
            spacing: Duration::ZERO,
            verdict: own,
        }
    }

    async fn write_status(
        &self,
        client: &Client,
        check: &Check,
        remote: &mut GitLabRemote,
    ) -> Result<(), Fault> {
        let new = word(outcome(check.state, check.detail));
        // A job that runs cannot wait again: it ends, and another one waits.
        if new == "pending" && remote.state.as_deref() == Some("running") {
            self.post(client, check, "canceled", remote).await?;
        }
        self.post(client, check, new, remote).await
    }

    async fn post(
        &self,
        client: &Client,
        check: &Check,
        state: &str,
        remote: &mut GitLabRemote,
    ) -> Result<(), Fault> {
        let mut body = json!({
            "state": state, "name": check.context, "description": line(&check.title, DESCRIPTION),
        });
        // An empty one is invalid.
        if let Some(url) = check.target_url.as_ref().filter(|url| !url.is_empty()) {
            body["target_url"] = json!(url);
        }
        let url = self.repository.url(&["statuses", &check.revision]);
        let answer = client.call(&Call::send(Method::POST, url, body)).await?;
        remote.state = Some(state.to_owned());
        // The answer to what was in that state already is an error without a row.
        if let Ok(Row { author, .. }) = answer.read() {
            remote.own = author.map(|author| author.id).or(remote.own);
        }
        Ok(())
    }

    /// Changes the note, or makes it.
    async fn write_note(
        &self,
        client: &Client,
        check: &Check,
        number: u64,
        remote: &mut GitLabRemote,
    ) -> Result<(), Fault> {
        let text = comment::text(check, NOTE);
        let body = json!({ "body": text });
        let number = number.to_string();
        let notes = ["merge_requests", number.as_str(), "notes"];
        let known = match &remote.note {
            Some((id, _)) => Some(*id),
            None => self.find_note(client, check, &notes, remote.own).await?,
        };
        if let Some(id) = known {
            let id_text = id.to_string();
            let url = self.repository.url(&[&notes[..], &[&id_text]].concat());
            let call = Call::send(Method::PUT, url, body.clone());
            match client.call(&call).await {
                // Somebody deleted it.
                Err(Fault::Absent(_)) => {}
                changed => {
                    changed?;
                    remote.note = Some((id, text));
                    return Ok(());
                }
            }
        }
        let call = Call::send(Method::POST, self.repository.url(&notes), body);
        let note: Note = client.call(&call).await?.parsed()?;
        remote.note = Some((note.id, text));
        Ok(())
    }

    /// The note of an earlier head: with our mark, and our own, since anybody can write the mark.
    async fn find_note(
        &self,
        client: &Client,
        check: &Check,
        notes: &[&str],
        own: Option<u64>,
    ) -> Result<Option<u64>, Fault> {
        let mark = comment::mark(&check.context);
        for page in 1..=PAGES {
            let mut url = self.repository.url(notes);
            url.set_query(Some(&format!("per_page={PAGE}&page={page}")));
            let found: Vec<Note> = client.call(&Call::get(url)).await?.parsed()?;
            let is_last = found.len() < PAGE;
            let is_ours = |note: &Note| {
                let author = note.author.as_ref().map(|author| author.id);
                author.is_some() && author == own && note.body.starts_with(&mark)
            };
            if let Some(note) = found.into_iter().find(is_ours) {
                return Ok(Some(note.id));
            }
            if is_last {
                break;
            }
        }
        Ok(None)
    }
}

/// Whether a status in state `now` needs nothing to show `new`: it is the same, or a running job should be queued.
fn is_shown(now: &str, outcome: Outcome) -> bool {
    now == word(outcome) || now == "running" && outcome == Outcome::Queued
}

impl Forge for GitLab {
    type Remote = GitLabRemote;

    fn place(&self) -> String {
        self.repository.to_string()
    }

    fn probe(&self, revision: Option<&str>) -> Call {
        Call::get(match revision {
            Some(revision) => self.repository.url(&["repository", "commits", revision]),
            None => self.repository.url(&[]),
        })
    }

    /// The role of the user, if it has one of the project or of its group: an administrator needs none.
    fn lacks(&self, project: &Answer) -> Option<String> {
        let permissions = &project.json()["permissions"];
        let level = |of: &str| permissions[of]["access_level"].as_u64();
        let level = level("project_access").max(level("group_access"))?;
        (level < DEVELOPER).then(|| {
            "the user of the token has a role below Developer in this project; the token needs the scope api and the role Developer".to_owned()
        })
    }

    fn shows(&self, check: &Check, remote: &GitLabRemote) -> bool {
        let outcome = outcome(check.state, check.detail);
        let is_noted = comment::pull_request(check).is_none()
            || remote
                .note
                .as_ref()
                .is_some_and(|(_, text)| *text == comment::text(check, NOTE));
        let now = remote.state.as_deref();
        now.is_some_and(|now| is_shown(now, outcome)) && is_noted
    }

    async fn write(
        &self,
        client: &Client,
        check: &Check,
        remote: &mut GitLabRemote,
    ) -> Result<(), Fault> {
        let outcome = outcome(check.state, check.detail);
        let now = remote.state.as_deref();
        if !now.is_some_and(|now| is_shown(now, outcome)) {
            self.write_status(client, check, remote).await?;
        }
        match comment::pull_request(check) {
            Some(number) => self.write_note(client, check, number, remote).await,
            None => Ok(()),
        }
    }

    fn overtaken(&self, remote: &mut GitLabRemote) {
        if let Some((_, text)) = &mut remote.note {
            text.clear();
        }
    }

    async fn find(
        &self,
        client: &Client,
        revision: &str,
        context: &str,
        remote: &mut GitLabRemote,
    ) -> Result<Option<Found>, Fault> {
        let mut newest: Option<Row> = None;
        for page in 1..=PAGES {
            let mut url = self
                .repository
                .url(&["repository", "commits", revision, "statuses"]);
            url.query_pairs_mut()
                .append_pair("name", context)
                .append_pair("all", "true")
                .append_pair("per_page", &PAGE.to_string())
                .append_pair("page", &page.to_string());
            let rows: Vec<Row> = client.call(&Call::get(url)).await?.parsed()?;
            let is_last = rows.len() < PAGE;
            let of_context = rows.into_iter().filter(|row| row.name == context);
            newest = of_context.chain(newest).max_by_key(|row| row.id);
            if is_last {
                break;
            }
        }
        remote.state = newest.as_ref().map(|row| row.status.clone());
        let author = newest.as_ref().and_then(|row| row.author.as_ref());
        remote.own = author.map(|author| author.id).or(remote.own);
        Ok(newest.map(|row| Found {
            state: state(&row.status),
            title: row.description.unwrap_or_default(),
        }))
    }

    /// Those that have the commit, or that a merge or squash made it for.
    async fn pull_requests(
        &self,
        client: &Client,
        commit: &str,
    ) -> Result<Vec<PullRequest>, Fault> {
        let parts = ["repository", "commits", commit, "merge_requests"];
        let mut url = self.repository.url(&parts);
        url.set_query(Some(&format!("per_page={PAGE}")));
        let call = Call::get(url).aside();
        let rows: Vec<MergeRequest> = client.call(&call).await?.parsed()?;
        if rows.len() >= PAGE {
            return Err(lately::too_many("too many merge requests have the commit"));
        }
        let found = rows.into_iter().map(|row| PullRequest {
            number: row.iid,
            is_merged: row.state == "merged",
            is_of_fork: row.source_project_id != Some(row.target_project_id),
        });
        Ok(found.collect())
    }
}
