//! When the runner asks again: to the second, on a paused clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use capstan::model::ObjectId;
use capstan::plan::Plan;
use http::{Method, StatusCode};
use tokio::time::Instant;

use super::fixture::{Fixture, crd, is_of_the_parent};

const ONE: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: default}, data: {k: v}}";

/// When each of some requests came, in milliseconds after the start.
#[derive(Clone, Default)]
struct Times(Arc<Mutex<Vec<u128>>>);

impl Times {
    fn so_far(&self) -> Vec<u128> {
        self.0.lock().unwrap().clone()
    }
}

/// Before `server`: requests that `matches` selects are recorded, and answered by `answer`, which is given
/// their number, unless it has none.
fn noted<F: Future<Output = Option<Response>> + Send + 'static>(
    server: Router,
    times: &Times,
    matches: impl Fn(&Request) -> bool + Clone + Send + Sync + 'static,
    answer: impl Fn(usize) -> F + Clone + Send + Sync + 'static,
) -> Router {
    let (times, start) = (times.clone(), Instant::now());
    server.layer(from_fn(move |request: Request, next: Next| {
        let (times, answer) = (times.clone(), answer.clone());
        let matched = matches(&request);
        async move {
            if !matched {
                return next.run(request).await;
            }
            let number = times.so_far().len();
            times.0.lock().unwrap().push(start.elapsed().as_millis());
            match answer(number).await {
                Some(answer) => answer,
                None => next.run(request).await,
            }
        }
    }))
}

fn unavailable() -> Option<Response> {
    Some(StatusCode::SERVICE_UNAVAILABLE.into_response())
}

#[tokio::test(start_paused = true)]
async fn a_failing_step_doubles_its_backoff_on_the_clock_of_its_cluster() {
    for speed in [1, 20] {
        let (fixture, times) = (Fixture::at_speed(speed), Times::default());
        let patches =
            |request: &Request| request.method() == Method::PATCH && !is_of_the_parent(request);
        let router = noted(
            fixture.server.router(),
            &times,
            patches,
            |number| async move { unavailable().filter(|_| number < 8) },
        );
        fixture.run_through(router, ONE, 4).until_ready().await;
        let expected = [0, 1, 3, 7, 15, 31, 63, 123, 183].map(|second| second * 1000);
        let inside: Vec<u128> = times
            .so_far()
            .iter()
            .map(|at| at * u128::from(speed))
            .collect();
        assert_eq!(inside, expected, "at speed {speed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_controllers_use_is_looked_up_until_there_is_an_answer() {
    let (fixture, times) = (Fixture::new(), Times::default());
    fixture
        .apply("somebody", &crd("Gadget", "Namespaced"))
        .await;
    let lookups = |request: &Request| request.uri().path() == "/apis/test.dev/v1";
    let router = noted(
        fixture.server.router(),
        &times,
        lookups,
        |number| async move {
            match number {
                0 | 1 => unavailable(),
                2 => std::future::pending().await,
                _ => None,
            }
        },
    );
    let gadget = ObjectId::new("test.dev", "Gadget", "default", "g");
    let plan = Arc::new(Plan::default());
    let run = fixture.start(router, plan, vec![(gadget.into(), "v1".into())], 4);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    // Refused twice, given up on after a minute, and answered.
    assert_eq!(times.so_far(), [0, 1000, 3000, 67_000]);
    drop(run);
}
