//! Answers: JSON, nothing, or a problem.

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::Value as Json;

use crate::provider::problem::{Problem, ProblemKind};

/// A problem as an answer. Its body is written once the ID of the request is known.
pub(super) struct Answer(Problem);

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        let status = StatusCode::from_u16(self.0.status());
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.extensions_mut().insert(self.0);
        response
    }
}

/// Writes the problem of a response, if it has one.
pub(super) fn written(mut response: Response, id: &str) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else {
        return response;
    };
    *response.body_mut() = problem.body(id).to_string().into();
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    if let Some(seconds) = problem.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.kind == ProblemKind::Unauthenticated {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// An answer with a body.
pub(super) fn json(status: StatusCode, body: &Json) -> Response {
    written_json(status, body.to_string().into())
}

/// An answer with a body that is JSON already.
pub(super) fn written_json(status: StatusCode, body: Bytes) -> Response {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, kind, body).into_response()
}

/// An answer without one.
pub(super) fn no_content() -> Response {
    StatusCode::NO_CONTENT.into_response()
}
