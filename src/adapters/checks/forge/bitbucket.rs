//! Bitbucket: build statuses, on bitbucket.org and on Data Center (forges.md §4).
//!
//! A commit has one status per key; the same key is overwritten. A key has 40 characters at most, so it is a digest of
//! the context, as Flux makes it.

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{Client, Dialect};
use super::fault::Fault;
use super::outcome::{Outcome, outcome};
use super::repository::Repository;
use super::sink::{Forge, Found};
use super::wire::Call;
use crate::adapters::checks::text::{Limit, line};
use crate::model::{Check, CheckState};

/// Of names and descriptions.
const TEXT: Limit = Limit::Chars(255);

/// The two products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// bitbucket.org.
    Cloud,
    /// Data Center and Server.
    DataCenter,
}

/// A repository on Bitbucket.
pub struct Bitbucket {
    repository: Repository,
    edition: Edition,
}

/// What Bitbucket has of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitbucketRemote {
    status: Option<Status>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Status {
    state: String,
    description: String,
    url: String,
}

/// The key of a context.
fn key(context: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, context.as_bytes());
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

impl Bitbucket {
    /// The repository.
    #[must_use]
    pub const fn new(repository: Repository, edition: Edition) -> Self {
        Self {
            repository,
            edition,
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
            verdict: |_, _| None,
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
            url: url.unwrap_or_else(|| self.page(&check.revision)),
        }
    }

    /// The page of a commit: a status without a URL is refused.
    pub(super) fn page(&self, revision: &str) -> String {
        let path = &self.repository.place.path;
        match self.edition {
            Edition::Cloud => {
                format!(
                    "https://bitbucket.org/{}/commits/{revision}",
                    path.join("/")
                )
            }
            Edition::DataCenter => {
                let (project, name) = (&path[0], &path[1]);
                let page = ["projects", project, "repos", name, "commits", revision];
                // The API is below `/rest`.
                let mut url = self.repository.rooted(&[]);
                if let Ok(mut parts) = url.path_segments_mut() {
                    parts.pop_if_empty().pop().extend(page);
                }
                url.to_string()
            }
        }
    }

    fn written(&self, revision: &str) -> reqwest::Url {
        match self.edition {
            Edition::Cloud => self
                .repository
                .url(&["commit", revision, "statuses", "build"]),
            Edition::DataCenter => self.repository.url(&["commits", revision, "builds"]),
        }
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
        remote.status == Some(self.status(check))
    }

    async fn write(
        &self,
        client: &Client,
        check: &Check,
        remote: &mut BitbucketRemote,
    ) -> Result<(), Fault> {
        let status = self.status(check);
        let body = json!({
            "key": key(&check.context), "name": line(&check.context, TEXT), "state": status.state,
            "description": status.description, "url": status.url,
        });
        let url = self.written(&check.revision);
        client.call(&Call::send(Method::POST, url, body)).await?;
        remote.status = Some(status);
        Ok(())
    }

    async fn find(
        &self,
        client: &Client,
        revision: &str,
        context: &str,
        remote: &mut BitbucketRemote,
    ) -> Result<Option<Found>, Fault> {
        let (mut url, key) = (self.written(revision), key(context));
        match self.edition {
            Edition::Cloud => {
                if let Ok(mut parts) = url.path_segments_mut() {
                    parts.push(&key);
                }
            }
            Edition::DataCenter => drop(url.query_pairs_mut().append_pair("key", &key)),
        }
        remote.status = None;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vector V14 of forges.md §8.
    #[test]
    fn a_key_is_the_digest_of_the_context() {
        for (context, expected) in [
            (
                "capstan/prod/plan",
                "cf5e1b6e542563259703cf4ad48cf677588c73b1",
            ),
            (
                "capstan/prod/sync",
                "d2d4f6cd5db6d749b463ac7522897c0fc2fc85ca",
            ),
        ] {
            assert_eq!(key(context), expected);
        }
    }
}
