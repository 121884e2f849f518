//! What the two products call the things of a commit, and where these are.

use crate::adapters::checks::forge::repository::Repository;
use crate::model::hex;
use reqwest::Url;

/// The two products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// bitbucket.org.
    Cloud,
    /// Data Center and Server.
    DataCenter,
}

/// The key of a context.
pub(super) fn key(context: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, context.as_bytes());
    hex(digest.as_ref())
}

/// Where the statuses of a commit are written.
pub(super) fn statuses(repository: &Repository, edition: Edition, revision: &str) -> Url {
    match edition {
        Edition::Cloud => repository.url(&["commit", revision, "statuses", "build"]),
        Edition::DataCenter => repository.url(&["commits", revision, "builds"]),
    }
}

/// Where the report of a context on a commit is.
pub(super) fn report(
    repository: &Repository,
    edition: Edition,
    revision: &str,
    context: &str,
) -> Url {
    let key = key(context);
    match edition {
        Edition::Cloud => repository.url(&["commit", revision, "reports", &key]),
        Edition::DataCenter => {
            let (project, name) = (&repository.id.path[0], &repository.id.path[1]);
            let root = ["insights", "latest", "projects", project, "repos", name];
            let report = ["commits", revision, "reports", &key];
            repository.rooted(&[&root[..], &report].concat())
        }
    }
}

/// The page of a commit: a status without a URL is refused.
pub(super) fn page(repository: &Repository, edition: Edition, revision: &str) -> String {
    let path = &repository.id.path;
    match edition {
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
            let mut url = repository.rooted(&[]);
            if let Ok(mut parts) = url.path_segments_mut() {
                parts.pop_if_empty().pop().extend(page);
            }
            url.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ForgeKind;

    #[test]
    fn each_edition_has_its_own_places() {
        let cloud = Repository::of(ForgeKind::Bitbucket, "git@bitbucket.org:ws/fleet.git");
        let own = "https://h:7990/ctx/scm/~me/fleet.git";
        let own = Repository::of(ForgeKind::Bitbucket, own);
        let places = |repository: &Repository, edition| {
            let report = report(repository, edition, "c0", "capstan/prod/plan").to_string();
            [page(repository, edition, "c0"), report]
        };
        let key = "cf5e1b6e542563259703cf4ad48cf677588c73b1";
        let cloud = places(&cloud.expect("an address"), Edition::Cloud);
        assert_eq!(cloud[0], "https://bitbucket.org/ws/fleet/commits/c0");
        let expected = "https://api.bitbucket.org/2.0/repositories/ws/fleet/commit/c0/reports";
        assert_eq!(cloud[1], format!("{expected}/{key}"));
        let own = places(&own.expect("an address"), Edition::DataCenter);
        let expected = "https://h:7990/ctx/projects/~me/repos/fleet/commits/c0";
        assert_eq!(own[0], expected);
        let expected =
            "https://h:7990/ctx/rest/insights/latest/projects/~me/repos/fleet/commits/c0/reports";
        assert_eq!(own[1], format!("{expected}/{key}"));
    }

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
