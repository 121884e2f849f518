//! Strict fakes of forges: each answers as the real one does, and panics on a request that the real one would
//! refuse. The library's unit tests and the suite share them, so nothing here names either: it knows requests and
//! answers, not who carries them.

// Each of the two uses its part.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

pub(crate) mod azure_devops;
pub(crate) mod github;

use http::{HeaderMap, Method, Response, Uri};
use serde_json::Value;
use tokio::time::Instant;

/// The commit that unit tests write about.
pub(crate) const HEAD: &str = "69b59063470310ebbd88a9156325322a124e55a3";

/// A request as a server sees it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// `POST /path?query`, as on the wire.
    pub(crate) line: String,
    pub(crate) host: String,
    pub(crate) headers: HeaderMap,
    /// Null without a body.
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

impl Seen {
    /// A request that arrives now.
    pub(crate) fn now(
        method: &Method,
        uri: &Uri,
        host: String,
        headers: HeaderMap,
        body: &[u8],
    ) -> Self {
        let path = uri.path_and_query().unwrap();
        Self {
            line: format!("{method} {path}"),
            host,
            headers,
            body: serde_json::from_slice(body).unwrap_or_default(),
            at: Instant::now(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default()
    }
}

/// What a fake of a forge answers.
pub(crate) trait Server: Send + 'static {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>>;
}

/// An answer with a JSON body.
pub(crate) fn json(status: u16, body: &Value) -> Response<Vec<u8>> {
    with(
        status,
        &[("content-type", "application/json; charset=utf-8")],
        &body.to_string(),
    )
}

/// An answer with headers.
pub(crate) fn with(status: u16, headers: &[(&str, &str)], body: &str) -> Response<Vec<u8>> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.as_bytes().to_vec()).unwrap()
}
