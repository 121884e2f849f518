//! Which pull requests brought a commit in, as each forge says it: a server that knows these requests and no other.

use std::collections::BTreeMap;

use serde_json::json as value;

use super::*;
use crate::adapters::checks::azure_devops::{self, AzureDevOps};
use crate::adapters::checks::forge::{
    Bitbucket, Edition, Forge, ForgeSink, GitLab, Gitea, Repository,
};
use crate::adapters::checks::github::{self, Statuses};
use crate::model::cut;
use crate::model::{CommitSource, ErrorClass, ForgeKind, PullRequests as _};

/// Answers by request line; any other is none that the adapter may send.
pub(super) struct Known(pub(super) BTreeMap<String, (u16, Value)>);

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

pub(super) type Answers<'a> = &'a [(&'a str, u16, Value)];

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
    sink.source_of(HEAD).await
}

/// A pull request of GitHub or Gitea.
fn row(number: u64, head: Option<u64>, merged: bool) -> Value {
    let at = merged.then_some("2026-01-01T00:00:00Z");
    value!({"number": number, "merged_at": at, "merge_commit_sha": "5".repeat(40),
        "head": {"repo": head.map(|id| value!({"id": id}))}, "base": {"repo": {"id": 1}}})
}

const CLOSED: &str = "GET /repos/o/r/pulls?state=closed&sort=updated&direction=desc&per_page=50";

async fn on_github(answers: Answers<'_>) -> Result<CommitSource, AdapterError> {
    let repository = Repository::of(ForgeKind::GitHub, "git@github.com:o/r.git").unwrap();
    let forge = Statuses::new(repository);
    ask(forge, Scheme::Bearer, github::dialect(), answers).await
}

#[tokio::test(start_paused = true)]
async fn github_names_the_pull_requests_of_a_commit() {
    let of = "GET /repos/o/r/commits/HEAD/pulls?per_page=100";
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
    let many = (of, 200, value!(vec![row(7, Some(2), false); 100]));
    on_github(&[many]).await.unwrap_err();
    // A push. Its index may be late, so what was merged last is looked at.
    let none = (of, 200, value!([]));
    let own = (
        CLOSED,
        200,
        value!([row(6, Some(1), true), row(5, Some(2), false)]),
    );
    let found = on_github(&[none.clone(), own]).await;
    assert_eq!(found.unwrap(), CommitSource::Unlisted);
    let mut squashed = row(7, Some(2), true);
    squashed["merge_commit_sha"] = HEAD.into();
    let found = on_github(&[none, (CLOSED, 200, value!([squashed]))]).await;
    assert_eq!(found.unwrap(), CommitSource::Fork(7));
}

#[tokio::test(start_paused = true)]
async fn github_is_trusted_with_what_was_merged_more_than_a_day_ago() {
    let of = "GET /repos/o/r/commits/HEAD/pulls?per_page=100";
    let inside = "GET /repos/o/r/pulls/7/commits?per_page=50";
    let other = "5".repeat(40);
    for (at, expected) in [
        ("2025-12-31T00:00:00Z", CommitSource::Fork(7)),
        ("2025-12-30T23:59:59Z", CommitSource::Unlisted),
    ] {
        let mut fork = row(7, Some(2), true);
        fork["merged_at"] = at.into();
        let answers = [
            (of, 200, value!([])),
            (CLOSED, 200, value!([fork])),
            ("GET /repos/o/r/commits/HEAD", 200, said(HEAD, ASKING)),
            (inside, 200, value!([said(&other, ASKING)])),
        ];
        let found = on_github(&answers).await;
        assert_eq!(found.unwrap(), expected, "{at}");
    }
}

/// Without an answer nobody knows, and checks are written all the same.
#[tokio::test(start_paused = true)]
async fn what_github_does_not_say_is_not_known() {
    let of = "GET /repos/o/r/commits/HEAD/pulls?per_page=100";
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

const GITEA_OF: &str = "GET /api/v1/repos/o/r/commits/HEAD/pull";
const GITEA_CLOSED: &str = "GET /api/v1/repos/o/r/pulls?state=closed&sort=recentupdate&limit=50";
const GITEA_COMMIT: &str = "GET /api/v1/repos/o/r/git/commits/HEAD";
const GITEA_INSIDE: &str = "GET /api/v1/repos/o/r/pulls/7/commits?limit=50";
const ASKING: &str = "tidy up\n\nApprove: x\n";

async fn on_gitea(answers: Answers<'_>) -> Result<CommitSource, AdapterError> {
    let repository = Repository::of(ForgeKind::Gitea, "https://git.example/o/r").unwrap();
    let forge = Gitea::new(repository);
    ask(forge, Scheme::Bearer, Gitea::dialect(), answers).await
}

/// A commit of GitHub or Gitea, made when the test begins.
fn said(sha: &str, message: &str) -> Value {
    said_at(sha, message, "2026-01-01T00:00:00Z")
}

fn said_at(sha: &str, message: &str, at: &str) -> Value {
    value!({"sha": sha, "commit": {"message": message, "committer": {"date": at}}})
}

/// What Gitea answers to a question for a commit in the middle of a rebase.
fn in_the_middle() -> [(&'static str, u16, Value); 2] {
    let none = (GITEA_OF, 404, value!({"message": "not found"}));
    [none, (GITEA_COMMIT, 200, said(HEAD, ASKING))]
}

#[tokio::test(start_paused = true)]
async fn gitea_names_the_last_commit_of_a_merge_and_the_rest_is_found_by_message() {
    let found = on_gitea(&[(GITEA_OF, 200, row(7, Some(2), true))]).await;
    assert_eq!(found.unwrap(), CommitSource::Fork(7));
    let found = on_gitea(&[(GITEA_OF, 200, row(7, Some(1), true))]).await;
    assert_eq!(found.unwrap(), CommitSource::Own);
    let [none, own] = in_the_middle();
    let found = on_gitea(&[none.clone(), own.clone(), (GITEA_CLOSED, 200, Value::Null)]).await;
    assert_eq!(found.unwrap(), CommitSource::Unlisted);
    // A rebase or a fast-forward: in the middle of what a fork's pull request had.
    let forks = (GITEA_CLOSED, 200, value!([row(7, Some(2), true)]));
    let other = "5".repeat(40);
    for (commits, expected) in [
        (vec![said(HEAD, "other")], CommitSource::Fork(7)),
        (
            vec![said(&other, "tidy up\n\nApprove: x")],
            CommitSource::Fork(7),
        ),
        // Tools that rebase may clean a message up.
        (
            vec![said(&other, "tidy up \n\n\n#\nApprove:  x")],
            CommitSource::Fork(7),
        ),
        (vec![said(&other, "tidy up")], CommitSource::Unlisted),
    ] {
        let commits = (GITEA_INSIDE, 200, value!(commits));
        let found = on_gitea(&[none.clone(), forks.clone(), own.clone(), commits]).await;
        assert_eq!(found.unwrap(), expected);
    }
    let scope = "token does not have at least one of required scope(s)";
    let denied = (GITEA_OF, 403, value!({ "message": scope }));
    let words = on_gitea(&[denied]).await.unwrap_err().to_string();
    assert!(words.contains(scope));
}

/// Who may open pull requests, or comment on them, cannot hide one behind others.
#[tokio::test(start_paused = true)]
async fn gitea_is_asked_for_every_page_of_what_was_merged_lately() {
    let [none, own] = in_the_middle();
    let other = "5".repeat(40);
    let harmless = |many: usize| value!(vec![said(&other, "more"); many]);
    let asking = value!([said(&other, ASKING)]);
    let at = |mut row: Value, merged: &str, changed: &str| {
        row["merged_at"] = merged.into();
        row["updated_at"] = changed.into();
        row
    };
    let (today, long_ago) = ("2026-01-01T00:00:00Z", "2025-06-01T00:00:00Z");
    let the_one = at(row(7, Some(2), true), today, today);
    let second = |line: &str| format!("{line}&page=2");

    // Behind 50 commits.
    let forks = (GITEA_CLOSED, 200, value!([the_one]));
    let behind = second(GITEA_INSIDE);
    let answers = [
        none.clone(),
        own.clone(),
        forks.clone(),
        (GITEA_INSIDE, 200, harmless(50)),
        (&behind, 200, asking.clone()),
    ];
    let found = on_gitea(&answers).await;
    assert_eq!(found.unwrap(), CommitSource::Fork(7));

    // Behind more than are read.
    let mut answers = vec![none.clone(), own.clone(), forks];
    let pages: Vec<String> = (2..=5)
        .map(|page| format!("{GITEA_INSIDE}&page={page}"))
        .collect();
    answers.push((GITEA_INSIDE, 200, harmless(50)));
    answers.extend(pages.iter().map(|page| (page.as_str(), 200, harmless(50))));
    let error = on_gitea(&answers).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    let expected = "pull request 7 of a fork has 250 commits or more, so nobody can tell; approve in the commit that a pull request from a branch of this repository ends in";
    assert!(error.to_string().ends_with(expected), "{error}");

    // Behind 50 others that somebody commented on, which were merged long ago.
    let commented = |number| at(row(number, Some(2), true), long_ago, today);
    let others: Vec<Value> = (100..150).map(commented).collect();
    let next = second(GITEA_CLOSED);
    let answers = [
        none.clone(),
        own.clone(),
        (GITEA_CLOSED, 200, value!(others)),
        (&next, 200, value!([the_one])),
        (GITEA_INSIDE, 200, asking),
    ];
    let found = on_gitea(&answers).await;
    assert_eq!(found.unwrap(), CommitSource::Fork(7));

    // Behind more than are looked into.
    let fork = |number| at(row(number, Some(2), true), today, today);
    let forks: Vec<Value> = (1..=31).map(fork).collect();
    let forks = (GITEA_CLOSED, 200, value!(forks));
    let error = on_gitea(&[none, own, forks]).await.unwrap_err();
    let expected = "more than 30 pull requests of forks were merged lately";
    assert!(error.to_string().contains(expected), "{error}");
}

/// A long history of pull requests keeps nobody from approving in a push.
#[tokio::test(start_paused = true)]
async fn what_was_merged_long_ago_is_no_doubt_of_a_push() {
    let [none, own] = in_the_middle();
    let old = |number| {
        let mut row = row(number, Some(2), true);
        row["merged_at"] = "2025-06-01T00:00:00Z".into();
        row["updated_at"] = row["merged_at"].clone();
        row
    };
    let rows: Vec<Value> = (1..=50).map(old).collect();
    let closed = (GITEA_CLOSED, 200, value!(rows));
    let found = on_gitea(&[none.clone(), own, closed.clone()]).await;
    assert_eq!(found.unwrap(), CommitSource::Unlisted);
    // A commit that waited as long is compared with as much.
    let own = said_at(HEAD, ASKING, "2025-06-01T00:00:00Z");
    let next = format!("{GITEA_CLOSED}&page=2");
    let end = (next.as_str(), 200, value!([]));
    let error = on_gitea(&[none, (GITEA_COMMIT, 200, own), closed, end]).await;
    assert!(error.unwrap_err().to_string().contains("more than 30"));
}

#[tokio::test(start_paused = true)]
async fn gitlab_names_the_merge_requests_that_introduced_a_commit() {
    let of = "GET /api/v4/projects/o%2Fr/repository/commits/HEAD/merge_requests?per_page=100";
    let ask = async |answers: Answers<'_>| {
        let repository = Repository::of(ForgeKind::GitLab, "https://gitlab.com/o/r").unwrap();
        let scheme = Scheme::Header("private-token");
        ask(GitLab::new(repository), scheme, GitLab::dialect(), answers).await
    };
    let row = |source: Option<u64>| value!([{"iid": 7, "state": "merged", "source_project_id": source, "target_project_id": 1}]);
    for (rows, expected) in [
        (value!([]), CommitSource::Unlisted),
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
        let repository = Repository::of(ForgeKind::AzureDevOps, address).unwrap();
        let scheme = Scheme::Basic(String::new());
        let forge = AzureDevOps::new(repository);
        ask(forge, scheme, azure_devops::dialect(), answers).await
    };
    let none = (query.as_str(), 200, value!({"results": [{}, {}]}));
    let commit = format!("GET {path}/commits/HEAD?api-version=7.1");
    let said = |id: &str, comment: &str| value!({"commitId": id, "comment": comment, "committer": {"date": "2026-01-01T00:00:00Z"}});
    let commit = (commit.as_str(), 200, said(HEAD, ASKING));
    let completed = format!(
        "GET {path}/pullrequests?searchCriteria.status=completed&searchCriteria.queryTimeRangeType=closed&searchCriteria.minTime=2025-12-02T00:00:00Z&$top=100&$skip=0&api-version=7.1"
    );
    let inside = format!("GET {path}/pullRequests/7/commits?$top=100&api-version=7.1");
    let nothing = (completed.as_str(), 200, value!({"value": []}));
    let found = ask(&[none.clone(), commit.clone(), nothing]).await;
    assert_eq!(found.unwrap(), CommitSource::Unlisted);
    // A rebase.
    let fork = value!({"pullRequestId": 7, "status": "completed", "closedDate": "2025-12-31T23:59:59.1234567Z",
        "lastMergeCommit": {"commitId": "6".repeat(40)}, "forkSource": {"name": "refs/heads/x"}});
    let fork = (completed.as_str(), 200, value!({"value": [fork]}));
    let other = "5".repeat(40);
    let mut cut = said(&other, cut::head(ASKING, 10));
    cut["commentTruncated"] = true.into();
    for (row, expected) in [
        (said(&other, ASKING), CommitSource::Fork(7)),
        (cut, CommitSource::Fork(7)),
        (said(&other, "more"), CommitSource::Unlisted),
    ] {
        let inside = (inside.as_str(), 200, value!({"value": [row]}));
        let found = ask(&[none.clone(), commit.clone(), fork.clone(), inside]).await;
        assert_eq!(found.unwrap(), expected);
    }
    let many = vec![said(&other, "more"); 100];
    let inside = (inside.as_str(), 200, value!({"value": many}));
    let error = ask(&[none, commit, fork, inside]).await.unwrap_err();
    assert!(error.to_string().contains("100 commits or more"), "{error}");
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
            Edition::Cloud => (ForgeKind::Bitbucket, "https://bitbucket.org/ws/r"),
            Edition::DataCenter => (ForgeKind::Bitbucket, "https://h/scm/k/r.git"),
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
    let of = format!("GET {root}/commit/HEAD/pullrequests?pagelen=20");
    let one = format!("GET {root}/pullrequests/7");
    let merged = format!("GET {root}/pullrequests?state=MERGED&sort=-updated_on&pagelen=50");
    let commit = format!("GET {root}/commit/HEAD");
    let said = |id: &str, message: &str| value!({"hash": id, "message": message, "date": "2026-01-01T00:00:00+00:00"});
    let commit = (commit.as_str(), 200, said(HEAD, ASKING));
    let row = |from: Option<&str>| {
        let side =
            |uuid: Option<&str>| value!({"repository": uuid.map(|uuid| value!({"uuid": uuid}))});
        value!({"id": 7, "state": "MERGED", "source": side(from), "destination": side(Some("a")),
            "merge_commit": {"hash": cut::head(HEAD, 12)}})
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
        let found = ask(Edition::Cloud, &[none.clone(), commit.clone(), lately]).await;
        assert_eq!(found.unwrap(), expected);
    }
    // A rebase.
    let inside = format!("GET {root}/pullrequests/7/commits?pagelen=100");
    let mut rebased = row(Some("b"));
    rebased["merge_commit"] = value!({"hash": "666666666666"});
    rebased["updated_on"] = "2025-12-31T23:59:59.123456+00:00".into();
    let lately = (merged.as_str(), 200, value!({"values": [rebased]}));
    let other = "5".repeat(40);
    for (message, expected) in [
        (ASKING, CommitSource::Fork(7)),
        ("more", CommitSource::Unlisted),
    ] {
        let commits = value!({"values": [said(&other, "more"), said(&other, message)]});
        let inside = (inside.as_str(), 200, commits);
        let answers = [none.clone(), commit.clone(), lately.clone(), inside];
        let found = ask(Edition::Cloud, &answers).await;
        assert_eq!(found.unwrap(), expected);
    }
    let more = value!({"values": [said(&other, "more")], "next": "https://api.bitbucket.org/x"});
    let more = (inside.as_str(), 200, more);
    let error = ask(Edition::Cloud, &[none.clone(), commit, lately, more]).await;
    let words = error.unwrap_err().to_string();
    assert!(words.contains("more than 100 commits"), "{words}");
    // Without its index, and before that is made, nobody knows.
    let missing = ask(Edition::Cloud, &[(&of, 404, value!({}))]).await;
    let words = missing.unwrap_err().to_string();
    assert!(words.contains("Pull Request Commit Links"), "{words}");
    let later = ask(Edition::Cloud, &[(&of, 202, value!({}))]).await;
    assert_eq!(later.unwrap_err().class(), ErrorClass::Transient);
}
