//! Checks on GitHub (forges.md §1).
//!
//! In: checks. Out: check runs, which only a GitHub App may write, or commit statuses, which any token may.
//! The two are never mixed under one name: both would be required. [`App`] is the identity of an app, also
//! for git over HTTPS.

mod app;
mod app_keys;
mod check_runs;
mod comments;
mod pulls;
mod statuses;

use std::time::Duration;

use super::forge::{
    Answer, Call, Client, Conversation, Dialect, Fault, Index, MOST_OF_COMMIT, PullRequest,
    Repository, Verdict, message,
};

pub use app::App;
pub use app_keys::AppKeys;
pub use check_runs::CheckRuns;
pub use pulls::GitHubPulls;
pub use statuses::Statuses;

#[cfg(test)]
mod tests;

/// What GitHub wants of all requests: a second between changes, and the version of the API.
#[must_use]
pub fn dialect() -> Dialect {
    Dialect {
        headers: vec![
            ("accept", "application/vnd.github+json"),
            ("x-github-api-version", "2022-11-28"),
        ],
        spacing: Duration::from_secs(1),
        verdict,
    }
}

/// Finds the pull requests of a commit. GitHub lists those that were merged, also into other branches, and open ones.
async fn pull_requests(
    repository: &Repository,
    client: &Client,
    commit: &str,
) -> Result<Vec<PullRequest>, Fault> {
    let mut of_commit = repository.url(&["commits", commit, "pulls"]);
    of_commit.set_query(Some(&format!("per_page={MOST_OF_COMMIT}")));
    let index = Index {
        repository,
        of_commit,
        commit: repository.url(&["commits", commit]),
        newest_first: "sort=updated&direction=desc",
        page: "per_page",
    };
    index.find::<true>(client, commit).await
}

/// The pull requests of `repository`.
const fn conversation<'a>(repository: &'a Repository, client: &'a Client) -> Conversation<'a> {
    Conversation {
        repository,
        client,
        page: "per_page",
    }
}

/// 422 says why in words alone (forges.md §1a, §1b).
fn verdict(_: &Call, answer: &Answer) -> Option<Verdict> {
    if answer.status != 422 {
        return None;
    }
    let said = message(answer);
    let fault = match () {
        () if said.contains("No commit found") => Fault::Gone(said),
        () if said.contains("maximum number of statuses") => Fault::Full(said),
        () => return None,
    };
    Some(Verdict::Fault(fault))
}
