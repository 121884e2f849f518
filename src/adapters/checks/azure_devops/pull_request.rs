//! A check on a pull request: the status of its iteration, and its threads.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::threads::{Listed, Place, Thread, Wanted, adopted, is_summary, wanted};
use super::{AzureDevOps, Posted, list, status};
use crate::adapters::checks::forge::{Client, Fault, Outcome, outcome};
use crate::adapters::checks::lines;
use crate::model::Check;

/// Azure DevOps returns at most this many changed files at once (forges.md §2b).
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
    /// Shows the check on the pull request, unless that is closed or its head has moved on.
    pub(super) async fn tell(
        &self,
        client: &Client,
        check: &Check,
        number: u64,
        posted: &mut Posted,
    ) -> Result<(), Fault> {
        let outcome = outcome(check.state, check.detail);
        // `notApplicable` would take the requirement off the pull request.
        if outcome == Outcome::Superseded || !self.is_open(client, number).await? {
            return Ok(());
        }
        let Some(at) = self.place(client, check, number, posted).await? else {
            return Ok(());
        };
        let mut status = status(check);
        status["iterationId"] = at.1.into();
        if posted.pull_request != status {
            let number = number.to_string();
            let call = self.post(&["pullRequests", &number, "statuses"], status.clone());
            client.call(&call).await?;
            posted.pull_request = status;
        }
        match outcome.is_final() {
            true => self.threads(client, check, at, posted).await,
            false => Ok(()),
        }
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

    /// The pull request and the iteration that the check belongs to; `None` if its head has moved on. A plan that
    /// begins may be for another iteration than the last one: a forced push can bring a head back.
    async fn place(
        &self,
        client: &Client,
        check: &Check,
        number: u64,
        posted: &mut Posted,
    ) -> Result<Option<(u64, u64)>, Fault> {
        let known = posted.iteration.filter(|at| at.0 == number);
        if known.is_some() && outcome(check.state, check.detail).is_final() {
            return Ok(known);
        }
        let iteration = self.iteration(client, number, &check.revision).await?;
        posted.iteration = iteration.map(|iteration| (number, iteration));
        if known.is_none() {
            // Another pull request has none of these.
            (posted.pull_request, posted.threads) = (Value::Null, None);
        }
        Ok(posted.iteration)
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
    async fn threads(
        &self,
        client: &Client,
        check: &Check,
        at: (u64, u64),
        posted: &mut Posted,
    ) -> Result<(), Fault> {
        if posted.threads.is_none() {
            let call = self.get(&["pullRequests", &at.0.to_string(), "threads"], "");
            let threads: Vec<Listed> = list(&client.call(&call).await?)?;
            let author = posted.author.as_deref();
            posted.threads = Some(adopted(threads, &check.context, author));
        }
        let known = posted.threads.get_or_insert_default();
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
fn unreadable(cause: serde_json::Error) -> Fault {
    Fault::Unclear(format!("its answer cannot be read: {cause}"))
}
