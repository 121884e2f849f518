//! Pull requests that the daemon opens, on a strict Gitea. Its rules are those of Gitea's routers/api/v1/repo/pull.go; the
//! suite tests them on the real server, too (`tests/suite/forges`).

mod life;
mod refusals;

use serde_json::json as value;

use super::*;
use crate::adapters::checks::forge::{Call, Fault, Gitea, GiteaPulls, Opener, Repository};
use crate::model::{
    ErrorClass, ForgeKind, NewPullRequest, OwnPullRequest, OwnPullRequests as _, PullRequestState,
};

const HEAD_BRANCH: &str = "capstan/create-7";
const PULLS: &str = "/api/v1/repos/o/r/pulls";

/// A pull request. `repo` is that of its head.
#[derive(Clone)]
struct Pull {
    head: String,
    repo: Option<u64>,
    state: &'static str,
    merged: bool,
    /// Opened by a push to `refs/for`.
    is_pushed: bool,
}

impl Pull {
    fn new(head: &str, state: &'static str) -> Self {
        Self {
            head: head.to_owned(),
            repo: Some(1),
            state,
            merged: false,
            is_pushed: false,
        }
    }
}

/// One repository. The number of a pull request is its place.
struct Strict {
    pulls: Vec<Pull>,
    branches: Vec<String>,
    scopes: Vec<&'static str>,
    has_pulls: bool,
    opened: Vec<Value>,
}

fn strict() -> Strict {
    let branches = ["main", HEAD_BRANCH, "merge", "commits/x"];
    Strict {
        pulls: Vec::new(),
        branches: branches.map(str::to_owned).into(),
        scopes: vec!["write:repository"],
        has_pulls: true,
        opened: Vec::new(),
    }
}

fn said(status: u16, text: &str) -> Response<Vec<u8>> {
    json(status, &value!({"message": text}))
}

impl Strict {
    fn row(&self, at: usize) -> Value {
        let pull = &self.pulls[at];
        let number = at + 1;
        let at = pull.merged.then_some("2026-01-01T00:00:00Z");
        let commit = pull.merged.then(|| "5".repeat(40));
        let is_known = self.branches.contains(&pull.head) && !pull.is_pushed;
        let name = if is_known {
            pull.head.clone()
        } else {
            format!("refs/pull/{number}/head")
        };
        let label = if pull.is_pushed { "" } else { &pull.head };
        value!({
            "number": number, "state": pull.state, "merged": pull.merged, "merged_at": at,
            "merge_commit_sha": commit, "html_url": format!("https://evil.example/o/r/pulls/{number}"),
            "title": "\u{1b}[2J", "head": {"ref": name, "label": label, "repo": pull.repo.map(|id| value!({"id": id}))},
            "base": {"ref": "main", "label": "main", "repo": {"id": 1}},
        })
    }

    fn post(&mut self, body: &Value) -> Response<Vec<u8>> {
        let fields: Vec<&str> = body
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(fields, ["base", "body", "head", "title"]);
        let text = |key: &str| body[key].as_str().unwrap().to_owned();
        // The real one shortens it.
        assert!((1..=255).contains(&text("title").len()));
        assert!(!text("title").contains(char::is_control));
        assert!(text("body").chars().count() <= 65_536);
        let (head, base) = (text("head"), text("base"));
        if ![&head, &base]
            .iter()
            .all(|name| self.branches.contains(name))
        {
            return said(404, "The target couldn't be found.");
        }
        let is_open = |pull: &Pull| {
            pull.head == head && pull.repo == Some(1) && pull.state == "open" && !pull.is_pushed
        };
        if let Some(at) = self.pulls.iter().position(is_open) {
            let text = format!("pull request already exists for these targets [id: {at}]");
            return said(409, &text);
        }
        self.opened.push(body.clone());
        self.pulls.push(Pull::new(&head, "open"));
        json(201, &self.row(self.pulls.len() - 1))
    }

    /// Any of them, whatever its state.
    fn any(&self, head: &str) -> Response<Vec<u8>> {
        let is_of = |pull: &Pull| pull.head == head && pull.repo == Some(1);
        match self.pulls.iter().position(is_of) {
            Some(at) => json(200, &self.row(at)),
            None => said(404, "The target couldn't be found."),
        }
    }

    fn list(&self, query: &str) -> Response<Vec<u8>> {
        let of = |key: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let number = |key| of(key).map_or(1, |value| value.parse::<usize>().unwrap());
        let limit = number("limit");
        assert!(limit <= 50, "a page has 50 at most");
        let state = of("state").unwrap();
        assert!(["open", "closed", "all"].contains(&state));
        let of_state = |at: &usize| state == "all" || self.pulls[*at].state == state;
        let rows = (0..self.pulls.len()).rev().filter(of_state);
        let rows = rows.skip((number("page") - 1) * limit).take(limit);
        json(
            200,
            &value!(rows.map(|at| self.row(at)).collect::<Vec<_>>()),
        )
    }

    fn patch(&mut self, number: usize, body: &Value) -> Response<Vec<u8>> {
        assert_eq!(*body, value!({"state": "closed"}));
        let Some(pull) = self.pulls.get_mut(number - 1) else {
            return said(404, "The target couldn't be found.");
        };
        if pull.merged {
            let text = "cannot change state of this pull request, it was already merged";
            return said(412, text);
        }
        pull.state = "closed";
        json(201, &self.row(number - 1))
    }
}

impl Server for Strict {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        assert_eq!(seen.header("authorization"), "Bearer s3cret");
        assert_eq!(seen.header("accept"), "application/json");
        let (method, target) = seen.line.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if path.ends_with("/statuses") {
            return json(201, &value!({}));
        }
        let Some(rest) = path.strip_prefix(PULLS) else {
            panic!("{}", seen.line);
        };
        if !self.has_pulls {
            return said(404, "The target couldn't be found.");
        }
        if method != "GET" && !self.scopes.contains(&"write:repository") {
            return said(
                403,
                "token does not have at least one of required scope(s), required=[write:repository], token scope=read:repository",
            );
        }
        let parts: Vec<&str> = rest.split('/').skip(1).collect();
        match (method, &parts[..]) {
            ("POST", []) => self.post(&seen.body),
            ("GET", []) => self.list(query),
            ("GET", [number]) => match number.parse::<usize>().unwrap() {
                number if number <= self.pulls.len() => json(200, &self.row(number - 1)),
                _ => said(404, "The target couldn't be found."),
            },
            ("PATCH", [number]) => self.patch(number.parse().unwrap(), &seen.body),
            ("GET", [_, "commits" | "files" | "merge" | "reviews", ..]) => panic!("{}", seen.line),
            ("GET", ["main", head @ ..]) => self.any(&head.join("/")),
            _ => panic!("{}", seen.line),
        }
    }
}

type Pulls = Opener<GiteaPulls>;

/// A client of checks, and what opens pull requests beside it.
fn beside(fake: &Arc<Fake<Strict>>) -> (Client, Pulls) {
    let repository = Repository::of(ForgeKind::Gitea, "https://git.example/o/r").unwrap();
    let client = client(fake, Scheme::Bearer, Gitea::dialect());
    let own = client.beside(GiteaPulls::dialect());
    (client, Opener::new(GiteaPulls::new(repository), own))
}

fn pulls(strict: Strict) -> (Arc<Fake<Strict>>, Pulls) {
    let fake = Fake::new(strict);
    let (_, pulls) = beside(&fake);
    (fake, pulls)
}

fn new() -> NewPullRequest {
    NewPullRequest {
        head: HEAD_BRANCH.to_owned(),
        base: "main".to_owned(),
        title: "Create cluster seven".to_owned(),
        body: "Text.\n".to_owned(),
    }
}

fn shown(number: u64, state: PullRequestState) -> OwnPullRequest {
    let url = format!("https://git.example/o/r/pulls/{number}");
    OwnPullRequest { number, url, state }
}

fn merged() -> PullRequestState {
    let commit = "5".repeat(40);
    PullRequestState::Merged { commit }
}

fn status() -> Call {
    let url = "https://git.example/api/v1/repos/o/r/statuses";
    Call::send(http::Method::POST, url.parse().unwrap(), value!({}))
}

const OPEN: PullRequestState = PullRequestState::Open;
const CLOSED: PullRequestState = PullRequestState::Closed;
