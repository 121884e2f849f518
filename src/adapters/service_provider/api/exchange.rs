//! Every exchange of a request and its answer: its ID, its limits, its line in the log.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::answer::{Answer, written};
use crate::model::hex;
use crate::provider::problem::{Problem, ProblemKind};
use crate::provider::request::instance_id;

/// The largest body of a request, in bytes. A request is a page at most.
const LARGEST: usize = 64 << 10;
/// The longest `Idempotency-Key`.
const LONGEST_KEY: usize = 255;
/// The most parameters of a query.
const MOST_PARAMETERS: usize = 16;

/// Gives a request its ID, and logs its end. The path of a request is a stranger's text: it is logged as far as it is one of ours.
pub(super) async fn name(request: Request, next: Next) -> Response {
    let id = request_id();
    let method = request.method().clone();
    let path = shown(request.uri());
    let begun = Instant::now();
    let mut response = written(next.run(request).await, &id);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", value);
    }
    let status = response.status().as_u16();
    let milliseconds = begun.elapsed().as_millis();
    tracing::info!(request = id, %method, path, status, milliseconds, "service provider request");
    response
}

/// Answers in time, whatever happens behind it.
pub(super) async fn guard(State(most): State<Duration>, request: Request, next: Next) -> Response {
    // What was begun is not cut in the middle by a client that leaves.
    let work = tokio::spawn(AssertUnwindSafe(next.run(request)).catch_unwind());
    let problem = match tokio::time::timeout(most, work).await {
        Ok(Ok(Ok(response))) => return response,
        Ok(_) => Problem::new(ProblemKind::Internal, "an unexpected error occurred"),
        Err(_) => Problem::later(
            "the request takes longer than expected and may still succeed: read the cluster, or repeat the request with the same Idempotency-Key",
            5,
        ),
    };
    Answer::from(problem).into_response()
}

fn request_id() -> String {
    let mut bytes = [0; 16];
    // Without random numbers, an ID repeats; nothing depends on it.
    let _ = SystemRandom::new().fill(&mut bytes);
    hex(&bytes)
}

fn shown(uri: &Uri) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-._".contains(c);
    let path = uri.path();
    if path.len() <= 128 && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        "(another path)".to_owned()
    }
}

/// The parameters of a query, each once.
pub(super) fn parameters(uri: &Uri) -> Result<BTreeMap<String, String>, Problem> {
    let query = uri.query().unwrap_or_default();
    let mut parameters = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()).take(MOST_PARAMETERS) {
        if parameters
            .insert(name.to_string(), value.into_owned())
            .is_some()
        {
            return Err(Problem::invalid("a parameter is given twice"));
        }
    }
    Ok(parameters)
}

/// The ID that the client chose.
pub(super) fn chosen_id(parameters: &BTreeMap<String, String>) -> Result<Option<String>, Problem> {
    instance_id(parameters.get("id").map(String::as_str))
}

/// The digest of the header `Idempotency-Key`. The key is a stranger's text and goes nowhere.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut keys = headers.get_all("idempotency-key").iter();
    let Some(key) = keys.next() else {
        return Ok(None);
    };
    let is_valid = (1..=LONGEST_KEY).contains(&key.len()) && keys.next().is_none();
    if !is_valid {
        let detail =
            format!("the header Idempotency-Key must have 1 to {LONGEST_KEY} characters, once");
        return Err(Problem::invalid(detail));
    }
    Ok(Some(hex(&Sha256::digest(key.as_bytes()))))
}

/// The body of a request, which must be JSON and not too large.
pub(super) async fn body(request: Request) -> Result<Bytes, Problem> {
    let kind = request.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let detail = "request body: header Content-Type has unexpected value: use application/json";
        return Err(Problem::invalid(detail));
    }
    match Limited::new(request.into_body(), LARGEST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let detail = format!("request body: must have at most {LARGEST} bytes");
            Err(Problem::invalid(detail).with_status(413, "Content Too Large"))
        }
        Err(_) => Err(Problem::invalid("request body: it ended early")),
    }
}
