//! A conversation with a server, written down.
//!
//! Paths are short: `configmaps/a` is a ConfigMap in the session's own namespace, `things/a` an object
//! of the [`super::conformance`] kind; what starts with `/` is a path as it is.

use std::sync::Mutex;
use std::time::Duration;

use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value as Json, json};

use crate::reply::{Detail, Names, Reply};
use crate::servers::Server;

/// The API group of the kinds that the suite installs.
pub(crate) const GROUP: &str = "conformance.capstan.dev";

/// How long anything may take. The controllers of a real server look at every definition again after
/// five minutes, and only then at what they lost sight of before.
const PATIENCE: Duration = Duration::from_secs(400);

pub(crate) struct Session {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) namespace: String,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    names: Names,
    text: String,
}

/// A request in the making.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: &'static str,
    path: String,
    headers: Vec<(header::HeaderName, String)>,
    body: Vec<u8>,
    detail: Detail,
    silent: bool,
}

impl Ask {
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            detail: Detail::Whole,
            silent: false,
        }
    }

    pub(crate) fn header(mut self, name: header::HeaderName, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn body(self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut ask = self.header(header::CONTENT_TYPE, media_type);
        ask.body = body.into();
        ask
    }

    pub(crate) fn json(self, body: &Json) -> Self {
        self.body("application/json", body.to_string())
    }

    /// The causes of a refusal may come in any order.
    pub(crate) const fn sorted(mut self) -> Self {
        self.detail = Detail::Sorted;
        self
    }

    /// Only code, reason and fields of a refusal are compared.
    pub(crate) const fn gist(mut self) -> Self {
        self.detail = Detail::Gist;
        self
    }

    /// The answer is not written down.
    pub(crate) const fn silent(mut self) -> Self {
        self.silent = true;
        self
    }
}

impl Session {
    /// A conversation in a namespace of its own, which is made.
    pub(crate) async fn open(server: Server, namespace: &str) -> Self {
        let client = server.client().await;
        Self::with(server, client, namespace).await
    }

    /// As [`Self::open`], through a client that others use, too.
    pub(crate) async fn with(server: Server, client: Client, namespace: &str) -> Self {
        let session = Self {
            client,
            server,
            namespace: namespace.to_owned(),
            written: Mutex::default(),
        };
        let made = json!({"metadata": {"name": namespace}});
        let ask = Ask::new("POST", "/api/v1/namespaces").json(&made).silent();
        let reply = session.send(ask).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        session
    }

    /// The transcript so far.
    pub(crate) fn transcript(&self) -> String {
        self.written.lock().expect("nobody panicked").text.clone()
    }

    /// A line between the answers.
    pub(crate) fn note(&self, line: &str) {
        let mut written = self.written.lock().expect("nobody panicked");
        written.text.push_str(&format!("# {line}\n"));
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Ask::new("GET", path)).await
    }

    pub(crate) async fn post(&self, path: &str, object: &Json) -> Reply {
        self.send(Ask::new("POST", path).json(object)).await
    }

    pub(crate) async fn put(&self, path: &str, object: &Json) -> Reply {
        self.send(Ask::new("PUT", path).json(object)).await
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Json) -> Reply {
        self.patch(path, "application/merge-patch+json", patch)
            .await
    }

    pub(crate) async fn json_patch(&self, path: &str, patch: &Json) -> Reply {
        self.patch(path, "application/json-patch+json", patch).await
    }

    pub(crate) async fn strategic(&self, path: &str, patch: &Json) -> Reply {
        self.patch(path, "application/strategic-merge-patch+json", patch)
            .await
    }

    /// Server-side apply; the manager and `force` are in the query.
    pub(crate) async fn apply(&self, path: &str, config: &Json) -> Reply {
        self.patch(path, "application/apply-patch+yaml", config)
            .await
    }

    async fn patch(&self, path: &str, media_type: &str, patch: &Json) -> Reply {
        let ask = Ask::new("PATCH", path).body(media_type, patch.to_string());
        self.send(ask).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(Ask::new("DELETE", path)).await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: &Json) -> Reply {
        self.send(Ask::new("DELETE", path).json(options)).await
    }

    /// Sends, and writes the answer down.
    pub(crate) async fn send(&self, ask: Ask) -> Reply {
        let (method, path, detail, silent) = (ask.method, ask.path.clone(), ask.detail, ask.silent);
        let reply = tokio::time::timeout(PATIENCE, self.exchange(ask)).await;
        let reply = reply.unwrap_or_else(|_| panic!("{method} {path}: no answer"));
        if !silent {
            let mut written = self.written.lock().expect("nobody panicked");
            let lines = written.names.lines(&reply, detail);
            let asked = self.shown(method, &path);
            written.text.push_str(&format!("> {asked}\n{lines}"));
        }
        reply
    }

    /// A server that still makes the storage of a new kind is asked again.
    async fn exchange(&self, ask: Ask) -> Reply {
        loop {
            let reply = self.exchange_once(ask.clone()).await;
            if reply.status != 429 || !reply.text.contains("storage is (re)initializing") {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn exchange_once(&self, ask: Ask) -> Reply {
        let response = self.client.send(self.request(ask)).await;
        let response = response.expect("the server can be reached");
        let warnings = response.headers().get_all(header::WARNING).iter();
        let warnings = warnings.map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned());
        let (status, warnings) = (response.status().as_u16(), warnings.collect());
        let body = response.into_body().collect().await;
        let body = body.expect("the body can be read").to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        Reply {
            status,
            warnings,
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
        }
    }

    fn request(&self, ask: Ask) -> Request<Body> {
        let mut request = Request::builder()
            .method(ask.method)
            .uri(self.path(&ask.path));
        let of_agent = |(name, _): &(header::HeaderName, String)| *name == header::USER_AGENT;
        if !ask.headers.iter().any(of_agent) {
            request = request.header(header::USER_AGENT, "suite/1");
        }
        for (name, value) in ask.headers {
            request = request.header(name, value);
        }
        request.body(Body::from(ask.body)).expect("a request")
    }

    /// How a request is written in the transcript; continue tokens and versions are not shown.
    fn shown(&self, method: &str, path: &str) -> String {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<String> = query
            .split('&')
            .filter(|part| !part.is_empty())
            .map(|part| match part.split_once('=') {
                Some(("continue", _)) => "continue=(token)".into(),
                Some(("resourceVersion", version)) if !["", "0", "1"].contains(&version) => {
                    "resourceVersion=(version)".into()
                }
                _ => part.to_owned(),
            })
            .collect();
        let mark = if parts.is_empty() { "" } else { "?" };
        format!("{method} {path}{mark}{}", parts.join("&"))
    }

    /// The API group of the kind that the behaviour has for itself, `Widget`.
    pub(crate) fn group(&self) -> String {
        format!("{}.capstan.dev", self.namespace)
    }

    /// The whole path for a short one.
    pub(crate) fn path(&self, short: &str) -> String {
        if short.starts_with('/') {
            return short.to_owned();
        }
        let plural = short.split(['/', '?']).next().unwrap_or_default();
        let group = match plural {
            "things" | "rules" => format!("/apis/{GROUP}/v1"),
            "orbits" => return format!("/apis/{GROUP}/v1/{short}"),
            "deployments" | "replicasets" | "statefulsets" => "/apis/apps/v1".to_owned(),
            "leases" => "/apis/coordination.k8s.io/v1".to_owned(),
            "events" => "/apis/events.k8s.io/v1".to_owned(),
            "customresourcedefinitions" => {
                return format!("/apis/apiextensions.k8s.io/v1/{short}");
            }
            "widgets" => format!("/apis/{}/v1", self.group()),
            "namespaces" => return format!("/api/v1/{short}"),
            _ => "/api/v1".to_owned(),
        };
        format!("{group}/namespaces/{}/{short}", self.namespace)
    }

    /// Asks until the answer is as wanted, and writes only that one down.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Reply) -> bool) -> Reply {
        self.meet(path, wanted).await;
        self.get(path).await
    }

    /// Asks until the answer is as wanted, and writes nothing down.
    pub(crate) async fn meet(&self, path: &str, wanted: impl Fn(&Reply) -> bool) {
        self.meet_as(&Ask::new("GET", path), wanted).await;
    }

    /// As [`Self::meet`], with any request.
    pub(crate) async fn meet_as(&self, ask: &Ask, wanted: impl Fn(&Reply) -> bool) -> Reply {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let reply = self.send(ask.clone().silent()).await;
            if wanted(&reply) {
                return reply;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "{} never came to be as wanted; last: {} {}",
                ask.path,
                reply.status,
                reply.text
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Installs a definition and waits until its kind is served.
    pub(crate) async fn install(&self, definition: &Json) {
        let ask = Ask::new("POST", "customresourcedefinitions");
        let reply = self.send(ask.json(definition).silent()).await;
        assert!(matches!(reply.status, 201 | 409), "{}", reply.text);
        let path = first_of(definition, &definition["spec"]["versions"][0]);
        self.meet(&path, |reply| reply.status == 200).await;
    }

    /// Deletes a definition. Its storage is opened first: a real server that has to open it to see
    /// whether objects are left may lose sight of the deletion for minutes.
    pub(crate) async fn uninstall(&self, path: &str) {
        let definition = self.send(Ask::new("GET", path).silent()).await.body;
        let mut versions = definition["spec"]["versions"]
            .as_array()
            .into_iter()
            .flatten();
        if let Some(stored) = versions.find(|version| version["storage"] == true) {
            let listed = Ask::new("GET", &first_of(&definition, stored));
            self.send(listed.silent()).await;
        }
        self.send(Ask::new("DELETE", path).silent()).await;
    }

    /// Opens a watch; `path` has its query, less `watch=true`. A refusal is written down at once.
    pub(crate) async fn watch(&self, path: &str) -> Watch<'_> {
        self.watch_as(Ask::new("GET", path)).await
    }

    /// As [`Self::watch`], with headers.
    pub(crate) async fn watch_as(&self, mut ask: Ask) -> Watch<'_> {
        self.note(&self.shown("WATCH", &ask.path));
        let mark = if ask.path.contains('?') { '&' } else { '?' };
        ask.path = format!("{}{mark}watch=true", ask.path);
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let mut watch = loop {
            let response = self.client.send(self.request(ask.clone())).await;
            let response = response.expect("the server can be reached");
            // The storage of a kind that is new may be about to open.
            let busy = response.status() == 429 && tokio::time::Instant::now() < deadline;
            if !busy {
                break Watch {
                    session: self,
                    status: response.status().as_u16(),
                    body: response.into_body(),
                    pending: Vec::new(),
                };
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        if watch.status != 200 {
            watch.next().await;
        }
        watch
    }
}

/// The path to the first object of a definition's kind in one of its versions.
fn first_of(definition: &Json, version: &Json) -> String {
    let spec = &definition["spec"];
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    format!(
        "/apis/{}/{}/{}?limit=1",
        text(&spec["group"]),
        text(&version["name"]),
        text(&spec["names"]["plural"])
    )
}

/// An open watch.
pub(crate) struct Watch<'a> {
    session: &'a Session,
    status: u16,
    body: Body,
    pending: Vec<u8>,
}

fn event(line: &str) -> Json {
    serde_json::from_str(line).expect("an event is JSON")
}

impl Watch<'_> {
    /// The next event, written down; null at the end. How far the server has come, which it may say at
    /// any time, is passed over.
    pub(crate) async fn next(&mut self) -> Json {
        loop {
            let line = self.line_in_time().await;
            let event = line.as_deref().map_or(Json::Null, event);
            let marks = event["type"] == "BOOKMARK";
            if !marks || event["object"]["metadata"]["annotations"].is_object() {
                return self.write_down(line.as_deref());
            }
        }
    }

    /// The next event, whatever it is.
    pub(crate) async fn next_of_all(&mut self) -> Json {
        let line = self.line_in_time().await;
        self.write_down(line.as_deref())
    }

    async fn line_in_time(&mut self) -> Option<String> {
        let line = tokio::time::timeout(PATIENCE, self.line()).await;
        line.expect("an event in time")
    }

    fn write_down(&self, line: Option<&str>) -> Json {
        let mut written = self.session.written.lock().expect("nobody panicked");
        let (event, lines) = match line {
            None => (Json::Null, "(end)\n".to_owned()),
            Some(line) => {
                let event = event(line);
                let lines = match self.status {
                    200 => written.names.event(&event),
                    status => written
                        .names
                        .event(&json!({"type": status.to_string(), "object": event})),
                };
                (event, lines)
            }
        };
        written.text.push_str(&format!("< {lines}"));
        event
    }

    /// The next `count` events.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Json> {
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(self.next().await);
        }
        events
    }

    /// The next line that is not empty.
    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                let line = String::from_utf8(line).expect("events are text");
                if !line.trim().is_empty() {
                    return Some(line);
                }
                continue;
            }
            let Some(frame) = self.body.frame().await else {
                let rest = std::mem::take(&mut self.pending);
                let rest = String::from_utf8(rest).expect("events are text");
                return Some(rest).filter(|rest| !rest.trim().is_empty());
            };
            let frame = frame.expect("the watch can be read");
            self.pending.extend(frame.into_data().unwrap_or_default());
        }
    }
}
