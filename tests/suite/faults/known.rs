//! Faults that were found, one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use capstan::apply::Report;
use capstan::model::Clock;
use http::{Method, StatusCode};
use jiff::Timestamp;
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube_sim::Server;
use kube_sim::SimClock;
use serde_json::{Value as Json, json};
use tokio::time::sleep;

use super::{HOUR, Running, api, assignment};
use crate::apply::fixture::{crd, fleet};

/// A server whose requests go through something first.
struct Place {
    server: Server,
    clock: Arc<dyn Clock>,
}

impl Place {
    fn new() -> Self {
        let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        let clock: Arc<dyn Clock> = Arc::new(time);
        let server = Server::new(Arc::new(time));
        Self { server, clock }
    }

    fn run(&self, router: Router) -> Running {
        Running::start(Client::new(router, "default"), &self.clock, 4)
    }

    /// The selected requests go, one by one, through `answer`, which is given their number.
    fn before<F: Future<Output = Response> + Send + 'static>(
        &self,
        meant: impl Fn(&Request) -> bool + Clone + Send + Sync + 'static,
        answer: impl Fn(usize, Request, Next) -> F + Clone + Send + Sync + 'static,
    ) -> Router {
        let count = Arc::new(AtomicUsize::new(0));
        self.server
            .router()
            .layer(from_fn(move |request: Request, next: Next| {
                let number = meant(&request).then(|| count.fetch_add(1, Ordering::SeqCst));
                let answer = answer.clone();
                async move {
                    match number {
                        Some(number) => answer(number, request, next).await,
                        None => next.run(request).await,
                    }
                }
            }))
    }

    fn live(&self, name: &str) -> Option<Json> {
        let all = self.server.snapshot().into_iter();
        all.into_iter()
            .find(|live| live["metadata"]["name"] == name)
    }

    async fn delete(&self, name: &str) {
        let api = api(&self.server.client("default"), &map(name, "1"));
        let gone = api.delete(name, &DeleteParams::default()).await;
        gone.expect("it is there");
    }
}

fn map(name: &str, value: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": value},
        "metadata": {"name": name, "namespace": "default"}})
}

fn yaml(objects: &[Json]) -> String {
    let objects = objects.iter();
    objects.map(|object| format!("---\n{object}\n")).collect()
}

/// Whether a ConfigMap of this name is applied.
fn applies(name: &'static str) -> impl Fn(&Request) -> bool + Clone {
    move |request| {
        let path = request.uri().path();
        request.method() == Method::PATCH && path.ends_with(&format!("/configmaps/{name}"))
    }
}

fn lists(request: &Request) -> bool {
    let watches = request
        .uri()
        .query()
        .unwrap_or_default()
        .contains("watch=true");
    request.method() == Method::GET && request.uri().path() == "/api/v1/configmaps" && !watches
}

fn unavailable() -> Response {
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}

#[tokio::test(start_paused = true)]
async fn drift_after_an_answer_that_was_lost_is_put_right() {
    let place = Place::new();
    let router = place.before(applies("a"), |number, request, next| async move {
        let answer = next.run(request).await;
        match number {
            0 => unavailable(),
            _ => answer,
        }
    });
    let mut running = place.run(router);
    running.assign(assignment(1, 1, &fleet(&yaml(&[map("a", "1")]))));
    sleep(Duration::from_secs(60)).await;
    assert!(running.has_settled(1));
    place.delete("a").await;
    sleep(Duration::from_secs(60)).await;
    assert!(place.live("a").is_some(), "it was deleted and stays away");
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_and_then_left_the_fleet_is_deleted() {
    let place = Place::new();
    let router = place.before(applies("b"), |number, request, next| async move {
        match number {
            0 => next.run(request).await,
            _ => unavailable(),
        }
    });
    let mut running = place.run(router);
    let both = |value| fleet(&yaml(&[map("a", "1"), map("b", value)]));
    running.assign(assignment(1, 1, &both("1")));
    sleep(Duration::from_secs(60)).await;
    running.assign(assignment(2, 2, &both("2")));
    sleep(Duration::from_secs(10)).await;
    running.assign(assignment(3, 3, &fleet(&yaml(&[map("a", "1")]))));
    sleep(Duration::from_secs(60)).await;
    assert!(running.has_settled(3));
    assert_eq!(place.live("b"), None);
}

#[tokio::test(start_paused = true)]
async fn what_the_fleet_takes_for_an_object_of_a_namespace_stays_with_the_next_revision() {
    let place = Place::new();
    let mut running = place.run(place.server.router());
    let widget = |size| json!({"apiVersion": "test.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": size}});
    let revision = |size| fleet(&yaml(&[widget(size)]));
    // The fleet does not know where such objects are.
    let (client, definition) = (place.server.client("default"), crd("Widget", "Cluster"));
    let made = api(&client, &definition)
        .patch(
            "widgets.test.dev",
            &PatchParams::apply("somebody"),
            &Patch::Apply(&definition),
        )
        .await;
    made.expect("it is made");
    running.assign(assignment(1, 1, &revision(1)));
    sleep(Duration::from_secs(60)).await;
    let uid = |live: Option<Json>| live.map(|live| live["metadata"]["uid"].clone());
    let before = uid(place.live("w"));
    assert!(before.is_some());
    assert!(running.has_settled(1));
    running.assign(assignment(2, 2, &revision(2)));
    sleep(Duration::from_secs(60)).await;
    assert_eq!(uid(place.live("w")), before, "it was deleted");
    let reports: Vec<_> = std::iter::from_fn(|| running.reports.try_recv().ok()).collect();
    assert!(reports.contains(&(2, Report::Settled)), "{reports:#?}");
    let leaves = |(_, report): &(u64, Report)| matches!(report, Report::Prune(..));
    assert!(!reports.iter().any(leaves), "{reports:#?}");
}

#[tokio::test(start_paused = true)]
async fn members_of_a_kind_that_discovery_missed_at_first_are_deleted() {
    let place = Place::new();
    let mut running = place.run(place.server.router());
    let definition = crd("Widget", "Namespaced");
    running.assign(assignment(
        1,
        1,
        &fleet(&yaml(&[definition.clone(), map("a", "1")])),
    ));
    sleep(Duration::from_secs(60)).await;
    assert!(running.has_settled(1));
    drop(running);
    let asks = |request: &Request| request.uri().path() == "/api/v1";
    let router = place.before(asks, |number, request, next| async move {
        match number {
            0 => unavailable(),
            _ => next.run(request).await,
        }
    });
    let mut running = place.run(router);
    running.assign(assignment(2, 2, &fleet(&yaml(&[definition]))));
    sleep(Duration::from_secs(60)).await;
    assert!(running.has_settled(2));
    assert_eq!(place.live("a"), None);
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_before_a_slow_answer_arrives_is_made_again() {
    let place = Place::new();
    let router = place.before(applies("a"), |number, request, next| async move {
        let answer = next.run(request).await;
        if number == 0 {
            sleep(Duration::from_secs(50)).await;
        }
        answer
    });
    let running = place.run(router);
    running.assign(assignment(1, 1, &fleet(&yaml(&[map("a", "1")]))));
    sleep(Duration::from_secs(10)).await;
    place.delete("a").await;
    sleep(Duration::from_secs(60)).await;
    assert!(place.live("a").is_some());
}

#[tokio::test(start_paused = true)]
async fn what_goes_while_it_is_looked_at_does_not_hold_the_end_up() {
    let place = Place::new();
    let reads = |request: &Request| {
        let accept = request.headers().get(http::header::ACCEPT);
        let whole =
            accept.is_none_or(|accept| !accept.to_str().unwrap_or_default().contains("Partial"));
        request.method() == Method::GET && request.uri().path().ends_with("/configmaps/b") && whole
    };
    let router = place.before(reads, |_, request, next| async move {
        let answer = next.run(request).await;
        sleep(Duration::from_secs(30)).await;
        answer
    });
    let mut running = place.run(router);
    running.assign(assignment(
        1,
        1,
        &fleet(&yaml(&[map("a", "1"), map("b", "1")])),
    ));
    sleep(Duration::from_secs(60)).await;
    running.assign(assignment(2, 2, &fleet(&yaml(&[map("a", "1")]))));
    sleep(Duration::from_secs(10)).await;
    place.delete("b").await;
    sleep(Duration::from_secs(100)).await;
    assert!(running.has_settled(2));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_never_comes_is_asked_for_again_after_a_minute() {
    let place = Place::new();
    let router = place.before(lists, |number, request, next| async move {
        match number {
            0 => std::future::pending().await,
            // It begins, and does not go on.
            1 => Response::new(Body::from_stream(futures::stream::pending::<
                Result<bytes::Bytes, std::io::Error>,
            >())),
            _ => next.run(request).await,
        }
    });
    let mut running = place.run(router);
    running.assign(assignment(1, 1, &fleet(&yaml(&[map("a", "1")]))));
    sleep(Duration::from_secs(122)).await;
    assert!(place.live("a").is_none(), "else the test says nothing");
    sleep(Duration::from_secs(7)).await;
    assert!(running.has_settled(1));
}

#[tokio::test(start_paused = true)]
async fn what_came_and_went_while_a_watch_was_silent_is_made_again() {
    let place = Place::new();
    let watches = |request: &Request| {
        let query = request.uri().query().unwrap_or_default();
        request.uri().path() == "/api/v1/configmaps" && query.contains("watch=true")
    };
    let router = place.before(watches, |number, request, next| async move {
        match number {
            0 => Response::new(Body::from_stream(futures::stream::pending::<
                Result<bytes::Bytes, std::io::Error>,
            >())),
            _ => next.run(request).await,
        }
    });
    let running = place.run(router);
    running.assign(assignment(1, 1, &fleet(&yaml(&[map("a", "1")]))));
    sleep(Duration::from_secs(10)).await;
    place.delete("a").await;
    place.server.compact();
    sleep(Duration::from_secs(10)).await;
    assert!(place.live("a").is_none(), "else the test says nothing");
    sleep(HOUR).await;
    assert!(place.live("a").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_late_write_of_an_older_revision_does_not_change_the_parent() {
    let place = Place::new();
    let router = place.before(
        applies("capstan-test"),
        |number, request, next| async move {
            if number == 1 {
                // The request is under way, even if nobody waits for its answer.
                let late = tokio::spawn(async move {
                    sleep(Duration::from_secs(30)).await;
                    next.run(request).await
                });
                return late.await.expect("an answer");
            }
            next.run(request).await
        },
    );
    let running = place.run(router);
    running.assign(assignment(1, 1, &fleet(&yaml(&[map("a", "1")]))));
    sleep(Duration::from_secs(10)).await;
    running.assign(assignment(2, 2, &fleet(&yaml(&[map("a", "2")]))));
    sleep(Duration::from_secs(100)).await;
    let parent = place.live("capstan-test").expect("it is there");
    assert_eq!(
        (&parent["data"]["applying"], &parent["data"]["applied"]),
        (&json!("2"), &json!("2"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_gone_is_not_asked_for_any_more() {
    let place = Place::new();
    let counted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&counted);
    let widgets = |request: &Request| request.uri().path().ends_with("/widgets");
    let router = place.before(widgets, move |_, request, next| {
        count.fetch_add(1, Ordering::SeqCst);
        next.run(request)
    });
    let mut running = place.run(router);
    let definition = crd("Widget", "Namespaced");
    let widget = json!({"apiVersion": "test.dev/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}});
    running.assign(assignment(
        1,
        1,
        &fleet(&yaml(&[map("a", "1"), definition, widget.clone()])),
    ));
    sleep(Duration::from_secs(60)).await;
    assert!(place.live("w").is_some());
    running.assign(assignment(2, 2, &fleet(&yaml(&[map("a", "1")]))));
    sleep(HOUR).await;
    assert!(running.has_settled(2));
    assert_eq!(
        (place.live("w"), place.live("widgets.test.dev")),
        (None, None)
    );
    let before = counted.load(Ordering::SeqCst);
    sleep(HOUR).await;
    assert_eq!(counted.load(Ordering::SeqCst), before);
    // And should it come back, so does its watch.
    let object = crd("Widget", "Namespaced");
    running.assign(assignment(
        3,
        3,
        &fleet(&yaml(&[map("a", "1"), object, widget])),
    ));
    sleep(Duration::from_secs(120)).await;
    assert!(running.has_settled(3));
    let client = place.server.client("default");
    let mark =
        Patch::Merge(json!({"metadata": {"labels": {"applyset.kubernetes.io/part-of": null}}}));
    let live = place.live("w").expect("it is there");
    let marked = api(&client, &live)
        .patch("w", &PatchParams::default(), &mark)
        .await;
    marked.expect("it is written");
    sleep(Duration::from_secs(60)).await;
    let live = place.live("w").expect("it is there");
    assert!(live["metadata"]["labels"]["applyset.kubernetes.io/part-of"].is_string());
}
