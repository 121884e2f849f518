//! Check runs: title, Markdown and annotations, written by a GitHub App (forges.md §1a).
//!
//! Annotations go in batches of 50, and the conclusion with the last of them. GitHub appends annotations and
//! never reopens a completed run, so that a run which has to do either over is replaced by a new one of the
//! same name: GitHub shows the newest.

use http::Method;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{conversation, pull_requests};
use crate::adapters::checks::forge::{
    Buttons, Call, Client, Fault, Forge, Found, Outcome, PullRequest, Repository, digest,
    digest_of, outcome,
};
use crate::adapters::checks::text::{Limit, line, markdown};
use crate::model::{Annotation, Button, Check, CheckState};

/// In bytes, although GitHub's documentation says characters.
const SUMMARY: usize = 65_535;
const MESSAGE: Limit = Limit::Bytes(65_535);
const TITLE: Limit = Limit::Chars(255);
/// Annotations in one request.
const BATCH: usize = 50;
/// Annotations in all; each batch takes a second.
const MOST: usize = 500;

/// The check runs of a repository.
#[derive(Debug)]
pub struct CheckRuns {
    pub(super) repository: Repository,
    /// The number of the app, to find its own runs alone.
    app: Option<u64>,
}

/// A run, and what of a check it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    id: Option<u64>,
    /// The digests of the check and of its annotations.
    mark: String,
    completed: bool,
    /// How many of these annotations it has.
    annotations: usize,
    /// The id of the button that it shows.
    #[serde(default)]
    button: Option<String>,
    /// Runs up to this id do not count any more: a newer one took their place.
    #[serde(default)]
    past: u64,
}

#[derive(Deserialize)]
struct Created {
    id: u64,
}

#[derive(Deserialize)]
struct List {
    check_runs: Vec<Row>,
}

/// A run in a list.
#[derive(Deserialize)]
struct Row {
    id: u64,
    external_id: Option<String>,
    status: String,
    conclusion: Option<String>,
    output: Output,
}

#[derive(Deserialize)]
struct Output {
    title: Option<String>,
    #[serde(default)]
    annotations_count: usize,
}

impl Run {
    /// In place of this one, and later than it.
    fn next(&self) -> Self {
        Self {
            past: self.past.max(self.id.unwrap_or(0)),
            ..Self::default()
        }
    }
}

impl CheckRuns {
    /// Those that the app of this id (a number, or a client id) writes in `repository`.
    #[must_use]
    pub fn new(repository: Repository, app: &str) -> Self {
        let app = app.parse().ok();
        Self { repository, app }
    }

    /// Where our runs of a check are listed.
    fn runs_of(&self, revision: &str, context: &str) -> Url {
        let mut url = self.repository.url(&["commits", revision, "check-runs"]);
        url.query_pairs_mut()
            .append_pair("check_name", context)
            .append_pair("filter", "latest")
            .append_pair("per_page", "100");
        if let Some(app) = self.app {
            url.query_pairs_mut()
                .append_pair("app_id", &app.to_string());
        }
        url
    }

    /// Whether a run shows a button that nobody is to press any more.
    fn takes_button_back(&self, check: &Check, run: &Run) -> bool {
        let now = self.button(check).map(|button| &button.id);
        run.button.is_some() && run.button.as_ref() != now
    }

    /// The button of a check that ended. Without the number of the app nobody could tell whose button was pressed.
    fn button<'a>(&self, check: &'a Check) -> Option<&'a Button> {
        let is_offered = self.app.is_some() && outcome(check.state, check.detail).is_final();
        check.button.as_ref().filter(|_| is_offered)
    }

    async fn send(
        &self,
        client: &Client,
        check: &Check,
        run: &mut Run,
        batch: &[Annotation],
        is_last: bool,
    ) -> Result<(), Fault> {
        let mut body = body(check, batch, is_last, self.button(check));
        let call = match run.id {
            Some(id) => {
                let url = self.repository.url(&["check-runs", &id.to_string()]);
                Call::send(Method::PATCH, url, body)
            }
            None => {
                body["head_sha"] = check.revision.clone().into();
                let url = self.repository.url(&["check-runs"]);
                Call::send(Method::POST, url, body)
            }
        };
        let answer = client.call(&call).await?;
        let created: Created = answer
            .read()
            .map_err(|cause| Fault::Unclear(format!("its answer has no id: {cause}")))?;
        run.id = Some(created.id);
        run.mark = mark(check);
        run.annotations += batch.len();
        run.completed = is_last && outcome(check.state, check.detail).is_final();
        run.button = self.button(check).map(|button| button.id.clone());
        Ok(())
    }

    /// Sends what is missing, in as few requests as possible.
    async fn rest(&self, client: &Client, check: &Check, run: &mut Run) -> Result<(), Fault> {
        let annotations = shown(check);
        let rest = annotations.get(run.annotations..).unwrap_or_default();
        let mut batches: Vec<&[Annotation]> = rest.chunks(BATCH).collect();
        if batches.is_empty() {
            batches.push(&[]);
        }
        let count = batches.len();
        for (at, batch) in batches.into_iter().enumerate() {
            let sent = self.send(client, check, run, batch, at + 1 == count).await;
            if matches!(sent, Err(Fault::Refused(_))) && !batch.is_empty() {
                // It may be for an annotation. Without the rest of them the run still ends.
                self.send(client, check, run, &[], true).await?;
            }
            sent?;
        }
        Ok(())
    }
}

/// The annotations that are sent.
fn shown(check: &Check) -> &[Annotation] {
    &check.annotations[..check.annotations.len().min(MOST)]
}

/// Digests of the whole check and of its annotations, so that a run says itself what it shows.
fn mark(check: &Check) -> String {
    format!("{}.{}", digest(check), annotations_mark(check))
}

fn annotations_mark(check: &Check) -> String {
    digest_of(&check.annotations)
}

/// Whether GitHub would have to take something back.
fn is_new(check: &Check, run: &Run) -> bool {
    let goes_on = !outcome(check.state, check.detail).is_final();
    let of = run.mark.split_once('.').map(|(_, annotations)| annotations);
    let others = run.annotations > 0 && of != Some(&annotations_mark(check));
    run.id.is_none() || run.completed && goes_on || others
}

fn body(check: &Check, batch: &[Annotation], is_last: bool, button: Option<&Button>) -> Value {
    let mut output = json!({"title": title(check), "summary": summary(check)});
    if !batch.is_empty() {
        output["annotations"] = batch.iter().map(annotation).collect();
    }
    let mut body = json!({
        "name": check.context,
        "external_id": format!("{}#{}", check.context, mark(check)),
        "output": output,
    });
    let (status, conclusion) = match outcome(check.state, check.detail) {
        Outcome::Queued => ("queued", None),
        Outcome::Running => ("in_progress", None),
        _ if button.is_some() => ("completed", Some("action_required")),
        Outcome::Good => ("completed", Some("success")),
        Outcome::Warned => ("completed", Some("neutral")),
        Outcome::Bad | Outcome::Fault => ("completed", Some("failure")),
        Outcome::Superseded => ("completed", Some("cancelled")),
        Outcome::Approval => ("completed", Some("action_required")),
    };
    match conclusion.filter(|_| is_last) {
        Some(conclusion) => {
            body["status"] = status.into();
            body["conclusion"] = conclusion.into();
            if let Some(button) = button {
                body["actions"] = json!([action(button)]);
            }
        }
        None if conclusion.is_some() => body["status"] = "in_progress".into(),
        None => body["status"] = status.into(),
    }
    if let Some(url) = check.target_url.as_ref().filter(|url| !url.is_empty()) {
        body["details_url"] = url.clone().into();
    }
    body
}

/// A button, with texts of at most 20, 40 and 20 characters (forges.md §1a).
fn action(button: &Button) -> Value {
    let description = match button.losses.len() {
        1 => "Approve the loss listed above".to_owned(),
        count => format!("Approve the {count} losses listed above"),
    };
    json!({"label": "Approve", "description": description, "identifier": button.id})
}

/// GitHub refuses an empty title.
fn title(check: &Check) -> String {
    match line(&check.title, TITLE) {
        title if title.is_empty() => check.context.clone(),
        title => title,
    }
}

/// The summary within its limit, and how many annotations there is no room for. GitHub refuses an empty one.
fn summary(check: &Check) -> String {
    let end = match check.annotations.len() - shown(check).len() {
        0 => String::new(),
        more => format!("\n\n… {more} more annotations\n"),
    };
    let text = markdown(&check.summary, Limit::Bytes(SUMMARY - end.len()));
    match text.trim().is_empty() {
        true => title(check) + &end,
        false => text + &end,
    }
}

fn annotation(annotation: &Annotation) -> Value {
    let level = match annotation.level.as_str() {
        "error" => "failure",
        "warning" => "warning",
        _ => "notice",
    };
    let line = annotation.line.max(1);
    json!({
        "path": annotation.path,
        "start_line": line,
        "end_line": line,
        "annotation_level": level,
        "message": markdown(&annotation.message, MESSAGE),
    })
}

impl Forge for CheckRuns {
    type Remote = Run;

    fn place(&self) -> String {
        self.repository.to_string()
    }

    fn probe(&self, revision: Option<&str>) -> Call {
        Call::get(match revision {
            Some(revision) => self.repository.url(&["commits", revision]),
            None => self.repository.url(&[]),
        })
    }

    fn shows(&self, check: &Check, run: &Run) -> bool {
        let is_final = outcome(check.state, check.detail).is_final();
        let is_whole = run.annotations == shown(check).len();
        run.id.is_some() && run.mark == mark(check) && is_whole && run.completed == is_final
    }

    async fn write(&self, client: &Client, check: &Check, run: &mut Run) -> Result<(), Fault> {
        if is_new(check, run) || self.takes_button_back(check, run) {
            *run = run.next();
        }
        let is_update = run.id.is_some();
        match self.rest(client, check, run).await {
            // Somebody deleted it.
            Err(Fault::Absent(_)) if is_update => {
                *run = run.next();
                self.rest(client, check, run).await
            }
            done => done,
        }
    }

    async fn find(
        &self,
        client: &Client,
        revision: &str,
        context: &str,
        run: &mut Run,
    ) -> Result<Option<Found>, Fault> {
        let url = self.runs_of(revision, context);
        let answer = client.call(&Call::get(url)).await?;
        let list: List = answer
            .read()
            .map_err(|cause| Fault::Busy(cause.to_string()))?;
        let prefix = format!("{context}#");
        let past = run.past;
        let rows = list.check_runs.into_iter().filter(|row| row.id > past);
        let ours = rows.filter_map(|row| {
            let mark = row.external_id.as_deref()?.strip_prefix(&prefix)?;
            Some((mark.to_owned(), row))
        });
        let Some((mark, row)) = ours.max_by_key(|(_, row)| row.id) else {
            *run = run.next();
            return Ok(None);
        };
        *run = Run {
            id: Some(row.id),
            mark,
            completed: row.status == "completed",
            annotations: row.output.annotations_count,
            button: None,
            past,
        };
        Ok(Some(found(&row)))
    }

    fn renew(&self, run: &mut Run) {
        *run = run.next();
    }

    async fn pull_requests(
        &self,
        client: &Client,
        commit: &str,
    ) -> Result<Vec<PullRequest>, Fault> {
        pull_requests(&self.repository, client, commit).await
    }
}

impl Buttons for CheckRuns {
    fn app(&self) -> Option<u64> {
        self.app
    }

    async fn may_approve(&self, client: &Client, login: &str) -> Result<(), Fault> {
        let of = conversation(&self.repository, client);
        let Some(found) = of.permission(login).await? else {
            let stranger = format!("{login} is not a collaborator of the repository");
            return Err(Fault::Refused(stranger));
        };
        match found.may_write {
            true => Ok(()),
            false => Err(Fault::Refused(format!(
                "{login} may not write to the repository: the permission is {}",
                found.name.as_deref().unwrap_or("none")
            ))),
        }
    }
}

fn found(row: &Row) -> Found {
    let state = match row.conclusion.as_deref() {
        None => CheckState::Pending,
        Some("success" | "neutral" | "skipped") => CheckState::Success,
        Some("failure" | "action_required") => CheckState::Failure,
        Some(_) => CheckState::Error,
    };
    let title = row.output.title.clone().unwrap_or_default();
    Found { state, title }
}
