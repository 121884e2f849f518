//! Gitea and Forgejo: commit statuses; on a pull request, one comment, and findings on their lines (forges.md §3).
//!
//! A status is a new row each time; of a context, the row with the largest id counts. The API stores any state, so the
//! words of [`word`] are all that is ever sent. A comment needs a permission of its own (`write:issue`): without it
//! there is one warning, and statuses are written all the same.

mod comments;
mod pulls;
mod reviews;

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::adapters::checks::forge::aside::Aside;
use crate::adapters::checks::forge::client::{Client, Dialect};
use crate::adapters::checks::forge::comment;
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::index::Index;
use crate::adapters::checks::forge::outcome::{Outcome, outcome};
use crate::adapters::checks::forge::pull_request::PullRequest;
use crate::adapters::checks::forge::repository::Repository;
use crate::adapters::checks::forge::sink::{Forge, Found};
use crate::adapters::checks::forge::verdict::{Verdict, message};
use crate::adapters::checks::forge::wire::{Answer, Call};
use crate::adapters::checks::text::{Limit, line};
use crate::model::{Check, CheckState};
pub use pulls::GiteaPulls;
use reviews::{Person, Reviews};

/// Gitea stores any length; its pages show about this much.
const DESCRIPTION: Limit = Limit::Chars(255);
/// Gitea takes comments of any length; people do not.
const COMMENT: usize = 65_536;
/// How many statuses a page of the API has at most, and how many pages are read.
const PAGE: usize = 50;
const PAGES: usize = 20;

/// Where Gitea's answers mean something else than those of other forges.
fn own(call: &Call, answer: &Answer) -> Option<Verdict> {
    let said = message(answer);
    let is_aside = matches!(subject(call), Some("issues" | "pulls"));
    let refused = || Some(Verdict::Fault(Fault::Refused(said.clone())));
    match answer.status {
        // Statuses go on without comments and reviews.
        403 if is_aside => refused(),
        // A review that the server cannot write would fail again each time.
        500 if subject(call) == Some("pulls") && call.is_change() => refused(),
        // A commit that does not exist is answered like a fault of the server.
        500 if said.contains("object does not exist") => Some(Verdict::Fault(Fault::Gone(said))),
        _ => None,
    }
}

/// What of the repository a request is about, such as `statuses`.
fn subject(call: &Call) -> Option<&str> {
    let (_, of) = call.url.path().split_once("/api/v1/repos/")?;
    of.split('/').nth(2)
}

/// The state of a status. `warning` passes.
const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Queued | Outcome::Running => "pending",
        Outcome::Good => "success",
        Outcome::Warned => "warning",
        Outcome::Bad | Outcome::Approval => "failure",
        Outcome::Fault | Outcome::Superseded => "error",
    }
}

/// What a status says of a check; `skipped` is a word of newer versions.
fn state(word: &str) -> CheckState {
    match word {
        "pending" => CheckState::Pending,
        "success" | "warning" | "skipped" => CheckState::Success,
        "failure" => CheckState::Failure,
        _ => CheckState::Error,
    }
}

/// A repository on Gitea or Forgejo.
pub struct Gitea {
    repository: Repository,
    comments: Aside,
    reviews: Aside,
}

/// What Gitea has of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiteaRemote {
    /// The newest status.
    status: Option<Status>,
    /// The id of whoever the token belongs to.
    own: Option<u64>,
    /// The comment's id and text.
    comment: Option<(u64, String)>,
    /// What the lines of the pull request show, by its digest.
    lines: Option<String>,
}

/// What a status shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Status {
    context: String,
    state: String,
    description: String,
    target_url: String,
}

/// A status as Gitea answers it: the state is in `status` (LIVE).
#[derive(Deserialize)]
struct Row {
    id: u64,
    #[serde(default, alias = "state")]
    status: String,
    #[serde(default)]
    context: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    target_url: String,
    creator: Option<Person>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    #[serde(default)]
    body: String,
    user: Option<Person>,
}

impl Gitea {
    /// The repository.
    #[must_use]
    pub const fn new(repository: Repository) -> Self {
        Self {
            repository,
            comments: Aside::new("comment on pull requests"),
            reviews: Aside::new("review pull requests"),
        }
    }

    /// What Gitea wants of all requests.
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
        remote: &mut GiteaRemote,
    ) -> Result<(), Fault> {
        let status = status(check);
        let url = self.repository.url(&["statuses", &check.revision]);
        let answer = client
            .call(&Call::send(Method::POST, url, json!(status)))
            .await?;
        let row: Row = answer.parsed()?;
        remote.own = row.creator.map(|creator| creator.id);
        remote.status = Some(status);
        Ok(())
    }

    /// Changes the comment, or makes it.
    async fn write_comment(
        &self,
        client: &Client,
        check: &Check,
        pull: u64,
        remote: &mut GiteaRemote,
    ) -> Result<(), Fault> {
        let text = comment::text(check, COMMENT);
        let known = remote.comment.as_ref().map(|(id, _)| *id);
        let known = match known {
            Some(id) => Some(id),
            None => self.find_comment(client, check, pull, remote.own).await?,
        };
        let body = json!({ "body": text });
        if let Some(id) = known {
            let url = self
                .repository
                .url(&["issues", "comments", &id.to_string()]);
            match client
                .call(&Call::send(Method::PATCH, url, body.clone()))
                .await
            {
                // Somebody deleted it.
                Err(Fault::Absent(_)) => {}
                changed => {
                    changed?;
                    remote.comment = Some((id, text));
                    return Ok(());
                }
            }
        }
        let url = self
            .repository
            .url(&["issues", &pull.to_string(), "comments"]);
        let answer = client.call(&Call::send(Method::POST, url, body)).await?;
        let comment: Comment = answer.parsed()?;
        remote.comment = Some((comment.id, text));
        Ok(())
    }

    /// The comment of an earlier head: with our mark, and our own, since anybody can write the mark.
    async fn find_comment(
        &self,
        client: &Client,
        check: &Check,
        pull: u64,
        own: Option<u64>,
    ) -> Result<Option<u64>, Fault> {
        let url = self
            .repository
            .url(&["issues", &pull.to_string(), "comments"]);
        // All of them, whatever page is asked for (LIVE).
        let answer = client.call(&Call::get(url)).await?;
        let comments: Option<Vec<Comment>> = answer.parsed()?;
        let mark = comment::mark(&check.context);
        let is_ours = |comment: &Comment| {
            let user = comment.user.as_ref().map(|user| user.id);
            user.is_some() && user == own && comment.body.starts_with(&mark)
        };
        let found = comments.unwrap_or_default().into_iter().find(is_ours);
        Ok(found.map(|comment| comment.id))
    }

    /// Shows the findings on their lines, once: a review that was refused is not tried again with the same ones.
    async fn write_review(
        &self,
        client: &Client,
        check: &Check,
        pull: u64,
        remote: &mut GiteaRemote,
    ) -> Result<(), Fault> {
        let digest = reviews::digest(check);
        if digest.is_none() || digest == remote.lines {
            return Ok(());
        }
        let reviews = Reviews {
            repository: &self.repository,
            client,
            pull,
            own: remote.own,
        };
        let written = match reviews.show(check).await {
            // The repository may have no pull requests any more.
            Err(Fault::Absent(said) | Fault::Gone(said)) => Err(Fault::Refused(said)),
            written => written,
        };
        self.reviews.done(written, &self.repository)?;
        remote.lines = digest;
        Ok(())
    }
}

/// Whether the pull request shows this text.
fn is_commented(check: &Check, remote: &GiteaRemote) -> bool {
    let shown = remote.comment.as_ref().map(|(_, text)| text);
    shown.is_some_and(|shown| *shown == comment::text(check, COMMENT))
}

fn status(check: &Check) -> Status {
    Status {
        context: check.context.clone(),
        state: word(outcome(check.state, check.detail)).to_owned(),
        description: line(&check.title, DESCRIPTION),
        target_url: check.target_url.clone().unwrap_or_default(),
    }
}

impl Forge for Gitea {
    type Remote = GiteaRemote;

    fn place(&self) -> String {
        self.repository.to_string()
    }

    fn probe(&self, revision: Option<&str>) -> Call {
        Call::get(match revision {
            Some(revision) => self.repository.url(&["git", "commits", revision]),
            None => self.repository.url(&[]),
        })
    }

    /// The rights of the user; what scopes the token has is not in it.
    fn lacks(&self, repository: &Answer) -> Option<String> {
        let is_reader = repository.json()["permissions"]["push"] == false;
        is_reader.then(|| {
            "the user of the token has no permission to write to this repository: make it a collaborator with write access".to_owned()
        })
    }

    fn shows(&self, check: &Check, remote: &GiteaRemote) -> bool {
        let is_commented = comment::pull_request(check).is_none()
            || self.comments.is_refused()
            || is_commented(check, remote);
        let lines = reviews::digest(check);
        let is_reviewed = lines.is_none() || lines == remote.lines;
        remote.status == Some(status(check)) && is_commented && is_reviewed
    }

    async fn write(
        &self,
        client: &Client,
        check: &Check,
        remote: &mut GiteaRemote,
    ) -> Result<(), Fault> {
        if remote.status != Some(status(check)) {
            self.write_status(client, check, remote).await?;
        }
        let Some(pull) = comment::pull_request(check) else {
            return Ok(());
        };
        if !is_commented(check, remote) {
            let written = self.write_comment(client, check, pull, remote).await;
            self.comments.done(written, &self.repository)?;
        }
        self.write_review(client, check, pull, remote).await
    }

    fn overtaken(&self, remote: &mut GiteaRemote) {
        if let Some((_, text)) = &mut remote.comment {
            text.clear();
        }
        remote.lines = None;
    }

    async fn find(
        &self,
        client: &Client,
        revision: &str,
        context: &str,
        remote: &mut GiteaRemote,
    ) -> Result<Option<Found>, Fault> {
        for page in 1..=PAGES {
            let mut url = self.repository.url(&["commits", revision, "statuses"]);
            // The default order is by the second of creation, in which two rows can be the wrong way round (LIVE).
            let query = format!("sort=highestindex&page={page}&limit={PAGE}");
            url.set_query(Some(&query));
            let answer = client.call(&Call::get(url)).await?;
            let rows: Option<Vec<Row>> = answer.parsed()?;
            let rows = rows.unwrap_or_default();
            let is_last = rows.len() < PAGE;
            let of_context = rows.into_iter().filter(|row| row.context == context);
            if let Some(newest) = of_context.max_by_key(|row| row.id) {
                let found = Found {
                    state: state(&newest.status),
                    title: newest.description.clone(),
                };
                remote.own = newest.creator.map(|creator| creator.id);
                remote.status = Some(Status {
                    context: newest.context,
                    state: newest.status,
                    description: newest.description,
                    target_url: newest.target_url,
                });
                return Ok(Some(found));
            }
            if is_last {
                break;
            }
        }
        remote.status = None;
        Ok(None)
    }

    /// Gitea knows the commit that a merge ended in, and no other: the rest is found among what was merged lately.
    async fn pull_requests(
        &self,
        client: &Client,
        commit: &str,
    ) -> Result<Vec<PullRequest>, Fault> {
        let index = Index {
            repository: &self.repository,
            of_commit: self.repository.url(&["commits", commit, "pull"]),
            commit: self.repository.url(&["git", "commits", commit]),
            newest_first: "sort=recentupdate",
            page: "limit",
        };
        index.find::<false>(client, commit).await
    }
}
