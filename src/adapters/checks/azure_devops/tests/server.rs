//! A strict fake of Azure DevOps: what the real one would refuse fails the test. Each rule names its source.

use http::Response;
use serde_json::{Value, json as value};

use crate::adapters::checks::forge::tests::{HEAD, Seen, Server, json};

pub(super) const NEWER: &str = "d2d4f6cd5db6d749b463ac7522897c0fc2fc85ca";
/// Who the token belongs to.
const SELF: &str = "8f4c";

pub(super) struct Azure {
    /// On commits, with the commit.
    pub(super) statuses: Vec<Value>,
    /// On the pull request.
    pub(super) pull_request: Vec<Value>,
    /// The heads of the iterations of pull request 42.
    pub(super) heads: Vec<String>,
    pub(super) threads: Vec<Value>,
    /// The changed files; the id of a file is its position and 7.
    pub(super) files: Vec<&'static str>,
}

impl Azure {
    pub(super) fn new() -> Self {
        Self {
            statuses: Vec::new(),
            pull_request: Vec::new(),
            heads: vec!["0".repeat(40), HEAD.to_owned(), NEWER.to_owned()],
            threads: Vec::new(),
            files: vec!["/x.yaml", "/y.yaml", "/clusters/a.yaml", "/z.yaml"],
        }
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

    /// forges.md §2a: a policy that resets statuses refuses those without an iteration.
    fn iteration_status(&mut self, body: &Value) -> Response<Vec<u8>> {
        status(body);
        let iteration = body["iterationId"]
            .as_u64()
            .expect("GitPullRequestStatusRejectedByPolicyException");
        assert!((1..=self.heads.len() as u64).contains(&iteration));
        assert_ne!(body["state"], "notApplicable", "it removes the requirement");
        self.pull_request.push(body.clone());
        json(201, body)
    }

    fn iterations(&self) -> Response<Vec<u8>> {
        let heads = self.heads.iter().zip(1..);
        let rows: Vec<Value> = heads
            .map(|(head, id)| value!({"id": id, "sourceRefCommit": {"commitId": head}}))
            .collect();
        json(200, &value!({"count": rows.len(), "value": rows}))
    }

    /// forges.md §2b: in pages; this one returns two at a time.
    fn changes(&self, query: &str) -> Response<Vec<u8>> {
        let parameter = |name: &str| -> usize {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(name));
            value.unwrap().parse().unwrap()
        };
        assert!(parameter("$top=") <= 2000);
        let skip = parameter("$skip=");
        let files = self.files.iter().zip(7..).skip(skip).take(2);
        let entries: Vec<Value> = files
            .map(|(path, id)| value!({"changeTrackingId": id, "item": {"path": path}}))
            .collect();
        let next = if skip + 2 < self.files.len() {
            skip + 2
        } else {
            0
        };
        json(
            200,
            &value!({"changeEntries": entries, "nextSkip": next, "nextTop": next}),
        )
    }

    /// forges.md §2b.
    fn open(&mut self, body: &Value) -> Response<Vec<u8>> {
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
            let at = self.files.iter().position(|file| *file == path);
            let id = at.expect("a thread on a file that is not changed") + 7;
            assert_eq!(tracked["changeTrackingId"], id, "a remark in a random file");
            let compared = &tracked["iterationContext"]["secondComparingIteration"];
            assert!(compared.as_u64().unwrap() as usize <= self.heads.len());
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
        assert_eq!(seen.host, "dev.azure.com");
        // forges.md §2d.
        assert_eq!(seen.header("x-tfs-fedauthredirect"), "Suppress");
        assert_eq!(seen.header("authorization"), "Basic OnMzY3JldA==");
        let (method, line) = seen.line.split_once(' ').unwrap();
        let (path, query) = line.split_once('?').unwrap();
        assert!(query.ends_with("api-version=7.1"), "{query}");
        let path = path.strip_prefix("/org/My%20Proj/_apis/git/repositories/repo");
        let parts: Vec<&str> = path.unwrap().split('/').skip(1).collect();
        match (method, &parts[..]) {
            ("GET", []) => json(200, &value!({})),
            (_, ["commits", sha, ..]) if !self.heads.iter().any(|head| head == sha) => json(
                404,
                &value!({"message": "TF401175: the commit does not exist"}),
            ),
            ("GET", ["commits", _]) => json(200, &value!({})),
            ("POST", ["commits", sha, "statuses"]) => self.commit_status(sha, &seen.body),
            ("GET", ["commits", sha, "statuses"]) => self.latest(sha),
            ("GET", ["pullRequests", "42", "iterations"]) => self.iterations(),
            ("POST", ["pullRequests", "42", "statuses"]) => self.iteration_status(&seen.body),
            ("GET", ["pullRequests", "42", "iterations", _, "changes"]) => self.changes(query),
            ("GET", ["pullRequests", "42", "threads"]) => {
                json(200, &value!({"value": self.threads}))
            }
            ("POST", ["pullRequests", "42", "threads"]) => self.open(&seen.body),
            ("PATCH", ["pullRequests", "42", "threads", id, ..]) if self.is_deleted(id) => {
                json(404, &value!({"message": "the thread does not exist"}))
            }
            ("PATCH", ["pullRequests", "42", "threads", id]) => {
                let word = seen.body["status"].as_str().unwrap();
                let words = [
                    "active", "fixed", "wontFix", "closed", "byDesign", "pending",
                ];
                assert!(words.contains(&word), "{word}");
                self.thread(id)["status"] = word.into();
                json(200, &value!({}))
            }
            ("PATCH", ["pullRequests", "42", "threads", id, "comments", "1"]) => {
                content(&seen.body["content"]);
                self.thread(id)["comments"][0]["content"] = seen.body["content"].clone();
                json(200, &value!({}))
            }
            _ => panic!("no such request: {}", seen.line),
        }
    }
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
