//! Bitbucket: build statuses, and Code Insights, on bitbucket.org and on Data Center (forges.md §4).
//!
//! A commit has one status per key; the same key is overwritten. A key has 40 characters at most, so it is a digest of
//! the context, as Flux makes it. A report of the same key has the findings on their lines; where Code Insights are
//! refused there is one warning, and statuses are written all the same.

mod comments;
mod insights;
mod place;
mod pull_requests;

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::adapters::checks::forge::aside::Aside;
use crate::adapters::checks::forge::client::{Client, Dialect};
use crate::adapters::checks::forge::fault::Fault;
use crate::adapters::checks::forge::outcome::{Outcome, outcome};
use crate::adapters::checks::forge::pull_request::PullRequest;
use crate::adapters::checks::forge::repository::Repository;
use crate::adapters::checks::forge::sink::{Forge, Found};
use crate::adapters::checks::forge::verdict::{Verdict, message};
use crate::adapters::checks::forge::wire::{Answer, Call};
use crate::adapters::checks::text::{Limit, line};
use crate::model::{Check, CheckState};
use insights::Report;
pub use place::Edition;
use place::{key, page, report, statuses};

/// Of names and descriptions.
const TEXT: Limit = Limit::Chars(255);

/// Where Bitbucket's answers mean something else than those of other forges.
fn own(call: &Call, answer: &Answer) -> Option<Verdict> {
    let said = message(answer);
    let is_report = is_report(call);
    match answer.status {
        // A report that the server cannot write would fail again each time. Statuses go on without it.
        403 if is_report => Some(Verdict::Fault(Fault::Refused(format!(
            "it answered 403: {said}"
        )))),
        500 if is_report && call.is_change() => Some(Verdict::Fault(Fault::Refused(format!(
            "it answered 500: {said}"
        )))),
        403 => {
            let needs = required(answer)?;
            Some(Verdict::Fault(Fault::Denied(format!(
                "it answered 403: {said}; the token needs {needs}"
            ))))
        }
        _ => None,
    }
}

/// Whether this is about a report: `reports` is followed by its key.
fn is_report(call: &Call) -> bool {
    let of = call.url.path().rsplit_once("/reports/");
    of.is_some_and(|(_, rest)| {
        let key = rest.strip_suffix("/annotations").unwrap_or(rest);
        key.len() == 40 && key.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The scopes that bitbucket.org asks for.
fn required(answer: &Answer) -> Option<String> {
    let json = answer.json();
    let scopes = json["error"]["detail"]["required"].as_array()?;
    let scopes: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
    (!scopes.is_empty()).then(|| line(&scopes.join(", "), TEXT))
}

/// A repository on Bitbucket.
pub struct Bitbucket {
    repository: Repository,
    edition: Edition,
    insights: Aside,
}

/// What Bitbucket has of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitbucketRemote {
    status: Option<Status>,
    /// What the report shows, by its digest; empty when that is unknown.
    report: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Status {
    state: String,
    description: String,
    url: String,
}

impl Bitbucket {
    /// The repository.
    #[must_use]
    pub const fn new(repository: Repository, edition: Edition) -> Self {
        Self {
            repository,
            edition,
            insights: Aside::new("write Code Insights"),
        }
    }

    /// What Bitbucket wants of all requests.
    #[must_use]
    pub fn dialect() -> Dialect {
        Dialect {
            // Else Data Center takes a request for one that a browser was tricked into.
            headers: vec![
                ("accept", "application/json"),
                ("x-atlassian-token", "no-check"),
            ],
            spacing: Duration::ZERO,
            verdict: own,
        }
    }

    const fn word(&self, outcome: Outcome) -> &'static str {
        match (outcome, self.edition) {
            (Outcome::Queued | Outcome::Running, _) => "INPROGRESS",
            (Outcome::Good | Outcome::Warned, _) => "SUCCESSFUL",
            (Outcome::Bad | Outcome::Fault | Outcome::Approval, _) => "FAILED",
            (Outcome::Superseded, Edition::Cloud) => "STOPPED",
            (Outcome::Superseded, Edition::DataCenter) => "CANCELLED",
        }
    }

    fn status(&self, check: &Check) -> Status {
        let url = check.target_url.clone().filter(|url| !url.is_empty());
        Status {
            state: self.word(outcome(check.state, check.detail)).to_owned(),
            description: line(&check.title, TEXT),
            url: url.unwrap_or_else(|| page(&self.repository, self.edition, &check.revision)),
        }
    }

    /// Shows the findings on their lines, once: a report that was refused is not tried again with the same ones.
    async fn write_report(
        &self,
        client: &Client,
        check: &Check,
        remote: &mut BitbucketRemote,
    ) -> Result<(), Fault> {
        let digest = insights::digest(check);
        if digest.is_none() || digest == remote.report {
            return Ok(());
        }
        let (revision, context) = (&check.revision, &check.context);
        let report = Report {
            client,
            edition: self.edition,
            url: report(&self.repository, self.edition, revision, context),
        };
        // Until all of it is written, it is unknown what is there.
        let may_exist = remote.report.replace(String::new()).is_some();
        let written = match report.replace(check, may_exist).await {
            // The commit is there: Code Insights are not.
            Err(Fault::Absent(said)) => Err(Fault::Refused(said)),
            written => written,
        };
        self.insights.done(written, &self.repository)?;
        remote.report = digest;
        Ok(())
    }
}

impl Forge for Bitbucket {
    type Remote = BitbucketRemote;

    fn place(&self) -> String {
        self.repository.to_string()
    }

    fn probe(&self, revision: Option<&str>) -> Call {
        let commit = match self.edition {
            Edition::Cloud => "commit",
            Edition::DataCenter => "commits",
        };
        Call::get(match revision {
            Some(revision) => self.repository.url(&[commit, revision]),
            None => self.repository.url(&[]),
        })
    }

    fn shows(&self, check: &Check, remote: &BitbucketRemote) -> bool {
        let report = insights::digest(check);
        let is_reported = report.is_none() || report == remote.report;
        remote.status == Some(self.status(check)) && is_reported
    }

    async fn write(
        &self,
        client: &Client,
        check: &Check,
        remote: &mut BitbucketRemote,
    ) -> Result<(), Fault> {
        let status = self.status(check);
        if remote.status.as_ref() != Some(&status) {
            let body = json!({
                "key": key(&check.context), "name": line(&check.context, TEXT), "state": status.state,
                "description": status.description, "url": status.url,
            });
            let url = statuses(&self.repository, self.edition, &check.revision);
            client.call(&Call::send(Method::POST, url, body)).await?;
            remote.status = Some(status);
        }
        self.write_report(client, check, remote).await
    }

    async fn find(
        &self,
        client: &Client,
        revision: &str,
        context: &str,
        remote: &mut BitbucketRemote,
    ) -> Result<Option<Found>, Fault> {
        let (mut url, key) = (
            statuses(&self.repository, self.edition, revision),
            key(context),
        );
        match self.edition {
            Edition::Cloud => {
                if let Ok(mut parts) = url.path_segments_mut() {
                    parts.push(&key);
                }
            }
            Edition::DataCenter => drop(url.query_pairs_mut().append_pair("key", &key)),
        }
        (remote.status, remote.report) = (None, Some(String::new()));
        let answer = match client.call(&Call::get(url)).await {
            // None of this key.
            Err(Fault::Absent(_)) => return Ok(None),
            answer => answer?.json(),
        };
        let text = |key: &str| {
            let value = answer.get(key).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let status = Status {
            state: text("state"),
            description: text("description"),
            url: text("url"),
        };
        let found = Found {
            state: match status.state.as_str() {
                "INPROGRESS" => CheckState::Pending,
                "SUCCESSFUL" => CheckState::Success,
                "FAILED" => CheckState::Failure,
                _ => CheckState::Error,
            },
            title: status.description.clone(),
        };
        remote.status = Some(status);
        Ok(Some(found))
    }

    async fn pull_requests(
        &self,
        client: &Client,
        commit: &str,
    ) -> Result<Vec<PullRequest>, Fault> {
        pull_requests::find(&self.repository, self.edition, client, commit).await
    }
}
