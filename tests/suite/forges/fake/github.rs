//! A strict fake of GitHub with the repository `o/r` and one app. Each rule names its source.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Response;
use jiff::Timestamp;
use ring::signature::{KeyPair as _, RsaKeyPair};
use serde_json::{Value, json as value};
use tokio::time::Instant;

use super::{HEAD, Seen, Server, json};

/// Another commit that unit tests write about.
pub(crate) const OTHER: &str = "d2d4f6cd5db6d749b463ac7522897c0fc2fc85ca";
/// The number of our app.
pub(crate) const APP: u64 = 12_345;
/// The private key of our app.
pub(crate) const KEY: &str =
    include_str!("../../../../src/adapters/checks/github/tests/app-key-pkcs1.pem");

pub(crate) struct GitHub {
    pub(crate) runs: Vec<Value>,
    /// What runs were given, in order, each with the commit and the name of its run.
    pub(crate) written: Vec<Value>,
    /// Per commit, oldest first.
    pub(crate) statuses: BTreeMap<String, Vec<Value>>,
    /// Where it is asked, and what all paths begin with there.
    api: (String, &'static str),
    /// Whether the repository has a commit.
    has: Box<dyn Fn(&str) -> bool + Send>,
    /// The pull requests of every commit.
    pub(crate) pulls: Vec<Value>,
    /// What each user may do: `permission` and `role_name`.
    pub(crate) collaborators: BTreeMap<String, (&'static str, &'static str)>,
    /// The tokens of installations, with the second in which each ends.
    issued: BTreeMap<String, i64>,
    /// A token of a person.
    personal: Option<&'static str>,
    start: Instant,
    /// The second in which it started.
    epoch: i64,
    last_change: Option<Instant>,
    /// The least time between two changes, as they arrive.
    spacing: Duration,
}

impl GitHub {
    /// github.com, with two commits, a token of a person, and a clock that starts at `epoch`.
    pub(crate) fn cloud(epoch: i64) -> Self {
        Self {
            runs: Vec::new(),
            written: Vec::new(),
            statuses: BTreeMap::new(),
            api: ("api.github.com".to_owned(), ""),
            has: Box::new(|commit| [HEAD, OTHER].contains(&commit)),
            pulls: Vec::new(),
            collaborators: BTreeMap::new(),
            issued: BTreeMap::new(),
            personal: Some("s3cret"),
            start: Instant::now(),
            epoch,
            last_change: None,
            spacing: Duration::from_secs(1),
        }
    }

    /// GitHub Enterprise Server at `host` (forges.md §1d), with these commits. Only its app may ask.
    pub(crate) fn enterprise(host: &str, has: impl Fn(&str) -> bool + Send + 'static) -> Self {
        Self {
            api: (host.to_owned(), "/api/v3"),
            has: Box::new(has),
            personal: None,
            // Unit tests see that the sender keeps the second between two changes. It does not know when a process before
            // it sent its last one, and on the way one may gain on the other.
            spacing: Duration::ZERO,
            ..Self::cloud(Timestamp::now().as_second())
        }
    }

    fn now(&self, at: Instant) -> i64 {
        self.epoch + i64::try_from((at - self.start).as_secs()).unwrap()
    }

    /// Whether the token of an installation is valid now.
    pub(crate) fn is_valid(&self, token: &str) -> bool {
        let end = self.issued.get(token);
        end.is_some_and(|end| self.now(Instant::now()) < *end)
    }

    /// forges.md §1d: a request without a valid token is refused.
    fn refusal(&self, seen: &Seen) -> Option<Response<Vec<u8>>> {
        let token = seen.header("authorization").strip_prefix("Bearer ");
        let is_known =
            token.is_some_and(|token| self.personal == Some(token) || self.is_valid(token));
        (!is_known).then(|| json(401, &value!({"message": "Bad credentials"})))
    }

    /// forges.md §0.3 and §1d: at least a second between changes.
    fn change(&mut self, at: Instant) {
        if let Some(last) = self.last_change.replace(at) {
            assert!(at - last >= self.spacing, "two changes in a second");
        }
    }

    /// forges.md §1a.
    fn create(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        let body = &seen.body;
        self.change(seen.at);
        let sha = text(body, "head_sha");
        assert!(sha.len() == 40 && sha.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(!text(body, "name").is_empty());
        check_run(body);
        if !(self.has)(sha) {
            return unknown(sha);
        }
        let mut run = value!({"id": self.runs.len() + 1, "app": {"id": APP}, "annotations": []});
        merge(&mut run, body);
        self.written.push(body.clone());
        self.runs.push(run.clone());
        json(201, &run)
    }

    /// forges.md §1a: text replaces, annotations append, and a completed run is not reopened.
    fn update(&mut self, id: &str, seen: &Seen) -> Response<Vec<u8>> {
        self.change(seen.at);
        check_run(&seen.body);
        let Some(run) = self
            .runs
            .iter_mut()
            .find(|run| run["id"] == id.parse::<u64>().unwrap())
        else {
            return json(404, &value!({"message": "Not Found"}));
        };
        let reopens = run["status"] == "completed" && seen.body["status"] != "completed";
        assert!(!reopens, "a completed run is not reopened");
        merge(run, &seen.body);
        let mut written = seen.body.clone();
        written["head_sha"] = run["head_sha"].clone();
        self.written.push(written);
        json(200, run)
    }

    /// forges.md §1e: what a user may do here.
    fn permission(&self, login: &str) -> Response<Vec<u8>> {
        match self.collaborators.get(login) {
            Some((permission, role)) => json(
                200,
                &value!({"permission": permission, "role_name": role, "user": {"login": login}}),
            ),
            None => json(404, &value!({"message": "Not Found"})),
        }
    }

    fn list(&self, sha: &str, query: &str) -> Response<Vec<u8>> {
        let query: BTreeMap<&str, &str> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .collect();
        let name = query["check_name"].replace("%2F", "/");
        let is_asked = |run: &&Value| {
            let app = query.get("app_id");
            run["head_sha"] == sha
                && run["name"] == name
                && app.is_none_or(|app| run["app"]["id"] == app.parse::<u64>().unwrap())
        };
        let mut runs: Vec<Value> = self.runs.iter().filter(is_asked).cloned().collect();
        for run in &mut runs {
            let count = run["annotations"].as_array().unwrap().len();
            run["output"]["annotations_count"] = count.into();
        }
        json(
            200,
            &value!({"total_count": runs.len(), "check_runs": runs}),
        )
    }

    /// forges.md §1b.
    fn status(&mut self, sha: &str, seen: &Seen) -> Response<Vec<u8>> {
        self.change(seen.at);
        let body = &seen.body;
        let state = text(body, "state");
        assert!(["error", "failure", "pending", "success"].contains(&state));
        assert!(
            text(body, "description").chars().count() <= 140,
            "description"
        );
        let context = text(body, "context");
        assert!(!context.is_empty() && context.chars().count() <= 255);
        assert_ne!(body["target_url"], "");
        if !(self.has)(sha) {
            return unknown(sha);
        }
        let rows = self.statuses.entry(sha.to_owned()).or_default();
        let is_same = |row: &&Value| text(row, "context").eq_ignore_ascii_case(context);
        if rows.iter().filter(is_same).count() >= 1000 {
            return refused("This SHA and context has reached the maximum number of statuses.");
        }
        rows.push(body.clone());
        json(201, body)
    }

    /// Newest first.
    fn statuses(&self, sha: &str, query: &str) -> Response<Vec<u8>> {
        let page: usize = query.rsplit_once("page=").unwrap().1.parse().unwrap();
        let rows = self.statuses.get(sha).into_iter().flatten().rev();
        let rows: Vec<&Value> = rows.skip((page - 1) * 100).take(100).collect();
        json(200, &value!(rows))
    }

    /// forges.md §1c.
    fn issue(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        self.by_app(seen);
        assert_eq!(seen.body, value!({"repositories": ["r"]}));
        let end = self.now(seen.at) + 3600;
        let token = format!("ghs_{}", self.issued.len() + 1);
        self.issued.insert(token.clone(), end);
        let end = Timestamp::from_second(end).unwrap();
        json(
            201,
            &value!({"token": token, "expires_at": end.to_string()}),
        )
    }

    fn by_app(&self, seen: &Seen) {
        let token = seen
            .header("authorization")
            .strip_prefix("Bearer ")
            .unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let [head, claims, signature] = parts[..] else {
            panic!("not a JWT: {token}");
        };
        let signed = format!("{head}.{claims}");
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let key = public_key();
        let kind = &ring::signature::RSA_PKCS1_2048_8192_SHA256;
        let key = ring::signature::UnparsedPublicKey::new(kind, key);
        key.verify(signed.as_bytes(), &signature).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(claims).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        let now = self.now(seen.at);
        let (begin, end) = (
            claims["iat"].as_i64().unwrap(),
            claims["exp"].as_i64().unwrap(),
        );
        assert!(begin <= now && now < end && end <= now + 600, "{claims}");
        assert_eq!(claims["iss"], APP.to_string());
    }
}

impl Server for GitHub {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        assert_eq!(seen.host, self.api.0);
        // forges.md §1d.
        assert!(!seen.header("user-agent").is_empty());
        assert_eq!(seen.header("accept"), "application/vnd.github+json");
        assert_eq!(seen.header("x-github-api-version"), "2022-11-28");
        let (method, line) = seen.line.split_once(' ').unwrap();
        let (path, query) = line.split_once('?').unwrap_or((line, ""));
        assert!(!path.ends_with('/'), "a trailing slash is a 404");
        let path = path.strip_prefix(self.api.1).expect("the API is below");
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match (method, &parts[..]) {
            ("GET", ["repos", "o", "r", "installation"]) => {
                self.by_app(seen);
                return json(200, &value!({"id": 7}));
            }
            ("POST", ["app", "installations", "7", "access_tokens"]) => return self.issue(seen),
            _ => {}
        }
        if let Some(refusal) = self.refusal(seen) {
            return refusal;
        }
        match (method, &parts[..]) {
            ("GET", ["repos", "o", "r"]) => json(200, &value!({})),
            ("GET", ["repos", "o", "r", "commits", sha]) => match (self.has)(sha) {
                true => json(200, &value!({})),
                false => unknown(sha),
            },
            ("GET", ["repos", "o", "r", "commits", sha, "pulls"]) => match (self.has)(sha) {
                true => json(200, &value!(self.pulls)),
                false => unknown(sha),
            },
            ("GET", ["repos", "o", "r", "pulls"]) => {
                let merged = "state=closed&sort=updated&direction=desc&per_page=50";
                let own =
                    "head=o%3Achange&base=main&state=all&sort=created&direction=desc&per_page=20";
                assert!([merged, own].contains(&query), "{query}");
                json(200, &value!([]))
            }
            ("GET", ["repos", "o", "r", "issues", _, "comments"]) => json(200, &value!([])),
            ("POST", ["repos", "o", "r", "check-runs"]) => self.create(seen),
            ("PATCH", ["repos", "o", "r", "check-runs", id]) => self.update(id, seen),
            ("GET", ["repos", "o", "r", "commits", sha, "check-runs"]) => self.list(sha, query),
            ("GET", ["repos", "o", "r", "collaborators", login, "permission"]) => {
                self.permission(login)
            }
            ("POST", ["repos", "o", "r", "statuses", sha]) => self.status(sha, seen),
            ("GET", ["repos", "o", "r", "commits", sha, "statuses"]) => self.statuses(sha, query),
            _ => panic!("no such request: {}", seen.line),
        }
    }
}

/// The key that verifies what our app signs.
fn public_key() -> Vec<u8> {
    let lines = KEY.lines().filter(|line| !line.starts_with('-'));
    let der = STANDARD.decode(lines.collect::<String>()).unwrap();
    let pair = RsaKeyPair::from_der(&der).unwrap();
    pair.public_key().as_ref().to_vec()
}

fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key}: {body}"))
}

/// forges.md §1d: 422 with a code.
fn refused(said: &str) -> Response<Vec<u8>> {
    json(422, &value!({"message": said, "status": "422"}))
}

/// forges.md §1a.
fn unknown(sha: &str) -> Response<Vec<u8>> {
    refused(&format!("No commit found for SHA: {sha}"))
}

/// The fields of a run (forges.md §1a).
fn check_run(body: &Value) {
    let known = [
        "name",
        "head_sha",
        "details_url",
        "external_id",
        "status",
        "conclusion",
        "output",
        "actions",
    ];
    for field in body.as_object().unwrap().keys() {
        assert!(known.contains(&field.as_str()), "unknown field {field}");
    }
    assert_ne!(body["details_url"], "", "an empty details_url is refused");
    let (status, conclusion) = (text(body, "status"), body["conclusion"].as_str());
    assert!(["queued", "in_progress", "completed"].contains(&status));
    assert_eq!(status == "completed", conclusion.is_some(), "conclusion");
    let conclusions = [
        "action_required",
        "cancelled",
        "failure",
        "neutral",
        "success",
        "skipped",
        "timed_out",
    ];
    assert!(conclusion.is_none_or(|conclusion| conclusions.contains(&conclusion)));
    let actions = body["actions"].as_array().map(Vec::as_slice);
    actions_of(actions.unwrap_or_default(), status);
    let output = &body["output"];
    assert!(!text(output, "title").is_empty());
    let summary = text(output, "summary").len();
    // forges.md §1a: bytes, not characters.
    assert!(
        (1..=65_535).contains(&summary),
        "summary of {summary} bytes"
    );
    let annotations = output["annotations"].as_array();
    let annotations = annotations.map(Vec::as_slice).unwrap_or_default();
    assert!(annotations.len() <= 50, "{} annotations", annotations.len());
    annotations.iter().for_each(annotation);
}

/// Buttons: three at most, on a completed run alone, with short texts (forges.md §1a).
fn actions_of(actions: &[Value], status: &str) {
    assert!(actions.len() <= 3, "{} actions", actions.len());
    assert!(actions.is_empty() || status == "completed", "{status}");
    for action in actions {
        for (field, most) in [("label", 20), ("description", 40), ("identifier", 20)] {
            let length = text(action, field).chars().count();
            assert!((1..=most).contains(&length), "{field} of {length}");
        }
        assert_eq!(action.as_object().unwrap().len(), 3, "{action}");
    }
}

fn annotation(annotation: &Value) {
    let path = text(annotation, "path");
    assert!(!path.is_empty() && !path.starts_with('/'), "{path}");
    let (start, end) = (&annotation["start_line"], &annotation["end_line"]);
    assert!(start.as_u64().unwrap() >= 1 && end.as_u64() >= start.as_u64());
    let columns = annotation.get("start_column").is_some();
    assert!(!columns || start == end, "columns of more than one line");
    let level = text(annotation, "annotation_level");
    assert!(["notice", "warning", "failure"].contains(&level), "{level}");
    let message = text(annotation, "message").len();
    assert!((1..=65_536).contains(&message));
}

fn merge(run: &mut Value, body: &Value) {
    for (field, new) in body.as_object().unwrap() {
        run[field] = new.clone();
    }
    if let Some(new) = body["output"]["annotations"].as_array() {
        run["annotations"]
            .as_array_mut()
            .unwrap()
            .extend(new.clone());
    }
}
