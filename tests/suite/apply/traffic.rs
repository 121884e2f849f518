//! How the runner treats the API server, and what it makes of a bad day.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use capstan::apply::State;
use http::{Method, StatusCode};
use serde_json::json;

use super::fixture::{Fixture, is_of_the_parent};
use crate::daemon::identity;

/// ConfigMaps that need nothing.
fn config_maps(count: usize) -> String {
    (0..count)
        .map(|at| {
            format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{at}, namespace: default}}}}\n")
        })
        .collect()
}

fn refusal(code: StatusCode, retry_after: u32) -> Response {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code.as_u16(),
        "reason": "Unavailable", "message": "not now", "details": {"retryAfterSeconds": retry_after},
    });
    let mut response = Response::new(Body::from(status.to_string()));
    *response.status_mut() = code;
    response
}

/// The server, but the first apply is answered by `answer`.
fn once<F: Future<Output = Response> + Send + 'static>(
    fixture: &Fixture,
    answer: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> Router {
    let asked = Arc::new(AtomicUsize::new(0));
    let layer = from_fn(move |request: Request, next: Next| {
        let (asked, answer) = (Arc::clone(&asked), answer.clone());
        async move {
            let patch = request.method() == Method::PATCH && !is_of_the_parent(&request);
            match patch && asked.fetch_add(1, Ordering::SeqCst) == 0 {
                true => answer().await,
                false => next.run(request).await,
            }
        }
    });
    fixture.server.router().layer(layer)
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_are_under_way_than_allowed() {
    let fixture = Fixture::new();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (open, peak) = (Arc::clone(&now), Arc::clone(&most));
    let counted = from_fn(move |request: Request, next: Next| {
        let (open, peak) = (Arc::clone(&open), Arc::clone(&peak));
        async move {
            if request.method() != Method::PATCH {
                return next.run(request).await;
            }
            peak.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(50)).await;
            let response = next.run(request).await;
            open.fetch_sub(1, Ordering::SeqCst);
            response
        }
    });
    let router = fixture.server.router().layer(counted);
    fixture
        .run_through(router, &config_maps(40), 4)
        .until_ready()
        .await;
    assert_eq!(most.load(Ordering::SeqCst), 4);
    assert_eq!(now.load(Ordering::SeqCst), 0);
}

/// Answers every fifth request with 503.
fn stormy(fixture: &Fixture) -> Router {
    let count = Arc::new(AtomicUsize::new(0));
    fixture
        .server
        .router()
        .layer(from_fn(move |request: Request, next: Next| {
            let count = Arc::clone(&count);
            async move {
                match count.fetch_add(1, Ordering::SeqCst) % 5 {
                    0 => refusal(StatusCode::SERVICE_UNAVAILABLE, 0),
                    _ => next.run(request).await,
                }
            }
        }))
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_503_ends_ready() {
    let fixture = Fixture::new();
    let mut run = fixture.run_through(stormy(&fixture), &config_maps(60), 8);
    run.until_ready().await;
    assert_eq!(fixture.made().len(), 60);
    let failures = run
        .seen
        .iter()
        .filter(|progress| progress.state == State::Failed);
    assert!(failures.clone().count() >= 12, "there was a storm");
    assert!(
        failures.clone().all(|progress| !progress.terminal),
        "it may pass"
    );
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_503_does_not_hide_what_controllers_make() {
    let fixture = Fixture::with_azure().await;
    let fleet = std::fs::read_to_string("examples/quickstart/cluster.yaml")
        .expect("the quickstart is there");
    let compiled = super::fixture::fleet(&fleet);
    let embedded = compiled.embedded();
    let names: Vec<String> = embedded.iter().map(|(id, _)| id.name.clone()).collect();
    for id in compiled.graph.outside().map(|vertex| &vertex.id) {
        if id.kind == "Namespace" {
            fixture
                .apply("somebody", &super::fixture::namespace(&id.name))
                .await;
        }
    }
    let identity = identity(&json!({}));
    fixture.apply("somebody", &identity).await;
    let mut run = fixture.run_through(stormy(&fixture), &fleet, 8);
    let vault = names
        .iter()
        .position(|name| name.contains("kv"))
        .unwrap_or(0);
    run.until(&names[vault], State::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_time_is_given_it() {
    let fixture = Fixture::new();
    let router = once(&fixture, || async {
        refusal(StatusCode::TOO_MANY_REQUESTS, 30)
    });
    let mut run = fixture.run_through(router, &config_maps(1), 4);
    run.until_ready().await;
    let failed = run.when("c0", State::Failed);
    let waited = run.when("c0", State::Applied).duration_since(failed);
    assert_eq!(waited.as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_asked_again() {
    let fixture = Fixture::new();
    let router = once(&fixture, std::future::pending);
    let mut run = fixture.run_through(router, &config_maps(1), 1);
    let progress = run.until("c0", State::Failed).await;
    assert!(
        progress.message.contains("did not answer within 60 s"),
        "{progress:?}"
    );
    assert_eq!(progress.at.as_second(), 60);
    run.until_ready().await;
    assert_eq!(run.when("c0", State::Applied).as_second(), 61);
}

/// The answer to an apply may be older than what was watched meanwhile, and nothing more may happen.
#[tokio::test(start_paused = true)]
async fn what_happens_before_a_slow_answer_arrives_is_not_lost() {
    let fixture = Fixture::with_azure().await;
    let slow = from_fn(|request: Request, next: Next| async move {
        let slow = request.method() == Method::PATCH && request.uri().path().ends_with("/slow");
        let response = next.run(request).await;
        if slow {
            tokio::time::sleep(Duration::from_secs(50)).await;
        }
        response
    });
    let group = |name: &str| {
        format!(
            "{{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {{name: {name}, namespace: default}}, spec: {{location: uksouth}}}}\n"
        )
    };
    let router = fixture.server.router().layer(slow);
    let fleet = format!("{}---\n{}", group("quick"), group("slow"));
    let mut run = fixture.run_through(router, &fleet, 4);
    run.until("quick", State::Ready).await;
    assert!(
        run.when("quick", State::Ready).as_second() < 50,
        "otherwise the test proves nothing"
    );
    let ready = run.until("slow", State::Ready).await;
    assert_eq!(ready.at, run.when("slow", State::Applied));
}
