//! Pull requests that the daemon opens, on a strict GitHub. Its rules are those of docs.github.com/rest/pulls/pulls, and
//! its refusals as people quote them.

use http::Response;
use serde_json::{Value, json as value};
use tokio::time::Instant;

use super::*;
use crate::adapters::checks::fake::{Seen, Server, json, with};
use crate::adapters::checks::forge::{Opener, PullRequestApi as _};
use crate::adapters::checks::github::GitHubPulls;
use crate::model::{
    ErrorClass, NewPullRequest, OwnPullRequest, OwnPullRequests as _, PullRequestState,
};

const BRANCH: &str = "capstan/create-7";
const LIST: &str = "GET /repos/o/r/pulls?head=o%3Acapstan%2Fcreate-7&base=main&state=all&sort=created&direction=desc&per_page=20";
const OPEN: PullRequestState = PullRequestState::Open;

/// One repository with pull requests of one branch. The number of one is its place.
#[derive(Default)]
struct Strict {
    /// State, repository of the head and whether it was merged.
    pulls: Vec<(&'static str, Option<u64>, bool)>,
    /// Answered instead of opening one.
    refusal: Option<(u16, Value)>,
    last_change: Option<Instant>,
}

fn refused(errors: &Value) -> (u16, Value) {
    let body = value!({"message": "Validation Failed", "errors": errors, "status": "422",
        "documentation_url": "https://docs.github.com/rest/pulls/pulls#create-a-pull-request"});
    (422, body)
}

impl Strict {
    fn row(&self, at: usize) -> Value {
        let (state, repo, merged) = self.pulls[at];
        let number = at + 1;
        let at = merged.then_some("2026-01-01T00:00:00Z");
        value!({
            "number": number, "state": state, "merged_at": at, "html_url": format!("https://evil.example/{number}"),
            // While it is open, that of a trial merge.
            "merge_commit_sha": "5".repeat(40), "title": "\u{1b}[2J",
            "head": {"ref": BRANCH, "label": format!("o:{BRANCH}"), "repo": repo.map(|id| value!({"id": id}))},
            "base": {"ref": "main", "label": "o:main", "repo": {"id": 1}},
        })
    }

    fn post(&mut self, body: &Value) -> Response<Vec<u8>> {
        if let Some((status, body)) = &self.refusal {
            return json(*status, body);
        }
        let fields: Vec<&str> = body
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(fields, ["base", "body", "head", "title"]);
        assert_eq!(
            (&body["head"], &body["base"]),
            (&value!(BRANCH), &value!("main"))
        );
        assert!((1..=256).contains(&body["title"].as_str().unwrap().chars().count()));
        assert!(body["body"].as_str().unwrap().chars().count() <= 65_536);
        if self
            .pulls
            .iter()
            .any(|(state, repo, _)| *state == "open" && *repo == Some(1))
        {
            let text = format!("A pull request already exists for o:{BRANCH}.");
            let (status, body) =
                refused(&value!([{"resource": "PullRequest", "code": "custom", "message": text}]));
            return json(status, &body);
        }
        self.pulls.push(("open", Some(1), false));
        json(201, &self.row(self.pulls.len() - 1))
    }

    fn list(&self, query: &str) -> Response<Vec<u8>> {
        let rows: Vec<Value> = (0..self.pulls.len()).rev().map(|at| self.row(at)).collect();
        match query {
            "state=open&per_page=1" => json(200, &value!(rows)),
            query => {
                assert_eq!(Some(query), LIST.split_once('?').map(|(_, query)| query));
                json(200, &value!(rows.into_iter().take(20).collect::<Vec<_>>()))
            }
        }
    }
}

impl Server for Strict {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        assert_eq!(seen.host, "api.github.com");
        assert_eq!(seen.header("accept"), "application/vnd.github+json");
        assert_eq!(seen.header("x-github-api-version"), "2022-11-28");
        let (method, target) = seen.line.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let rest = path.strip_prefix("/repos/o/r/pulls").unwrap();
        if method != "GET"
            && let Some(last) = self.last_change.replace(seen.at)
        {
            assert!(
                seen.at - last >= Duration::from_secs(1),
                "two changes in a second"
            );
        }
        let number = || rest.strip_prefix('/').unwrap().parse::<usize>().unwrap();
        match (method, rest) {
            ("POST", "") => self.post(&seen.body),
            ("GET", "") => self.list(query),
            (_, _) if number() > self.pulls.len() => json(404, &value!({"message": "Not Found"})),
            ("GET", _) => json(200, &self.row(number() - 1)),
            ("PATCH", _) => {
                assert_eq!(seen.body, value!({"state": "closed"}));
                // Of one that was merged, nothing changes.
                self.pulls[number() - 1].0 = "closed";
                json(200, &self.row(number() - 1))
            }
            _ => panic!("{}", seen.line),
        }
    }
}

fn pulls(strict: Strict) -> (Arc<Fake<Strict>>, Opener<GitHubPulls>) {
    let fake = Fake::new(strict);
    let checks = client(&fake, Scheme::Bearer, dialect());
    let own = checks.beside(GitHubPulls::dialect());
    let opener = Opener::new(GitHubPulls::new(repository()), own);
    (fake, opener)
}

fn new() -> NewPullRequest {
    NewPullRequest {
        head: BRANCH.to_owned(),
        base: "main".to_owned(),
        title: "Create cluster seven".to_owned(),
        body: "Text.\n".to_owned(),
    }
}

fn shown(number: u64, state: PullRequestState) -> OwnPullRequest {
    let url = format!("https://github.com/o/r/pull/{number}");
    OwnPullRequest { number, url, state }
}

#[tokio::test(start_paused = true)]
async fn a_pull_request_is_opened_once_found_and_followed_to_its_merge() {
    let (fake, pulls) = pulls(Strict::default());
    assert_eq!(pulls.find(BRANCH, "main").await, Ok(None));
    assert_eq!(pulls.get(1).await, Ok(None));
    fake.lines();
    for _ in 0..2 {
        assert_eq!(pulls.open(&new()).await, Ok(shown(1, OPEN)));
    }
    let post = "POST /repos/o/r/pulls";
    assert_eq!(fake.lines(), [post, post, LIST]);
    assert_eq!(pulls.find(BRANCH, "main").await, Ok(Some(shown(1, OPEN))));
    assert_eq!(pulls.get(1).await, Ok(Some(shown(1, OPEN))));
    fake.server.lock().unwrap().pulls[0] = ("closed", Some(1), true);
    let commit = "5".repeat(40);
    let merged = shown(1, PullRequestState::Merged { commit });
    assert_eq!(pulls.find(BRANCH, "main").await, Ok(Some(merged.clone())));
    assert_eq!(pulls.get(1).await, Ok(Some(merged.clone())));
    assert_eq!(pulls.close(1).await, Ok(merged));
    assert_eq!(pulls.open(&new()).await, Ok(shown(2, OPEN)));
    assert_eq!(pulls.close(2).await, Ok(shown(2, PullRequestState::Closed)));
    assert_eq!(
        pulls.find(BRANCH, "main").await,
        Ok(Some(shown(2, PullRequestState::Closed)))
    );
    let gone = pulls.close(3).await.unwrap_err();
    assert_eq!(gone.class(), ErrorClass::Gone);
}

/// Somebody opened the older one again; and an owner may have a fork of the repository.
#[tokio::test(start_paused = true)]
async fn the_open_one_counts_and_no_fork_does() {
    let (_, pulls) = pulls(Strict {
        pulls: vec![
            ("closed", Some(1), false),
            ("open", Some(1), false),
            ("closed", Some(1), true),
            ("open", Some(2), false),
            ("open", None, false),
        ],
        ..Strict::default()
    });
    assert_eq!(pulls.find(BRANCH, "main").await, Ok(Some(shown(2, OPEN))));
    assert_eq!(pulls.open(&new()).await, Ok(shown(2, OPEN)));
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_github_does_not_know_yet_is_tried_again_and_a_wrong_one_is_not() {
    let field = |field, code| value!({"resource": "PullRequest", "field": field, "code": code});
    let custom =
        |text: &str| value!({"resource": "PullRequest", "code": "custom", "message": text});
    let none = custom("No commits between main and capstan/create-7");
    for (errors, class) in [
        (value!([field("head", "invalid")]), ErrorClass::Transient),
        (value!([none]), ErrorClass::Transient),
        (
            value!([field("head_sha", "missing_field"), none]),
            ErrorClass::Transient,
        ),
        (value!([field("base", "invalid")]), ErrorClass::Invalid),
        (
            value!([custom("Body is too long (maximum is 65536 characters)")]),
            ErrorClass::Invalid,
        ),
        // It says so, and lists none.
        (
            value!([custom("A pull request already exists for o:x.")]),
            ErrorClass::Invalid,
        ),
    ] {
        let refusal = Some(refused(&errors));
        let (_, pulls) = pulls(Strict {
            refusal,
            ..Strict::default()
        });
        let error = pulls.open(&new()).await.unwrap_err();
        assert_eq!(error.class(), class, "{error}");
        assert!(
            error
                .to_string()
                .starts_with("github.com/o/r: cannot open a pull request of "),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_named() {
    let message = "Resource not accessible by integration";
    let denial = (403, value!({"message": message}));
    for refusal in [denial, (404, value!({"message": "Not Found"}))] {
        let refusal = Some(refusal);
        let (_, pulls) = pulls(Strict {
            refusal,
            ..Strict::default()
        });
        let denied = pulls.open(&new()).await.unwrap_err();
        assert_eq!(denied.class(), ErrorClass::Denied);
        assert!(denied.to_string().ends_with(GitHubPulls::NEEDS), "{denied}");
    }
    assert!(GitHubPulls::NEEDS.contains("Pull requests: write"));
    let (fake, pulls) = pulls(Strict::default());
    let needs = [("x-accepted-github-permissions", "pull_requests=write")];
    fake.next([Some(Mishap::Instead(with(403, &needs, "{}")))]);
    let denied = pulls.open(&new()).await.unwrap_err().to_string();
    assert!(
        denied.contains("the token needs pull_requests=write; "),
        "{denied}"
    );
    // An expired token lacks no permission.
    tokio::time::sleep(Duration::from_secs(600)).await;
    fake.next([Some(Mishap::Instead(with(401, &[], "{}")))]);
    let expired = pulls.open(&new()).await.unwrap_err().to_string();
    assert!(
        expired.ends_with("it may be expired or revoked: replace it"),
        "{expired}"
    );
}
