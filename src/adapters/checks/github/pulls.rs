//! Pull requests that the daemon opens on GitHub.
//!
//! A list takes the owner and the branch of a head; one without an owner it ignores. A second open one of the same branches
//! is refused with 422 and words alone, and so is a branch that GitHub does not know yet, or whose commits it does not,
//! which happens a moment after a push.

use super::dialect;
use crate::adapters::checks::forge::{
    Answer, Branches, Call, Client, Dialect, Fault, Listed, PullRequestApi, Repository, Verdict,
    message,
};

/// The most pull requests of the same branches that are read, the newest.
const LISTED: usize = 20;
/// The words of GitHub for branches that it does not know yet.
const EARLY: [&str; 3] = [
    "head invalid",
    "head_sha missing_field",
    "No commits between",
];

/// The pull requests of a repository on GitHub.
#[derive(Debug)]
pub struct GitHubPulls {
    repository: Repository,
}

impl GitHubPulls {
    /// Those of `repository`.
    #[must_use]
    pub const fn new(repository: Repository) -> Self {
        Self { repository }
    }

    /// The headers and the pace that GitHub wants, and the meaning of its 422.
    #[must_use]
    pub fn dialect() -> Dialect {
        Dialect {
            verdict,
            ..dialect()
        }
    }
}

fn verdict(call: &Call, answer: &Answer) -> Option<Verdict> {
    let said = message(answer);
    let is_early =
        answer.status == 422 && call.is_change() && EARLY.iter().any(|words| said.contains(words));
    is_early.then(|| {
        Verdict::Fault(Fault::Early(format!(
            "{said}; it does not know the branch or its commits (yet)"
        )))
    })
}

impl PullRequestApi for GitHubPulls {
    const NEEDS: &'static str = "pull requests need the permission \"Pull requests: write\" of a GitHub App or a fine-grained token, or the scope repo of a classic one";
    const PAGE: &'static str = "pull";
    const LENGTH: &'static str = "per_page";

    fn repository(&self) -> &Repository {
        &self.repository
    }

    /// A token that may read and not write is answered as if nothing were there.
    fn unopened(&self, _: &Branches<'_>, said: &str) -> Fault {
        Fault::Denied(format!("{said}; {}", Self::NEEDS))
    }

    async fn find(
        &self,
        client: &Client,
        branches: &Branches<'_>,
    ) -> Result<Option<Listed>, Fault> {
        let owner = self.repository.id.path.first().map_or("", String::as_str);
        let mut url = self.repository.url(&["pulls"]);
        url.query_pairs_mut()
            .append_pair("head", &format!("{owner}:{}", branches.head))
            .append_pair("base", branches.base)
            .append_pair("state", "all")
            .append_pair("sort", "created")
            .append_pair("direction", "desc")
            .append_pair("per_page", &LISTED.to_string());
        let mut rows: Vec<Listed> = client.call(&Call::get(url)).await?.parsed()?;
        // An owner may have a fork of the own repository.
        rows.retain(|listed| listed.is_of(branches));
        let open = rows.iter().position(Listed::is_open);
        Ok(rows.into_iter().nth(open.unwrap_or(0)))
    }
}
