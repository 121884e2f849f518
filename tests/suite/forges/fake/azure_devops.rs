//! A strict fake of Azure DevOps: what the real one would refuse fails the test. Each rule names its source. A write on
//! a closed pull request would not be refused, but nobody wants it.

use std::collections::BTreeMap;

use http::Response;
use serde_json::{Value, json as value};

use super::{HEAD, Seen, Server, json};

/// Another commit that unit tests write about.
pub(crate) const NEWER: &str = "d2d4f6cd5db6d749b463ac7522897c0fc2fc85ca";
/// The pull request that unit tests write about.
pub(crate) const PULL: u64 = 42;
/// Who the token belongs to.
const SELF: &str = "8f4c";

pub(crate) struct Azure {
    /// On commits, with the commit.
    pub(crate) statuses: Vec<Value>,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    /// The changed files of all pull requests; the id of a file is its position and 7.
    pub(crate) files: Vec<&'static str>,
    host: String,
    /// What all paths of the repository begin with.
    path: &'static str,
    /// The accepted `Authorization`.
    pub(crate) authorization: &'static str,
    /// Whether the repository has a commit.
    has: Box<dyn Fn(&str) -> bool + Send>,
}

/// A pull request.
#[derive(Default)]
pub(crate) struct Pull {
    /// Whether it was completed or abandoned.
    pub(crate) is_closed: bool,
    /// The heads of its iterations.
    pub(crate) heads: Vec<String>,
    pub(crate) statuses: Vec<Value>,
    pub(crate) threads: Vec<Value>,
}

impl Azure {
    /// Azure DevOps Services, with a pull request of three iterations.
    pub(crate) fn services() -> Self {
        let zeros = "0".repeat(40);
        let heads = vec![zeros, HEAD.to_owned(), NEWER.to_owned()];
        let pull = Pull {
            heads,
            ..Pull::default()
        };
        Self {
            statuses: Vec::new(),
            pulls: [(PULL, pull)].into(),
            files: vec!["/x.yaml", "/y.yaml", "/clusters/a.yaml", "/z.yaml"],
            host: "dev.azure.com".to_owned(),
            path: "/org/My%20Proj/_apis/git/repositories/repo",
            authorization: "Basic OnMzY3JldA==",
            has: Box::new(|commit| [HEAD, NEWER].contains(&commit)),
        }
    }

    /// Azure DevOps Server at `host`, with these commits and no pull request.
    pub(crate) fn server(host: &str, has: impl Fn(&str) -> bool + Send + 'static) -> Self {
        Self {
            pulls: BTreeMap::new(),
            host: host.to_owned(),
            path: "/tfs/Collection/Platform/_apis/git/repositories/repo",
            has: Box::new(has),
            ..Self::services()
        }
    }

    /// The one that unit tests write about.
    pub(crate) fn pull(&mut self) -> &mut Pull {
        self.pulls.get_mut(&PULL).unwrap()
    }

    /// forges.md §2a.
    fn commit_status(&mut self, sha: &str, body: &Value) -> Response<Vec<u8>> {
        status(body);
        assert!(
            body.get("iterationId").is_none(),
            "commits have no iterations"
        );
        let mut row = body.clone();
        row["commit"] = sha.into();
        row["createdBy"] = value!({"id": SELF});
        self.statuses.push(row.clone());
        // 200 in the specification, 201 in its example.
        let code = if self.statuses.len().is_multiple_of(2) {
            200
        } else {
            201
        };
        json(code, &row)
    }

    /// `latestOnly`: the newest of each genre and name.
    fn latest(&self, sha: &str) -> Response<Vec<u8>> {
        let mut rows: Vec<&Value> = Vec::new();
        for row in self
            .statuses
            .iter()
            .rev()
            .filter(|row| row["commit"] == sha)
        {
            if !rows.iter().any(|newer| newer["context"] == row["context"]) {
                rows.push(row);
            }
        }
        json(200, &value!({"count": rows.len(), "value": rows}))
    }

    fn on_pull(
        &mut self,
        number: &str,
        query: &str,
        method: &str,
        parts: &[&str],
        body: &Value,
    ) -> Response<Vec<u8>> {
        let Some(pull) = self.pulls.get_mut(&number.parse().unwrap()) else {
            return json(
                404,
                &value!({"message": "TF401180: the pull request was not found"}),
            );
        };
        let is_read = method == "GET";
        assert!(
            is_read || !pull.is_closed,
            "a write on a closed pull request"
        );
        match (method, parts) {
            ("GET", []) => pull.shown(),
            ("GET", ["iterations"]) => pull.iterations(),
            ("POST", ["statuses"]) => pull.status(body),
            ("GET", ["iterations", iteration, "changes"]) => {
                assert!(pull.is_iteration(iteration.parse().unwrap()));
                changes(&self.files, query)
            }
            ("GET", ["threads"]) => json(200, &value!({"value": pull.threads})),
            ("POST", ["threads"]) => pull.open(&self.files, body),
            ("PATCH", ["threads", id, ..]) if pull.is_deleted(id) => {
                json(404, &value!({"message": "the thread does not exist"}))
            }
            ("PATCH", ["threads", id]) => pull.set_status(id, body),
            ("PATCH", ["threads", id, "comments", "1"]) => {
                content(&body["content"]);
                pull.thread(id)["comments"][0]["content"] = body["content"].clone();
                json(200, &value!({}))
            }
            _ => panic!("no such request: {method} {parts:?}"),
        }
    }
}

impl Pull {
    fn shown(&self) -> Response<Vec<u8>> {
        let status = if self.is_closed {
            "completed"
        } else {
            "active"
        };
        let head = self.heads.last();
        json(
            200,
            &value!({"status": status, "lastMergeSourceCommit": {"commitId": head}}),
        )
    }

    /// forges.md §2a: a policy that resets statuses refuses those without an iteration.
    fn status(&mut self, body: &Value) -> Response<Vec<u8>> {
        status(body);
        let iteration = body["iterationId"]
            .as_u64()
            .expect("GitPullRequestStatusRejectedByPolicyException");
        assert!(self.is_iteration(iteration));
        assert_ne!(body["state"], "notApplicable", "it removes the requirement");
        self.statuses.push(body.clone());
        json(201, body)
    }

    fn is_iteration(&self, id: u64) -> bool {
        (1..=self.heads.len() as u64).contains(&id)
    }

    fn iterations(&self) -> Response<Vec<u8>> {
        let heads = self.heads.iter().zip(1..);
        let rows: Vec<Value> = heads
            .map(|(head, id)| value!({"id": id, "sourceRefCommit": {"commitId": head}}))
            .collect();
        json(200, &value!({"count": rows.len(), "value": rows}))
    }

    /// forges.md §2b.
    fn open(&mut self, files: &[&str], body: &Value) -> Response<Vec<u8>> {
        let comment = &body["comments"][0];
        content(&comment["content"]);
        assert_eq!(
            (&comment["parentCommentId"], &comment["commentType"]),
            (&value!(0), &value!(1))
        );
        assert!([1, 4].map(|word| value!(word)).contains(&body["status"]));
        if let Some(place) = body.get("threadContext") {
            let path = place["filePath"].as_str().unwrap();
            assert!(path.starts_with('/'), "{path}");
            for end in ["rightFileStart", "rightFileEnd"] {
                assert!(place[end]["line"].as_u64().unwrap() >= 1, "the page breaks");
                assert!(place[end]["offset"].as_u64().unwrap() >= 1);
            }
            let tracked = &body["pullRequestThreadContext"];
            let at = files.iter().position(|file| *file == path);
            let id = at.expect("a thread on a file that is not changed") + 7;
            assert_eq!(tracked["changeTrackingId"], id, "a remark in a random file");
            let compared = &tracked["iterationContext"]["secondComparingIteration"];
            assert!(self.is_iteration(compared.as_u64().unwrap()));
        }
        let mut thread = body.clone();
        thread["id"] = (self.threads.len() + 100).into();
        thread["status"] = if body["status"] == 1 {
            "active"
        } else {
            "closed"
        }
        .into();
        thread["comments"][0]["id"] = 1.into();
        thread["comments"][0]["author"] = value!({"id": SELF});
        self.threads.push(thread.clone());
        json(200, &thread)
    }

    fn is_deleted(&self, id: &str) -> bool {
        let mut threads = self.threads.iter();
        threads
            .any(|thread| thread["isDeleted"] == true && thread["id"].as_u64() == id.parse().ok())
    }

    fn set_status(&mut self, id: &str, body: &Value) -> Response<Vec<u8>> {
        let word = body["status"].as_str().unwrap();
        let words = [
            "active", "fixed", "wontFix", "closed", "byDesign", "pending",
        ];
        assert!(words.contains(&word), "{word}");
        self.thread(id)["status"] = word.into();
        json(200, &value!({}))
    }

    fn thread(&mut self, id: &str) -> &mut Value {
        let mut threads = self.threads.iter_mut();
        let thread = threads
            .find(|thread| thread["id"] == id.parse::<u64>().unwrap())
            .unwrap();
        assert_eq!(
            thread["comments"][0]["author"]["id"], SELF,
            "a foreign thread"
        );
        thread
    }
}

impl Server for Azure {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        assert_eq!(seen.host, self.host);
        // forges.md §2d.
        assert_eq!(seen.header("x-tfs-fedauthredirect"), "Suppress");
        if seen.header("authorization") != self.authorization {
            return json(
                401,
                &value!({"message": "TF400813: the user is not authorized"}),
            );
        }
        let (method, line) = seen.line.split_once(' ').unwrap();
        let (path, query) = line.split_once('?').unwrap();
        assert!(query.ends_with("api-version=7.1"), "{query}");
        let path = path.strip_prefix(self.path).expect("the repository");
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match (method, &parts[..]) {
            ("GET", []) => json(200, &value!({})),
            (_, ["commits", sha, ..]) if !(self.has)(sha) => json(
                404,
                &value!({"message": "TF401175: the commit does not exist"}),
            ),
            ("GET", ["commits", _]) => json(200, &value!({})),
            ("POST", ["commits", sha, "statuses"]) => self.commit_status(sha, &seen.body),
            ("GET", ["commits", sha, "statuses"]) => self.latest(sha),
            (_, ["pullRequests", number, rest @ ..]) => {
                self.on_pull(number, query, method, rest, &seen.body)
            }
            _ => panic!("no such request: {}", seen.line),
        }
    }
}

/// forges.md §2b: in pages; this one returns two at a time.
fn changes(files: &[&str], query: &str) -> Response<Vec<u8>> {
    let parameter = |name: &str| -> usize {
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name));
        value.unwrap().parse().unwrap()
    };
    assert!(parameter("$top=") <= 2000);
    let skip = parameter("$skip=");
    let shown = files.iter().zip(7..).skip(skip).take(2);
    let entries: Vec<Value> = shown
        .map(|(path, id)| value!({"changeTrackingId": id, "item": {"path": path}}))
        .collect();
    let next = if skip + 2 < files.len() { skip + 2 } else { 0 };
    json(
        200,
        &value!({"changeEntries": entries, "nextSkip": next, "nextTop": next}),
    )
}

/// forges.md §2a.
fn status(body: &Value) {
    let states = [
        "notSet",
        "pending",
        "succeeded",
        "failed",
        "error",
        "notApplicable",
    ];
    let state = body["state"].as_str().unwrap();
    assert!(states.contains(&state), "{state}");
    let name = body["context"]["name"].as_str().unwrap();
    assert!((1..=255).contains(&name.chars().count()));
    assert!(body["description"].as_str().unwrap().chars().count() <= 2_000);
    assert_ne!(body["targetUrl"], "");
}

/// forges.md §2b.
fn content(content: &Value) {
    let length = content.as_str().unwrap().chars().count();
    assert!(
        (1..=150_000).contains(&length),
        "a comment of {length} characters"
    );
}
