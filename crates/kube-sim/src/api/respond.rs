//! Responses.

use axum::body::Body;
use http::{Response, StatusCode, header};
use serde_json::Value;

use super::status::Refusal;

/// A JSON answer.
pub(super) fn response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A JSON value as an answer.
pub(super) fn json_response(status: StatusCode, value: &Value) -> Response<Body> {
    response(status, value.to_string().into())
}

/// A refusal as an answer.
pub(super) fn refused(refusal: &Refusal) -> Response<Body> {
    let status = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, &refusal.value());
    warn(&mut response, &refusal.warnings);
    response
}

/// Tells `warnings` in the headers of an answer.
pub(super) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for warning in warnings {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
        let value = format!("299 - \"{text}\"");
        if let Ok(value) = header::HeaderValue::from_bytes(value.as_bytes()) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// A plain page.
pub(super) fn page(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = response(status, text.into());
    let plain = header::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
