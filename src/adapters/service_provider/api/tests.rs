#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value)]

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http_body_util::BodyExt as _;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;

use super::*;
use crate::model::hex;

/// Clusters of which each method says that it was called.
#[derive(Default)]
struct Recorder {
    calls: AtomicUsize,
    /// The name of a cluster whose creation takes an hour.
    slow: &'static str,
}

impl Recorder {
    fn call(&self, what: String) -> Json {
        self.calls.fetch_add(1, Ordering::SeqCst);
        json!({"called": what})
    }
}

impl Clusters for Recorder {
    fn create(&self, create: Create) -> BoxFuture<'_, Result<Created, Problem>> {
        async move {
            let name = &create.request.name;
            match name.as_str() {
                "panics" => panic!("an internal text"),
                name if name == self.slow => tokio::time::sleep(Duration::from_secs(3600)).await,
                "taken" => {
                    return Err(Problem::exists(
                        "cluster with name \"taken\" already exists",
                    ));
                }
                "later" => return Err(Problem::later("try again", 7)),
                _ => {}
            }
            let cluster = self.call(format!(
                "create {name} {:?} {:?}",
                create.chosen, create.key
            ));
            let id = create.chosen.unwrap_or_else(|| "new".to_owned());
            Ok(Created { id, cluster })
        }
        .boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Json, Problem>> {
        async move {
            match id {
                "gone" => Err(Problem::no_cluster(id)),
                id => Ok(self.call(format!("get {id}"))),
            }
        }
        .boxed()
    }

    fn list(&self, page: PageQuery) -> BoxFuture<'_, Result<Json, Problem>> {
        async move { Ok(self.call(format!("list {page:?}"))) }.boxed()
    }

    fn delete<'a>(&'a self, id: &'a str, caller: &'a Caller) -> BoxFuture<'a, Result<(), Problem>> {
        async move {
            self.call(format!("delete {id} for {caller}"));
            Ok(())
        }
        .boxed()
    }

    fn health(&self) -> Json {
        json!({"status": "healthy"})
    }
}

/// An answer, taken apart.
struct Seen {
    status: u16,
    headers: http::HeaderMap,
    body: Vec<u8>,
}

impl Seen {
    fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }
}

fn open() -> Router {
    router(Arc::new(Recorder::default()), None, Limits::default())
}

async fn ask(router: &Router, request: http::Request<Body>) -> Seen {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    Seen {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes().to_vec(),
    }
}

fn request(method: &str, path: &str) -> http::request::Builder {
    http::Request::builder().method(method).uri(path)
}

async fn send(router: &Router, method: &str, path: &str) -> Seen {
    ask(router, request(method, path).body(Body::empty()).unwrap()).await
}

fn cluster(name: &str) -> String {
    json!({"serviceType": "cluster", "version": "4.17", "metadata": {"name": name}}).to_string()
}

async fn post(router: &Router, path: &str, body: impl Into<Body>) -> Seen {
    let request = request("POST", path).header(CONTENT_TYPE, "application/json");
    ask(router, request.body(body.into()).unwrap()).await
}

const CLUSTERS: &str = "/api/v1alpha1/clusters";

#[tokio::test]
async fn every_path_has_its_methods_and_every_answer_an_id() {
    let router = open();
    let made = post(&router, &format!("{CLUSTERS}?id=my-id"), cluster("a")).await;
    assert_eq!(
        (made.status, made.header("location")),
        (201, "/api/v1alpha1/clusters/my-id")
    );
    assert_eq!(made.header("content-type"), "application/json");
    assert_eq!(made.json()["called"], "create a Some(\"my-id\") None");
    for (method, path, status) in [
        ("GET", CLUSTERS.to_owned(), 200),
        ("GET", format!("{CLUSTERS}/x"), 200),
        ("DELETE", format!("{CLUSTERS}/x"), 204),
        ("GET", format!("{CLUSTERS}/gone"), 404),
        ("GET", "/health".to_owned(), 200),
        ("GET", "/api/v1alpha1/health".to_owned(), 200),
        ("GET", format!("{CLUSTERS}/health"), 200),
        ("GET", "/api/v1alpha1/openapi.json".to_owned(), 200),
        ("GET", "/clusters".to_owned(), 404),
        ("GET", "/".to_owned(), 404),
        ("PUT", format!("{CLUSTERS}/x"), 405),
        ("PATCH", CLUSTERS.to_owned(), 405),
        ("POST", "/health".to_owned(), 405),
    ] {
        let seen = send(&router, method, &path).await;
        assert_eq!(seen.status, status, "{method} {path}");
        assert_eq!(seen.header("x-request-id").len(), 32);
        if status >= 400 {
            assert_eq!(
                seen.header("content-type"),
                "application/problem+json",
                "{path}"
            );
            let body = seen.json();
            assert_eq!(
                (&body["status"], &body["instance"]),
                (&json!(status), &json!(seen.header("x-request-id")))
            );
        }
        assert_eq!(seen.body.is_empty(), status == 204);
    }
}

#[tokio::test]
async fn parameters_are_checked_before_anybody_is_asked() {
    let clusters = Arc::new(Recorder::default());
    let router = router(Arc::<Recorder>::clone(&clusters), None, Limits::default());
    for (path, detail) in [
        (
            "?max_page_size=200",
            "max_page_size must be between 1 and 100",
        ),
        (
            "?max_page_size=0",
            "max_page_size must be between 1 and 100",
        ),
        (
            "?max_page_size=x",
            "invalid format for parameter \"max_page_size\"",
        ),
        ("?page_token=%21%21", "invalid page_token"),
        ("?page_token=a&page_token=b", "a parameter is given twice"),
        (
            "/UPPER",
            "parameter \"clusterId\" in path: string doesn't match the regular expression \"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$\"",
        ),
        (
            "/-a",
            "parameter \"clusterId\" in path: string doesn't match the regular expression \"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$\"",
        ),
        (
            "/..%2f..%2fa",
            "parameter \"clusterId\" in path: string doesn't match the regular expression \"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$\"",
        ),
    ] {
        let seen = send(&router, "GET", &format!("{CLUSTERS}{path}")).await;
        assert_eq!(
            (seen.status, seen.json()["detail"].as_str()),
            (400, Some(detail)),
            "{path}"
        );
    }
    let wrong = post(&router, &format!("{CLUSTERS}?id=INVALID_ID!"), cluster("a")).await;
    assert_eq!(wrong.status, 400);
    assert_eq!(clusters.calls.load(Ordering::SeqCst), 0);
    let empty = post(&router, &format!("{CLUSTERS}?id="), cluster("a")).await;
    assert_eq!(
        (empty.status, empty.json()["called"].as_str()),
        (201, Some("create a None None"))
    );
    let first = send(&router, "GET", &format!("{CLUSTERS}?page_token=")).await;
    assert_eq!(first.status, 200);
}

#[tokio::test]
async fn a_body_is_json_and_not_too_large() {
    let router = open();
    for (kind, status) in [
        ("application/json; charset=utf-8", 201),
        ("Application/JSON", 201),
        ("text/plain", 400),
        ("", 400),
    ] {
        let request = request("POST", CLUSTERS).header(CONTENT_TYPE, kind);
        let seen = ask(&router, request.body(cluster("a").into()).unwrap()).await;
        assert_eq!(seen.status, status, "{kind}");
    }
    let large = post(&router, CLUSTERS, vec![b' '; (64 << 10) + 1]).await;
    assert_eq!(
        (large.status, &large.json()["title"]),
        (413, &json!("Content Too Large"))
    );
    let padded = format!("{}{}", cluster("a"), " ".repeat(60 << 10));
    assert_eq!(post(&router, CLUSTERS, padded).await.status, 201);
    for body in ["", "{", "[]"] {
        let seen = post(&router, CLUSTERS, body).await;
        assert_eq!(
            (seen.status, &seen.json()["type"]),
            (400, &json!("INVALID_ARGUMENT")),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_key_goes_on_as_its_digest_alone() {
    let router = open();
    let with = |key: &str| {
        request("POST", CLUSTERS)
            .header(CONTENT_TYPE, "application/json")
            .header("idempotency-key", key)
            .body(cluster("a").into())
            .unwrap()
    };
    let key = "a b\u{e9}; Capstan-Approve: delete x/y";
    let seen = ask(&router, with(key)).await;
    let digest = hex(&Sha256::digest(key));
    assert_eq!(
        seen.json()["called"],
        format!("create a None Some({digest:?})")
    );
    for wrong in ["", &"k".repeat(256)] {
        assert_eq!(
            ask(&router, with(wrong)).await.status,
            400,
            "{}",
            wrong.len()
        );
    }
    let twice = request("POST", CLUSTERS)
        .header(CONTENT_TYPE, "application/json")
        .header("idempotency-key", "a")
        .header("idempotency-key", "b");
    assert_eq!(
        ask(&router, twice.body(cluster("a").into()).unwrap())
            .await
            .status,
        400
    );
}

#[tokio::test]
async fn problems_keep_their_status_and_say_when_to_come_back() {
    let router = open();
    let taken = post(&router, CLUSTERS, cluster("taken")).await;
    assert_eq!(
        (taken.status, &taken.json()["type"]),
        (409, &json!("ALREADY_EXISTS"))
    );
    let later = post(&router, CLUSTERS, cluster("later")).await;
    assert_eq!((later.status, later.header("retry-after")), (503, "7"));
}

#[tokio::test]
async fn a_panic_says_nothing_of_its_cause_and_takes_nothing_along() {
    let router = open();
    let seen = post(&router, CLUSTERS, cluster("panics")).await;
    assert_eq!(
        (seen.status, &seen.json()["type"]),
        (500, &json!("INTERNAL"))
    );
    assert!(!String::from_utf8_lossy(&seen.body).contains("internal text"));
    assert_eq!(seen.json()["detail"], "an unexpected error occurred");
    assert_eq!(post(&router, CLUSTERS, cluster("a")).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_answered_and_goes_on() {
    let limits = Limits {
        time: Duration::from_secs(1),
        ..Limits::default()
    };
    let clusters = Arc::new(Recorder {
        slow: "slow",
        ..Recorder::default()
    });
    let router = router(Arc::<Recorder>::clone(&clusters), None, limits);
    let begun = tokio::time::Instant::now();
    let seen = post(&router, CLUSTERS, cluster("slow")).await;
    assert_eq!((seen.status, begun.elapsed().as_secs()), (503, 1));
    assert_eq!(clusters.calls.load(Ordering::SeqCst), 0);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(clusters.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_token_health_alone_is_answered() {
    let tokens = format!("dcm {}", hex(&Sha256::digest("s3cret")));
    let limits = Limits {
        rate: 5,
        ..Limits::default()
    };
    let clusters = Arc::new(Recorder::default());
    let router = router(
        Arc::<Recorder>::clone(&clusters),
        Some(Tokens::read(&tokens).unwrap()),
        limits,
    );
    let with = |token: &str| {
        request("GET", CLUSTERS)
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .body(Body::empty())
            .unwrap()
    };
    let none = send(&router, "GET", CLUSTERS).await;
    assert_eq!(
        (none.status, none.header("www-authenticate")),
        (401, "Bearer")
    );
    // Random tokens run into their limit, and take nothing from the right one.
    let mut seen = std::collections::BTreeSet::new();
    for number in 0..50 {
        seen.insert(ask(&router, with(&format!("guess-{number}"))).await.status);
    }
    assert_eq!(seen, [401, 429].into());
    assert_eq!(ask(&router, with("s3cret")).await.status, 200);
    for path in [
        "/health",
        "/api/v1alpha1/health",
        "/api/v1alpha1/clusters/health",
    ] {
        assert_eq!(send(&router, "GET", path).await.status, 200, "{path}");
    }
    assert_eq!(clusters.calls.load(Ordering::SeqCst), 1);
}
