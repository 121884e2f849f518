//! Repeats requests that an overloaded API server rejected, for a short time.
//!
//! In: a client. Out: one that repeats what was answered with 429, 503 or 504, honours `Retry-After`, and gives up
//! after some seconds: the answer then says why, and whoever asked decides whether to ask again. An answer about a
//! webhook that converts objects is not repeated: it is not the API server that is overloaded, and it stays so until
//! somebody repairs the webhook. It does not know what is asked.

use std::time::Duration;

use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use kube::Client;
use kube::client::Body;
use tokio::time::{Instant, sleep};

use super::refusal::CONVERSION;

/// How long a request is repeated: shorter than anybody waits for an answer.
const LONGEST: Duration = Duration::from_secs(10);
/// The first pause; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause that the API server did not ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The most bytes of an answer that only says why there is none.
const MOST_BYTES: usize = 1 << 20;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The same client, which repeats rejected requests. `client` itself must not.
pub(super) fn repeating(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request| repeat(client.clone(), request));
    Client::new(service, namespace)
}

async fn repeat(client: Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let deadline = Instant::now() + LONGEST;
    let mut pause = FIRST_PAUSE;
    let mut next = request;
    loop {
        let again = copy(&next);
        let response = client.send(next).await?;
        let (Some(again), true) = (again, is_rejected(response.status())) else {
            return Ok(response);
        };
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MOST_BYTES).collect().await?.to_bytes();
        let wait = retry_after(&parts.headers).unwrap_or_default().max(pause);
        let lasts = String::from_utf8_lossy(&body).contains(CONVERSION);
        if lasts || Instant::now() + wait > deadline {
            return Ok(Response::from_parts(parts, Body::from(body)));
        }
        sleep(wait).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        next = again;
    }
}

/// The request once more; `None` if its body cannot be sent twice.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

const fn is_rejected(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// The pause that the API server asks for; dates are not used by any.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?;
    // A pause that is too long to add to a time is longer than anybody waits.
    let seconds: u64 = seconds.parse().ok()?;
    Some(Duration::from_secs(seconds.min(3600)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::{Arc, Mutex};

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;
    use kube::api::ListParams;

    use super::*;

    /// The seconds at which a list is asked for, and its error, when each answer is `status` with `message`.
    async fn listed(
        status: u16,
        after: Option<&'static str>,
        message: &str,
        failures: usize,
    ) -> (Vec<u64>, Option<String>) {
        let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let (asked, message) = (Arc::clone(&times), message.to_owned());
        let service = tower::service_fn(move |_: Request<Body>| {
            let mut times = asked.lock().unwrap();
            times.push(start.elapsed().as_secs());
            let fails = times.len() <= failures;
            let body = match fails {
                true => {
                    serde_json::json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": "TooManyRequests", "code": status})
                }
                false => {
                    serde_json::json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": []})
                }
            };
            let mut response = Response::builder().status(if fails { status } else { 200 });
            if let Some(after) = after {
                response = response.header("Retry-After", after);
            }
            let response = response.body(Body::from(body.to_string().into_bytes()));
            std::future::ready(response)
        });
        let api: Api<ConfigMap> = Api::all(repeating(Client::new(service, "default")));
        let error = api.list(&ListParams::default()).await.err();
        let times = times.lock().unwrap().clone();
        (times, error.map(|error| error.to_string()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejected_request_is_repeated_until_it_is_answered() {
        let (times, error) = listed(429, Some("1"), "too many", 3).await;
        assert_eq!((times, error), (vec![0, 1, 2, 3], None));
        let (times, error) = listed(503, None, "starting", 5).await;
        assert_eq!((times.len(), error), (6, None));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_given_up_with_the_answer_of_the_server() {
        for (status, after) in [
            (429, Some("1")),
            (503, None),
            (504, Some("3")),
            (503, Some("4000")),
        ] {
            let (times, error) = listed(status, after, "down for long", usize::MAX).await;
            assert!(times.iter().all(|second| *second <= 10), "{times:?}");
            assert!(error.is_some_and(|error| error.contains("down for long")));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn other_refusals_and_webhooks_that_are_down_are_not_repeated() {
        let (times, _) = listed(500, Some("1"), "boom", usize::MAX).await;
        assert_eq!(times, [0]);
        let message = "storage is (re)initializing: failed to list g/v1, Kind=K: conversion webhook for g/v2, Kind=K failed: Post \"https://x\": service \"x\" not found";
        let (times, error) = listed(429, Some("1"), message, usize::MAX).await;
        assert_eq!(times, [0]);
        assert!(error.is_some_and(|error| error.contains(message)));
    }
}
