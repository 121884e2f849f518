//! A strict fake of a forge behind HTTPS on loopback, so that the shipped program can write to it.
//!
//! In: a [`Server`] and what arrives on the port. Out: its answers, and what it refused, which fails the test. It
//! does not know which forge it is.

use std::any::Any;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use http::header::HOST;
use http::{HeaderMap, Method, Response, Uri};

use super::fake::{Seen, Server};
use crate::tls::Port;

/// A fake with a port, until it is dropped.
pub(super) struct Front<S> {
    address: SocketAddr,
    /// The certificate that it is recognised by, in PEM.
    pub(super) authority: String,
    state: Arc<State<S>>,
    _runtime: tokio::runtime::Runtime,
}

struct State<S> {
    server: Arc<Mutex<S>>,
    lines: Mutex<Vec<String>>,
    /// Why requests were refused.
    refused: Mutex<Vec<String>>,
}

impl<S: Server> Front<S> {
    /// Serves what `make` returns for the host, such as `127.0.0.1:8443`.
    pub(super) fn start(make: impl FnOnce(&str) -> S) -> Self {
        let port = Port::open(None);
        let state = Arc::new(State {
            server: Arc::new(Mutex::new(make(&port.address.to_string()))),
            lines: Mutex::default(),
            refused: Mutex::default(),
        });
        let served = Arc::clone(&state);
        let answer = async move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            served.answer(&method, &uri, headers, &body)
        };
        Self {
            address: port.address,
            authority: String::from_utf8(port.authority.clone()).expect("PEM"),
            state,
            _runtime: port.serve(Router::new().fallback(answer)),
        }
    }

    /// `https://127.0.0.1:8443`
    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The fake, for who outlives this.
    pub(super) fn server(&self) -> Arc<Mutex<S>> {
        Arc::clone(&self.state.server)
    }

    /// Looks at the fake, or changes it.
    #[track_caller]
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut S) -> T) -> T {
        self.state.assert_none_refused();
        look(&mut self.state.server.lock().expect("no panic"))
    }

    /// The request lines since the last call.
    #[track_caller]
    pub(super) fn lines(&self) -> Vec<String> {
        self.state.assert_none_refused();
        std::mem::take(&mut *self.state.lines.lock().expect("no panic"))
    }
}

impl<S: Server> State<S> {
    fn answer(
        &self,
        method: &Method,
        uri: &Uri,
        headers: HeaderMap,
        body: &[u8],
    ) -> Response<Body> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.unwrap_or_default().to_owned();
        let seen = Seen::now(method, uri, host, headers, body);
        self.lines.lock().expect("no panic").push(seen.line.clone());
        let mut server = self.server.lock().expect("no panic");
        // A refusal is a panic: it must not end the port, which others would wait for.
        match catch_unwind(AssertUnwindSafe(|| server.answer(&seen))) {
            Ok(answer) => answer.map(Body::from),
            Err(panic) => {
                let why = format!("{}: {}", seen.line, text(&*panic));
                self.refused.lock().expect("no panic").push(why);
                let refused = Response::builder().status(400);
                refused.body(Body::empty()).expect("a response")
            }
        }
    }
}

impl<S> State<S> {
    fn refused(&self) -> Vec<String> {
        self.refused.lock().expect("no panic").clone()
    }

    #[track_caller]
    fn assert_none_refused(&self) {
        let refused = self.refused();
        assert!(
            refused.is_empty(),
            "the forge refuses:\n{}",
            refused.join("\n")
        );
    }
}

impl<S> Drop for Front<S> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.state.assert_none_refused();
        }
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "it panics".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forges::fake::github::GitHub;

    struct Never;

    impl Server for Never {
        fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
            panic!("no such request: {}", seen.line);
        }
    }

    fn ask<S>(front: &Front<S>, path: &str, headers: &[(&str, &str)]) -> u16
    where
        S: Server,
    {
        let authority = reqwest::Certificate::from_pem(front.authority.as_bytes());
        let client = reqwest::Client::builder().tls_certs_merge([authority.expect("valid")]);
        let client = client.no_proxy().build().expect("a client");
        let mut request = client.get(format!("{}{path}", front.url()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let answer = runtime.block_on(request.send()).expect("an answer");
        answer.status().as_u16()
    }

    /// The test of the tests: a request that the forge would refuse fails the test that caused it.
    #[test]
    #[should_panic(expected = "no such request: GET /x?y")]
    fn a_refused_request_fails_the_test() {
        let front = Front::start(|_| Never);
        assert_eq!(ask(&front, "/x?y", &[]), 400);
        drop(front);
    }

    #[test]
    fn a_fake_answers_on_a_port() {
        let front = Front::start(|host| GitHub::enterprise(host, |_| true));
        let headers = [
            ("user-agent", "tests"),
            ("accept", "application/vnd.github+json"),
            ("x-github-api-version", "2022-11-28"),
            ("authorization", "Bearer of-nobody"),
        ];
        assert_eq!(ask(&front, "/api/v3/repos/o/r", &headers), 401);
        assert_eq!(front.lines(), ["GET /api/v3/repos/o/r"]);
        assert_eq!(front.with(|github| github.runs.len()), 0);
    }
}
