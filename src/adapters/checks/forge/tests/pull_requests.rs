//! Which pull requests brought a commit in, as each forge says it: a server that knows these requests and no other.

use std::collections::BTreeMap;

use serde_json::json as value;

use super::*;
use crate::adapters::checks::azure_devops::{self, AzureDevOps};
use crate::adapters::checks::forge::{
    Bitbucket, Edition, Forge, ForgeSink, GitLab, Gitea, Provider, Repository,
};
use crate::adapters::checks::github::{self, Statuses};
use crate::model::{CheckSink as _, CommitSource, ErrorClass};

/// Answers by request line; any other is none that the adapter may send.
struct Known(BTreeMap<String, (u16, Value)>);

impl Server for Known {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        let known = self.0.get(&seen.line);
        let (status, body) = known.unwrap_or_else(|| panic!("{}", seen.line));
        if seen.line.starts_with("POST") {
            let queries = ["lastMergeCommit", "commit"];
            let queries = queries.map(|kind| value!({"type": kind, "items": [HEAD]}));
            assert_eq!(seen.body, value!({ "queries": queries }));
        }
        json(*status, body)
    }
}

type Answers<'a> = &'a [(&'a str, u16, Value)];

async fn ask<F: Forge>(
    forge: F,
    scheme: Scheme,
    dialect: Dialect,
    answers: Answers<'_>,
) -> Result<CommitSource, AdapterError> {
    let known = answers.iter().map(|(line, status, body)| {
        let line = line.replace("HEAD", HEAD);
        (line, (*status, body.clone()))
    });
    let fake = Fake::new(Known(known.collect()));
    let sink = ForgeSink::new(forge, client(&fake, scheme, dialect), None);
    let source = sink.source_of(HEAD).await;
    // Whatever it may not read, it may still write.
    assert_eq!(sink.rate_remaining(), None);
    source.map(|source| source.unwrap())
}

/// A pull request of GitHub or Gitea.
fn row(number: u64, head: Option<u64>, merged: bool) -> Value {
    let at = merged.then_some("2026-01-01T00:00:00Z");
    value!({"number": number, "merged_at": at, "merge_commit_sha": "5".repeat(40),
        "head": {"repo": head.map(|id| value!({"id": id}))}, "base": {"repo": {"id": 1}}})
}

const CLOSED: &str = "GET /repos/o/r/pulls?state=closed&sort=updated&direction=desc&per_page=50";

async fn on_github(answers: Answers<'_>) -> Result<CommitSource, AdapterError> {
    let repository = Repository::of(Provider::GitHub, "git@github.com:o/r.git").unwrap();
    let forge = Statuses::new(repository);
    ask(forge, Scheme::Bearer, github::dialect(), answers).await
}

#[tokio::test(start_paused = true)]
async fn github_names_the_pull_requests_of_a_commit() {
    let of = "GET /repos/o/r/commits/HEAD/pulls";
    for (rows, expected) in [
        (vec![row(7, Some(1), true)], CommitSource::Own),
        (vec![row(7, Some(2), true)], CommitSource::Fork(7)),
        // The fork is gone.
        (vec![row(7, None, true)], CommitSource::Fork(7)),
        (
            vec![row(7, Some(2), false), row(8, Some(1), true)],
            CommitSource::Own,
        ),
    ] {
        let found = on_github(&[(of, 200, value!(rows))]).await;
        assert_eq!(found.unwrap(), expected);
    }
    // A push. Its index may be late, so what was merged last is looked at.
    let none = (of, 200, value!([]));
    let own = (
        CLOSED,
        200,
        value!([row(6, Some(1), true), row(5, Some(2), false)]),
    );
    let found = on_github(&[none.clone(), own]).await;
    assert_eq!(found.unwrap(), CommitSource::Own);
    let mut squashed = row(7, Some(2), true);
    squashed["merge_commit_sha"] = HEAD.into();
    let found = on_github(&[none, (CLOSED, 200, value!([squashed]))]).await;
    assert_eq!(found.unwrap(), CommitSource::Fork(7));
}

/// Without an answer nobody knows, and checks are written all the same.
#[tokio::test(start_paused = true)]
async fn what_github_does_not_say_is_not_known() {
    let of = "GET /repos/o/r/commits/HEAD/pulls";
    let needs = value!({"message": "Resource not accessible by integration"});
    let denied = on_github(&[(of, 403, needs)]).await.unwrap_err();
    assert_eq!(denied.class(), ErrorClass::Invalid);
    assert!(denied.to_string().contains("Resource not accessible"));
    for (status, body) in [
        (500, value!({})),
        (200, value!("page")),
        (200, value!([{}])),
    ] {
        on_github(&[(of, status, body)]).await.unwrap_err();
    }
    let none = (of, 200, value!([]));
    on_github(&[none, (CLOSED, 502, value!({}))])
        .await
        .unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn gitea_names_the_last_commit_of_a_merge_and_the_rest_is_found_by_message() {
    let of = "GET /api/v1/repos/o/r/commits/HEAD/pull";
    let closed = "GET /api/v1/repos/o/r/pulls?state=closed&sort=recentupdate&limit=50";
    let commit = "GET /api/v1/repos/o/r/git/commits/HEAD";
    let inside = "GET /api/v1/repos/o/r/pulls/7/commits?limit=50";
    let ask = async |answers: Answers<'_>| {
        let repository = Repository::of(Provider::Gitea, "https://git.example/o/r").unwrap();
        ask(
            Gitea::new(repository),
            Scheme::Bearer,
            Gitea::dialect(),
            answers,
        )
        .await
    };
    let found = ask(&[(of, 200, row(7, Some(2), true))]).await;
    assert_eq!(found.unwrap(), CommitSource::Fork(7));
    let found = ask(&[(of, 200, row(7, Some(1), true))]).await;
    assert_eq!(found.unwrap(), CommitSource::Own);
    let none = (of, 404, value!({"message": "not found"}));
    let found = ask(&[none.clone(), (closed, 200, Value::Null)]).await;
    assert_eq!(found.unwrap(), CommitSource::Own);
    // A rebase or a fast-forward: in the middle of what a fork's pull request had.
    let forks = (closed, 200, value!([row(7, Some(2), true)]));
    let said = |sha: &str, message: &str| value!({"sha": sha, "commit": {"message": message}});
    let own = (commit, 200, said(HEAD, "tidy up\n\nApprove: x\n"));
    let other = "5".repeat(40);
    for (commits, expected) in [
        (vec![said(HEAD, "other")], CommitSource::Fork(7)),
        (
            vec![said(&other, "tidy up\n\nApprove: x")],
            CommitSource::Fork(7),
        ),
        (vec![said(&other, "tidy up")], CommitSource::Own),
    ] {
        let commits = (inside, 200, value!(commits));
        let found = ask(&[none.clone(), forks.clone(), own.clone(), commits]).await;
        assert_eq!(found.unwrap(), expected);
    }
    let scope = "token does not have at least one of required scope(s)";
    let denied = (of, 403, value!({ "message": scope }));
    assert!(
        ask(&[denied])
            .await
            .unwrap_err()
            .to_string()
            .contains(scope)
    );
}

#[tokio::test(start_paused = true)]
async fn gitlab_names_the_merge_requests_that_introduced_a_commit() {
    let of = "GET /api/v4/projects/o%2Fr/repository/commits/HEAD/merge_requests?per_page=100";
    let ask = async |answers: Answers<'_>| {
        let repository = Repository::of(Provider::GitLab, "https://gitlab.com/o/r").unwrap();
        let scheme = Scheme::Header("private-token");
        ask(GitLab::new(repository), scheme, GitLab::dialect(), answers).await
    };
    let row = |source: Option<u64>| value!([{"iid": 7, "state": "merged", "source_project_id": source, "target_project_id": 1}]);
    for (rows, expected) in [
        (value!([]), CommitSource::Own),
        (row(Some(1)), CommitSource::Own),
        (row(Some(2)), CommitSource::Fork(7)),
        (row(None), CommitSource::Fork(7)),
    ] {
        let found = ask(&[(of, 200, rows)]).await;
        assert_eq!(found.unwrap(), expected);
    }
    let missing = (of, 404, value!({"message": "404 Commit Not Found"}));
    ask(&[missing]).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn azure_devops_names_the_pull_requests_that_merged_a_commit() {
    let path = "/org/p/_apis/git/repositories/r";
    let query = format!("POST {path}/pullrequestquery?api-version=7.1");
    let get = format!("GET {path}/pullRequests/7?api-version=7.1");
    let ask = async |answers: Answers<'_>| {
        let address = "https://dev.azure.com/org/p/_git/r";
        let repository = Repository::of(Provider::AzureDevOps, address).unwrap();
        let scheme = Scheme::Basic(String::new());
        let forge = AzureDevOps::new(repository);
        ask(forge, scheme, azure_devops::dialect(), answers).await
    };
    let found = ask(&[(&query, 200, value!({"results": [{}, {}]}))]).await;
    assert_eq!(found.unwrap(), CommitSource::Own);
    let results = value!({"results": [{HEAD: [{"pullRequestId": 7}]}, {}]});
    let merged = (query.as_str(), 200, results);
    let own = (get.as_str(), 200, value!({"status": "completed"}));
    let found = ask(&[merged.clone(), own]).await;
    assert_eq!(found.unwrap(), CommitSource::Own);
    let fork = value!({"status": "completed", "forkSource": {"name": "refs/heads/x"}});
    let found = ask(&[merged, (&get, 200, fork)]).await;
    assert_eq!(found.unwrap(), CommitSource::Fork(7));
    let scope = (query.as_str(), 401, value!({"message": "TF400813"}));
    ask(&[scope]).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn bitbucket_names_the_pull_requests_of_a_commit() {
    let ask = async |edition, answers: Answers<'_>| {
        let (provider, address) = match edition {
            Edition::Cloud => (Provider::BitbucketCloud, "https://bitbucket.org/ws/r"),
            Edition::DataCenter => (Provider::BitbucketServer, "https://h/scm/k/r.git"),
        };
        let forge = Bitbucket::new(Repository::of(provider, address).unwrap(), edition);
        ask(forge, Scheme::Pair, Bitbucket::dialect(), answers).await
    };
    let of = "GET /rest/api/latest/projects/k/repos/r/commits/HEAD/pull-requests?limit=100";
    for (from, expected) in [(1, CommitSource::Own), (2, CommitSource::Fork(7))] {
        let side = |id: u64| value!({"repository": {"id": id}});
        let row = value!({"id": 7, "state": "MERGED", "fromRef": side(from), "toRef": side(1)});
        let answer = (of, 200, value!({ "values": [row] }));
        let found = ask(Edition::DataCenter, &[answer]).await;
        assert_eq!(found.unwrap(), expected);
    }

    let root = "/2.0/repositories/ws/r";
    let of = format!("GET {root}/commit/HEAD/pullrequests?pagelen=5");
    let one = format!("GET {root}/pullrequests/7");
    let merged = format!("GET {root}/pullrequests?state=MERGED&sort=-updated_on&pagelen=50");
    let row = |from: Option<&str>| {
        let side =
            |uuid: Option<&str>| value!({"repository": uuid.map(|uuid| value!({"uuid": uuid}))});
        value!({"id": 7, "state": "MERGED", "source": side(from), "destination": side(Some("a")),
            "merge_commit": {"hash": HEAD[..12]}})
    };
    let known = (of.as_str(), 200, value!({"values": [{"id": 7}]}));
    let none = (of.as_str(), 200, value!({"values": []}));
    for (from, expected) in [
        (Some("a"), CommitSource::Own),
        (Some("b"), CommitSource::Fork(7)),
        (None, CommitSource::Fork(7)),
    ] {
        let found = ask(Edition::Cloud, &[known.clone(), (&one, 200, row(from))]).await;
        assert_eq!(found.unwrap(), expected);
        let lately = (merged.as_str(), 200, value!({"values": [row(from)]}));
        let found = ask(Edition::Cloud, &[none.clone(), lately]).await;
        assert_eq!(found.unwrap(), expected);
    }
    // Without its index, and before that is made, nobody knows.
    let missing = ask(Edition::Cloud, &[(&of, 404, value!({}))]).await;
    let words = missing.unwrap_err().to_string();
    assert!(words.contains("Pull Request Commit Links"), "{words}");
    let later = ask(Edition::Cloud, &[(&of, 202, value!({}))]).await;
    assert_eq!(later.unwrap_err().class(), ErrorClass::Transient);
}
