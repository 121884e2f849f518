//! The findings of a plan on the lines of a pull request: one review for each head that has new ones (forges.md §3).
//!
//! In: a check, and what is on the pull request. Out: a review with a comment per line, and the end of comments whose
//! finding is gone. A comment that still says what is found on its line stays as it is, also for the next head. One
//! that does not is resolved; where the server has no such call, as Forgejo and older ones, it stays, and the server
//! marks it as outdated once its line changes. Comments are never deleted: people answer them.
//!
//! The server takes a comment on any line, but shows no code with one outside the diff, so none is sent.

use std::slice::from_ref;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::adapters::checks::forge::client::Client;
use crate::adapters::checks::forge::comment;
use crate::adapters::checks::forge::diff::Shown;
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::outcome::{Outcome, outcome};
use crate::adapters::checks::forge::repository::Repository;
use crate::adapters::checks::forge::sent::digest_of;
use crate::adapters::checks::forge::wire::Call;
use crate::adapters::checks::lines::{MOST, lines};
use crate::adapters::checks::text::{Limit, markdown};
use crate::model::Check;

/// As for other comments: people do not read more.
const COMMENT: Limit = Limit::Chars(65_536);
/// How many reviews a page of the API has at most, and how many pages are read.
const PAGE: usize = 50;
const PAGES: usize = 20;
/// How many of our reviews are read, the newest.
const MOST_REVIEWS: usize = 20;

/// What the lines of a pull request show of a check, as a short text; `None` when the check says nothing about them.
pub(super) fn digest(check: &Check) -> Option<String> {
    let pull = comment::pull_request(check)?;
    let is_judged = match outcome(check.state, check.detail) {
        Outcome::Good | Outcome::Warned | Outcome::Approval => true,
        // Without a line, it is about the commit as a whole, such as a conflict: what is on lines is unknown.
        Outcome::Bad => !check.annotations.is_empty(),
        Outcome::Queued | Outcome::Running | Outcome::Fault | Outcome::Superseded => false,
    };
    is_judged.then(|| digest_of(&(pull, &check.annotations)))
}

/// Who wrote something.
#[derive(Deserialize)]
pub(super) struct Person {
    pub(super) id: u64,
}

/// A review in a list.
#[derive(Deserialize)]
struct Review {
    id: u64,
    #[serde(default)]
    state: String,
    #[serde(default)]
    body: String,
    user: Option<Person>,
}

/// A comment of a review.
#[derive(Deserialize)]
struct Comment {
    id: u64,
    #[serde(default)]
    body: String,
    user: Option<Person>,
    #[serde(default)]
    path: String,
    /// The line of the new file.
    #[serde(default)]
    position: u32,
    /// Who resolved it.
    resolver: Option<Person>,
}

/// A comment that is to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    path: String,
    line: u32,
    body: String,
}

impl Wanted {
    fn is_on(&self, comment: &Comment) -> bool {
        (&self.path, self.line) == (&comment.path, comment.position)
            && self.body.trim_end() == comment.body.trim_end()
    }
}

/// A comment per line with findings, those with errors first.
fn wanted(check: &Check) -> Vec<Wanted> {
    let mut lines = lines(check);
    lines.sort_by_key(|line| !line.is_error);
    let mark = comment::mark(&check.context);
    let wanted = |line: crate::adapters::checks::lines::Line| Wanted {
        body: markdown(&format!("{mark}\n{}", line.texts.join("\n\n")), COMMENT),
        path: line.path,
        line: line.line,
    };
    lines.into_iter().map(wanted).collect()
}

/// What is to change on a pull request.
struct Change {
    new: Vec<Wanted>,
    /// How many comments stay open.
    open: usize,
    /// The ids of comments whose finding is gone.
    gone: Vec<u64>,
}

impl Change {
    /// `own` tells whether people resolved a comment, who want to hear no more of it.
    fn of(wanted: Vec<Wanted>, known: &[Comment], own: Option<u64>) -> Self {
        let by_us = |comment: &Comment| {
            let by = comment.resolver.as_ref().map(|person| person.id);
            by.is_some() && by == own
        };
        let shown = || known.iter().filter(|comment| !by_us(comment));
        let open = || shown().filter(|comment| comment.resolver.is_none());
        let gone = open().filter(|comment| !wanted.iter().any(|one| one.is_on(comment)));
        let gone: Vec<u64> = gone.map(|comment| comment.id).collect();
        let open = open().count() - gone.len();
        let is_new = |one: &Wanted| !shown().any(|comment| one.is_on(comment));
        Self {
            new: wanted.into_iter().filter(is_new).collect(),
            open,
            gone,
        }
    }
}

/// The reviews of one pull request.
pub(super) struct Reviews<'a> {
    pub(super) repository: &'a Repository,
    pub(super) client: &'a Client,
    pub(super) pull: u64,
    /// The id of whoever the token belongs to: anybody can write a mark.
    pub(super) own: Option<u64>,
}

impl Reviews<'_> {
    /// Shows the findings of `check` on their lines, unless the head has moved on.
    pub(super) async fn show(&self, check: &Check) -> Result<(), Fault> {
        let known = self.known(&check.context).await?;
        let change = Change::of(wanted(check), &known, self.own);
        let is_same = change.new.is_empty() && change.gone.is_empty();
        if is_same || !self.is_head(&check.revision).await? {
            return Ok(());
        }
        self.add(check, change.new, change.open).await?;
        for id in change.gone {
            match self.resolve(id).await {
                // Somebody deleted it, or the server has no such call: it would have none for the others, either.
                Err(Fault::Absent(_)) => break,
                resolved => resolved?,
            }
        }
        Ok(())
    }

    /// Writes a review with the first of `new` that the diff shows.
    async fn add(&self, check: &Check, new: Vec<Wanted>, open: usize) -> Result<(), Fault> {
        if new.is_empty() {
            return Ok(());
        }
        let diff = self.client.call(&Call::get(self.url(".diff", &[]))).await?;
        let shown = Shown::of(&String::from_utf8_lossy(&diff.body));
        let all = new.len();
        let mut new = new;
        new.retain(|one| shown.contains(&one.path, one.line));
        new.truncate(MOST.saturating_sub(open));
        if new.is_empty() {
            return Ok(());
        }
        let comment =
            |one: &Wanted| json!({"path": one.path, "new_position": one.line, "body": one.body});
        let body = json!({
            "event": "COMMENT", "commit_id": check.revision, "body": summary(check, new.len(), all),
            "comments": new.iter().map(comment).collect::<Vec<_>>(),
        });
        let call = Call::send(Method::POST, self.url("", &["reviews"]), body);
        self.client.call(&call).await?;
        Ok(())
    }

    async fn resolve(&self, comment: u64) -> Result<(), Fault> {
        let id = comment.to_string();
        let url = self.repository.url(&["pulls", "comments", &id, "resolve"]);
        let call = Call::send(Method::POST, url, json!({}));
        self.client.call(&call).await.map(drop)
    }

    /// Whether the pull request still leads to this commit, and its diff is that of it: after a push, the server knows
    /// the new head at once, and moves the ref that its diff is made of a little later, until when it is too early.
    async fn is_head(&self, revision: &str) -> Result<bool, Fault> {
        let answer = self.client.call(&Call::get(self.url("", &[]))).await?;
        if answer.json()["head"]["sha"] != *revision {
            return Ok(false);
        }
        let number = self.pull.to_string();
        let url = self
            .repository
            .url(&["git", "refs", "pull", &number, "head"]);
        let answer = self.client.call(&Call::get(url)).await?.json();
        let refs = answer.as_array().map_or(from_ref(&answer), Vec::as_slice);
        match refs.iter().any(|one| one["object"]["sha"] == *revision) {
            true => Ok(true),
            false => Err(Fault::Early(format!(
                "refs/pull/{number}/head does not lead to this commit yet, so that no findings are shown on its lines"
            ))),
        }
    }

    /// Our comments of this context, on all heads.
    async fn known(&self, context: &str) -> Result<Vec<Comment>, Fault> {
        let mark = comment::mark(context);
        let (mut ours, mut begun) = (Vec::new(), Vec::new());
        for review in self.reviews().await? {
            match review.state.as_str() {
                "PENDING" => begun.push(review.id),
                _ if review.body.starts_with(&mark) => ours.push(review.id),
                _ => {}
            }
        }
        for id in begun {
            self.discard(id).await?;
        }
        let mut known = Vec::new();
        for id in ours.iter().rev().take(MOST_REVIEWS) {
            known.append(&mut self.comments(*id).await?);
        }
        known.retain(|comment| {
            self.is_own(comment.user.as_ref()) && comment.body.starts_with(&mark)
        });
        Ok(known)
    }

    /// Removes a review of ours that was begun and never sent, as when the server failed half-way: the next one would
    /// have its comments, too. One that somebody began with the same user would be sent, so there is none of ours.
    async fn discard(&self, review: u64) -> Result<(), Fault> {
        let comments = self.comments(review).await?;
        let is_ours = |comment: &Comment| comment.body.starts_with(comment::MARK);
        if comments.is_empty() || !comments.iter().all(is_ours) {
            let why = "the user of the token has begun a review that is not sent yet";
            return Err(Fault::Refused(why.to_owned()));
        }
        let url = self.url("", &["reviews", &review.to_string()]);
        let call = Call::send(Method::DELETE, url, json!({}));
        self.client.call(&call).await.map(drop)
    }

    /// Our reviews, oldest first.
    async fn reviews(&self) -> Result<Vec<Review>, Fault> {
        let mut all = Vec::new();
        for page in 1..=PAGES {
            let mut url = self.url("", &["reviews"]);
            url.set_query(Some(&format!("page={page}&limit={PAGE}")));
            let found: Vec<Review> = self.client.call(&Call::get(url)).await?.parsed()?;
            let is_last = found.len() < PAGE;
            all.extend(
                found
                    .into_iter()
                    .filter(|review| self.is_own(review.user.as_ref())),
            );
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    async fn comments(&self, review: u64) -> Result<Vec<Comment>, Fault> {
        let url = self.url("", &["reviews", &review.to_string(), "comments"]);
        self.client.call(&Call::get(url)).await?.parsed()
    }

    fn is_own(&self, user: Option<&Person>) -> bool {
        user.is_some() && user.map(|user| user.id) == self.own
    }

    fn url(&self, end: &str, parts: &[&str]) -> reqwest::Url {
        let pull = format!("{}{end}", self.pull);
        self.repository.url(&[&["pulls", &pull], parts].concat())
    }
}

/// The text above the comments.
fn summary(check: &Check, shown: usize, all: usize) -> String {
    let mark = comment::mark(&check.context);
    let commit = check.revision.get(..10).unwrap_or(&check.revision);
    let counted = |count: usize| format!("{count} line{}", if count == 1 { "" } else { "s" });
    let rest = match all - shown {
        0 => String::new(),
        rest => format!(
            "; for {} more, see the comment of this check",
            counted(rest)
        ),
    };
    let count = counted(shown);
    format!(
        "{mark}\n`{}` at {commit}: new findings on {count}{rest}",
        check.context
    )
}
