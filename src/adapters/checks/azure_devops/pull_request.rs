//! A check on a pull request: the status of its iteration, and its threads. One that is gone or closed, or that never had
//! this commit as its head, gets nothing.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::threads::{Listed, Place, Thread, Wanted, adopted, is_summary, wanted};
use super::{AzureDevOps, OnPullRequest, Posted, list, status};
use crate::adapters::checks::forge::{Client, Fault, Outcome, digest, outcome};
use crate::adapters::checks::lines;
use crate::model::Check;

/// Azure DevOps returns at most this many changed files at once.
const PAGE: usize = 2_000;
/// How many pages are read of a pull request.
const PAGES: usize = 50;

/// A pull request that is open; others are completed or abandoned.
const OPEN: &str = "active";

#[derive(Deserialize)]
struct PullRequest {
    status: String,
}

#[derive(Deserialize)]
struct Iteration {
    id: u64,
    #[serde(rename = "sourceRefCommit")]
    head: Option<Commit>,
}

#[derive(Deserialize)]
struct Commit {
    #[serde(rename = "commitId")]
    id: String,
}

#[derive(Deserialize)]
struct Changes {
    #[serde(rename = "changeEntries", default)]
    entries: Vec<Entry>,
    /// 0 at the end.
    #[serde(rename = "nextSkip", default)]
    next: usize,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "changeTrackingId")]
    id: u64,
    item: Option<Item>,
}

#[derive(Deserialize)]
struct Item {
    path: Option<String>,
}

#[derive(Deserialize)]
struct Created {
    id: u64,
    #[serde(default)]
    comments: Vec<CreatedComment>,
}

#[derive(Deserialize)]
struct CreatedComment {
    id: u64,
}

impl AzureDevOps {
    /// Shows the check on a pull request. What is refused there counts as reported.
    pub(super) async fn report(
        &self,
        client: &Client,
        check: &Check,
        number: u64,
        posted: &mut Posted,
    ) -> Result<(), Fault> {
        let Posted {
            author,
            pull_requests,
            ..
        } = posted;
        let on = pull_requests.entry(number).or_default();
        let written = self.write_on(client, check, number, author.as_deref(), on);
        match written.await {
            // It, or a thread, was deleted meanwhile.
            Err(Fault::Absent(said)) => {
                tracing::debug!(repository = %self.repository, number, error = said, "the pull request is gone");
            }
            written => written?,
        }
        on.reported = digest(check);
        Ok(())
    }

    async fn write_on(
        &self,
        client: &Client,
        check: &Check,
        number: u64,
        author: Option<&str>,
        on: &mut OnPullRequest,
    ) -> Result<(), Fault> {
        let at = match self.place(client, check, number, on).await {
            Ok(None) => return Ok(()),
            Ok(Some(at)) => at,
            Err(fault) => return self.pull_requests.done(Err(fault), &self.repository),
        };
        let status = status_on(check, at.1);
        if on.status != status {
            let parts = ["pullRequests", &number.to_string(), "statuses"];
            let written = client.call(&self.post(&parts, status.clone())).await;
            let is_refused = matches!(written, Err(Fault::Refused(_)));
            let written = written.map(drop);
            self.pull_requests.done(written, &self.repository)?;
            if is_refused {
                return Ok(());
            }
            on.status = status;
        }
        if has_threads(check, number) {
            let written = self.write_threads(client, check, at, author, on).await;
            self.threads.done(written, &self.repository)?;
        }
        Ok(())
    }

    /// Whether the pull request is open. A ref may outlive it.
    async fn is_open(&self, client: &Client, number: u64) -> Result<bool, Fault> {
        let call = self.get(&["pullRequests", &number.to_string()], "");
        let answer = match client.call(&call).await {
            Err(Fault::Absent(_)) => return Ok(false),
            answer => answer?,
        };
        let found: PullRequest = answer.read().map_err(unreadable)?;
        Ok(found.status == OPEN)
    }

    /// The pull request and the iteration that the check belongs to, if it is open and has that. A plan that begins may
    /// be for another iteration than the last one: a forced push can bring a head back.
    async fn place(
        &self,
        client: &Client,
        check: &Check,
        number: u64,
        on: &mut OnPullRequest,
    ) -> Result<Option<(u64, u64)>, Fault> {
        if !self.is_open(client, number).await? {
            return Ok(None);
        }
        if on.iteration.is_none() || !outcome(check.state, check.detail).is_final() {
            on.iteration = self.iteration(client, number, &check.revision).await?;
        }
        Ok(on.iteration.map(|iteration| (number, iteration)))
    }

    /// The iteration whose head is `revision`. None after a push that came meanwhile.
    async fn iteration(
        &self,
        client: &Client,
        number: u64,
        revision: &str,
    ) -> Result<Option<u64>, Fault> {
        let call = self.get(&["pullRequests", &number.to_string(), "iterations"], "");
        let answer = match client.call(&call).await {
            Err(Fault::Absent(_)) => return Ok(None),
            answer => answer?,
        };
        let iterations: Vec<Iteration> = list(&answer)?;
        let of_head = |one: &&Iteration| one.head.as_ref().is_some_and(|head| head.id == revision);
        let found = iterations.iter().filter(of_head);
        Ok(found.map(|one| one.id).max())
    }

    /// Opens, updates and closes the threads of the check.
    async fn write_threads(
        &self,
        client: &Client,
        check: &Check,
        at: (u64, u64),
        author: Option<&str>,
        on: &mut OnPullRequest,
    ) -> Result<(), Fault> {
        if on.threads.is_none() {
            let call = self.get(&["pullRequests", &at.0.to_string(), "threads"], "");
            let threads: Vec<Listed> = list(&client.call(&call).await?)?;
            on.threads = Some(adopted(threads, &check.context, author));
        }
        let known = on.threads.get_or_insert_default();
        let (mut new, mut kept) = (Vec::new(), Vec::new());
        for one in wanted(check) {
            kept.push(one.mark.clone());
            let is_there = match known.get_mut(&one.mark) {
                Some(thread) => exists(self.update(client, at.0, thread, &one).await)?,
                None => false,
            };
            if !is_there {
                known.remove(&one.mark);
                new.push(one);
            }
        }
        for (mark, thread) in known.iter_mut() {
            if !kept.contains(mark) && thread.open {
                exists(self.set_open(client, at.0, thread, false).await)?;
                thread.open = false;
            }
        }
        self.open(client, at, new, known).await
    }

    /// Opens threads, on lines that the pull request changes.
    async fn open(
        &self,
        client: &Client,
        at: (u64, u64),
        new: Vec<Wanted>,
        known: &mut BTreeMap<String, Thread>,
    ) -> Result<(), Fault> {
        let on_lines = known.iter().filter(|(mark, _)| !is_summary(mark));
        let opened = on_lines.filter(|(_, thread)| thread.open).count();
        let (mut changes, mut left) = (None, lines::MOST.saturating_sub(opened));
        for one in new {
            let mut body = one.body();
            if let Some(place) = &one.place {
                if left == 0 {
                    continue;
                }
                let changes = match &mut changes {
                    Some(changes) => changes,
                    none => none.insert(self.changes(client, at).await?),
                };
                let Some(id) = changes.get(&place.path) else {
                    continue;
                };
                left -= 1;
                body["threadContext"] = place.context();
                body["pullRequestThreadContext"] = tracked(*id, at.1);
            }
            let call = self.post(&["pullRequests", &at.0.to_string(), "threads"], body);
            let created: Created = client.call(&call).await?.read().map_err(unreadable)?;
            let comment = created.comments.first().map_or(1, |comment| comment.id);
            known.insert(one.mark.clone(), one.written(created.id, comment));
        }
        Ok(())
    }

    /// The changed files, and the ids by which threads follow them.
    async fn changes(
        &self,
        client: &Client,
        at: (u64, u64),
    ) -> Result<BTreeMap<String, u64>, Fault> {
        let (number, iteration) = (at.0.to_string(), at.1.to_string());
        let parts = ["pullRequests", &number, "iterations", &iteration, "changes"];
        let (mut found, mut skip) = (BTreeMap::new(), 0);
        for _ in 0..PAGES {
            let call = self.get(&parts, &format!("$top={PAGE}&$skip={skip}"));
            let page: Changes = client.call(&call).await?.read().map_err(unreadable)?;
            for entry in page.entries {
                let path = entry.item.and_then(|item| item.path);
                found.extend(path.map(|path| (path, entry.id)));
            }
            if page.next <= skip {
                break;
            }
            skip = page.next;
        }
        Ok(found)
    }

    async fn update(
        &self,
        client: &Client,
        number: u64,
        thread: &mut Thread,
        wanted: &Wanted,
    ) -> Result<(), Fault> {
        if thread.digest != wanted.digest() {
            let number = number.to_string();
            let (id, comment) = (thread.id.to_string(), thread.comment.to_string());
            let parts = [
                "pullRequests",
                &number,
                "threads",
                &id,
                "comments",
                &comment,
            ];
            let call = self.patch(&parts, json!({"content": wanted.content}));
            client.call(&call).await?;
            thread.digest = wanted.digest();
        }
        match thread.open == wanted.open {
            true => Ok(()),
            false => self.set_open(client, number, thread, wanted.open).await,
        }
    }

    async fn set_open(
        &self,
        client: &Client,
        number: u64,
        thread: &mut Thread,
        open: bool,
    ) -> Result<(), Fault> {
        let word = if open { "active" } else { "fixed" };
        let parts = [
            "pullRequests",
            &number.to_string(),
            "threads",
            &thread.id.to_string(),
        ];
        let call = self.patch(&parts, json!({"status": word}));
        client.call(&call).await?;
        thread.open = open;
        Ok(())
    }
}

/// The status on an iteration.
fn status_on(check: &Check, iteration: u64) -> Value {
    let mut status = status(check);
    if outcome(check.state, check.detail) == Outcome::Superseded {
        // `notApplicable` would take the requirement off the pull request.
        status["state"] = "error".into();
    }
    status["iterationId"] = iteration.into();
    status
}

/// Whether the check is the newest about this pull request, and says how its plan ended.
fn has_threads(check: &Check, number: u64) -> bool {
    let outcome = outcome(check.state, check.detail);
    let mut own = check.pull_requests();
    outcome.is_final() && outcome != Outcome::Superseded && own.any(|own| own == number)
}

/// Whether what was to change was there: somebody may have deleted the thread or its comment.
fn exists(changed: Result<(), Fault>) -> Result<bool, Fault> {
    match changed {
        Ok(()) => Ok(true),
        Err(Fault::Absent(_)) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Which file of which iteration a thread is on.
fn tracked(id: u64, iteration: u64) -> Value {
    json!({
        "changeTrackingId": id,
        "iterationContext": {
            "firstComparingIteration": 1,
            "secondComparingIteration": iteration,
        },
    })
}

impl Place {
    /// Both ends: the page of a pull request breaks with one.
    fn context(&self) -> Value {
        let end = json!({"line": self.line, "offset": 1});
        json!({"filePath": self.path, "rightFileStart": end, "rightFileEnd": end})
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map_err`.
pub(super) fn unreadable(cause: serde_json::Error) -> Fault {
    Fault::Unclear(format!("its answer cannot be read: {cause}"))
}
