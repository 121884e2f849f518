//! A server of git over HTTPS: `git http-backend` behind TLS and a password. What it does wrong is set by a
//! test.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use capstan::model::cut;
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http_body_util::BodyExt as _;

use crate::tls::Port;

/// Whether it takes a value of the header Authorization.
pub(crate) type Accepts = Box<dyn Fn(&str) -> bool + Send>;

/// What a test makes the server do.
#[derive(Default)]
pub(crate) struct Behaviour {
    /// The accepted value of the header Authorization; any without.
    pub(crate) authorization: Option<String>,
    /// The same by what accepts a value.
    pub(crate) accepts: Option<Accepts>,
    /// Paths that begin with the first are redirected to the second, by this status.
    pub(crate) redirect: Option<(String, String, u16)>,
    /// Requests whose URL contains this are answered with this status and HTML.
    pub(crate) page: Option<(String, u16)>,
    /// Answers to POST end after so many bytes.
    pub(crate) cut: Option<usize>,
    /// Answers never come.
    pub(crate) silent: bool,
    /// Answers do not come to requests whose URL or body contains this, as long as it is set.
    pub(crate) withheld: Option<String>,
    /// Done before the next POST is served.
    pub(crate) before_post: Option<Box<dyn FnOnce() + Send>>,
}

/// A request, as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) authorization: Option<String>,
}

struct State {
    root: PathBuf,
    behaviour: Mutex<Behaviour>,
    seen: Mutex<Vec<Seen>>,
}

/// A running server, which ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The certificate that it is recognised by, in PEM.
    pub(crate) authority: Vec<u8>,
    state: Arc<State>,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    /// Serves the repositories in `root`.
    pub(crate) fn start(root: &Path) -> Self {
        Self::with(root, None)
    }

    /// The same for clients with a certificate of `clients`, in DER.
    pub(crate) fn with(root: &Path, clients: Option<&rustls::RootCertStore>) -> Self {
        let state = Arc::new(State {
            root: root.to_owned(),
            behaviour: Mutex::default(),
            seen: Mutex::default(),
        });
        let served = Arc::clone(&state);
        let router = Router::new().fallback(move |request| answer(Arc::clone(&served), request));
        let port = Port::open(clients);
        Self {
            address: port.address,
            authority: port.authority.clone(),
            state,
            _runtime: port.serve(router),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    pub(crate) fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.state.behaviour.lock().expect("no panic"));
    }

    /// The requests since the last call.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.state.seen.lock().expect("no panic"))
    }
}

fn plain(status: u16) -> http::response::Builder {
    Response::builder().status(StatusCode::from_u16(status).expect("a status"))
}

async fn answer(state: Arc<State>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    let (uri, is_post) = (head.uri.to_string(), head.method == http::Method::POST);
    let authorization = head.headers.get(AUTHORIZATION);
    let authorization = authorization.map(|value| value.to_str().expect("text").to_owned());
    state.seen.lock().expect("no panic").push(Seen {
        method: head.method.to_string(),
        uri: uri.clone(),
        authorization: authorization.clone(),
    });
    let (cut, silent, before) = {
        let mut behaviour = state.behaviour.lock().expect("no panic");
        if let Some((from, to, status)) = &behaviour.redirect
            && let Some(rest) = uri.strip_prefix(from.as_str())
        {
            let answer = plain(*status).header(LOCATION, format!("{to}{rest}"));
            return answer.body(Body::empty()).expect("a response");
        }
        let sent = authorization.as_deref().unwrap_or_default();
        let is_refused = behaviour
            .accepts
            .as_ref()
            .is_some_and(|accepts| !accepts(sent));
        if is_refused
            || behaviour.authorization.is_some() && behaviour.authorization != authorization
        {
            let answer = plain(401).header("WWW-Authenticate", "Basic realm=\"git\"");
            return answer.body(Body::empty()).expect("a response");
        }
        if let Some((part, status)) = &behaviour.page
            && uri.contains(part)
        {
            let answer = plain(*status).header(CONTENT_TYPE, "text/html; charset=utf-8");
            return answer
                .body(Body::from("<html>Sign in</html>"))
                .expect("a response");
        }
        let before = behaviour.before_post.take_if(|_| is_post);
        (behaviour.cut.filter(|_| is_post), behaviour.silent, before)
    };
    if silent {
        std::future::pending::<()>().await;
    }
    let body = body.unwrap_or_default();
    while is_withheld(&state, &uri, &body) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let served = tokio::task::spawn_blocking(move || {
        if let Some(before) = before {
            before();
        }
        backend(&state.root, &head, &body)
    });
    let (builder, body) = served.await.expect("no panic");
    let body = match cut {
        None => Body::from(body),
        Some(size) => {
            let start = Bytes::copy_from_slice(&body[..size.min(body.len())]);
            let end = std::io::Error::other("cut");
            Body::from_stream(futures::stream::iter([Ok(start), Err(end)]))
        }
    };
    builder.body(body).expect("a response")
}

fn is_withheld(state: &State, uri: &str, body: &[u8]) -> bool {
    let behaviour = state.behaviour.lock().expect("no panic");
    let part = behaviour.withheld.as_deref();
    part.is_some_and(|part| uri.contains(part) || String::from_utf8_lossy(body).contains(part))
}

/// Runs `git http-backend`, which speaks CGI.
fn backend(
    root: &Path,
    head: &http::request::Parts,
    body: &[u8],
) -> (http::response::Builder, Vec<u8>) {
    let header = |name| {
        head.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", head.uri.path())
        .env("QUERY_STRING", head.uri.query().unwrap_or_default())
        .env("REQUEST_METHOD", head.method.as_str())
        .env("CONTENT_TYPE", header(CONTENT_TYPE))
        .env("REMOTE_USER", "capstan")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git runs");
    let mut stdin = child.stdin.take().expect("piped");
    let body = body.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let output = child.wait_with_output().expect("it ends").stdout;
    writer.join().expect("no panic");
    let end = output
        .windows(4)
        .position(|part| part == b"\r\n\r\n")
        .expect("headers");
    let mut builder = Response::builder();
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let (name, value) = line.split_once(": ").expect("a header");
        builder = match name {
            "Status" => builder.status(cut::head(value, 3).parse::<u16>().expect("a number")),
            name => builder.header(name, value),
        };
    }
    (builder, output[end + 4..].to_vec())
}
