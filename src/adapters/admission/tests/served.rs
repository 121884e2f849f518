#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use futures::future::{BoxFuture, FutureExt as _};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tower::ServiceExt as _;

use super::super::certificates::{Lifetimes, Serving, Store};
use super::super::{ANSWER, MOST_BYTES, Reader, Webhook};
use crate::adapters::http::Server;
use crate::admission::Query;
use crate::api::fleet::{FailurePolicy, FleetPolicy};
use crate::model::{AdapterError, ErrorClass};

/// What reading leads to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cluster {
    Empty,
    Failing,
    Silent,
    /// Silent about what is in the namespace `loud`.
    HalfSilent,
    Panicking,
}

impl Reader for Cluster {
    fn read(&self, queries: Vec<Query>) -> BoxFuture<'_, Result<Vec<Json>, AdapterError>> {
        match self {
            Self::Empty => std::future::ready(Ok(Vec::new())).boxed(),
            Self::Failing => {
                let error = AdapterError::new(ErrorClass::Denied, "no right to read");
                std::future::ready(Err(error)).boxed()
            }
            Self::HalfSilent if !format!("{queries:?}").contains("loud") => {
                std::future::ready(Ok(Vec::new())).boxed()
            }
            Self::Silent | Self::HalfSilent => std::future::pending().boxed(),
            Self::Panicking => async { panic!("a bug") }.boxed(),
        }
    }
}

pub(super) fn webhook(
    cluster: Cluster,
    failure: FailurePolicy,
    serving: &Arc<Serving>,
) -> axum::Router {
    let policy = FleetPolicy::default();
    Webhook::new(Arc::new(cluster), policy, failure, Arc::clone(serving)).router()
}

pub(super) fn review(object: &Json) -> String {
    let (group, version) = object["apiVersion"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap();
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": group, "version": version, "kind": object["kind"]}, "name": "c",
        "namespace": object["metadata"]["namespace"], "operation": "CREATE", "object": object, "oldObject": null}})
    .to_string()
}

fn bad() -> String {
    review(
        &json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROMachinePool",
        "metadata": {"name": "c", "namespace": "n"}, "spec": {"resources": []}}),
    )
}

fn good() -> String {
    review(
        &json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AzureClusterIdentity",
        "metadata": {"name": "c", "namespace": "n"},
        "spec": {"type": "WorkloadIdentity", "clientID": "6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f", "tenantID": "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31", "allowedNamespaces": {}}}),
    )
}

async fn answer(
    cluster: Cluster,
    failure: FailurePolicy,
    body: impl Into<Body>,
) -> (StatusCode, Json) {
    let router = webhook(cluster, failure, &Arc::default());
    let request = Request::post("/validate").body(body.into()).unwrap();
    let answer = router.oneshot(request).await.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_bad_object_is_refused_and_a_good_one_allowed() {
    let fail = FailurePolicy::Fail;
    let (_, refused) = answer(Cluster::Empty, fail, bad()).await;
    let text = refused["response"]["status"]["message"]
        .as_str()
        .unwrap_or_default();
    assert!(
        text.contains("V01 spec.resources: resources mode is required"),
        "{refused}"
    );
    let (status, allowed) = answer(Cluster::Empty, fail, good()).await;
    assert_eq!(
        (status, &allowed["response"]["allowed"]),
        (StatusCode::OK, &Json::from(true))
    );
    assert_eq!(allowed["response"]["uid"], "u");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_judged_is_answered_as_the_setting_says() {
    for cluster in [Cluster::Failing, Cluster::Silent] {
        for (failure, allowed) in [(FailurePolicy::Fail, false), (FailurePolicy::Ignore, true)] {
            let begun = tokio::time::Instant::now();
            let (status, body) = answer(cluster, failure, good()).await;
            assert_eq!(status, StatusCode::OK);
            assert_eq!(body["response"]["allowed"], allowed, "{cluster:?} {body}");
            let silent = matches!(cluster, Cluster::Silent);
            assert_eq!(begun.elapsed() >= ANSWER, silent, "{cluster:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up_after_4_seconds() {
    let begun = tokio::time::Instant::now();
    let never = futures::stream::pending::<Result<axum::body::Bytes, std::io::Error>>();
    let (status, _) = answer(
        Cluster::Empty,
        FailurePolicy::Fail,
        Body::from_stream(never),
    )
    .await;
    assert_eq!(status, StatusCode::REQUEST_TIMEOUT);
    assert_eq!(begun.elapsed().as_secs(), 4);
}

/// Review 15, finding 10: whoever reaches the port could fill the memory with bodies that nobody has read yet.
#[tokio::test(start_paused = true)]
async fn no_body_is_read_before_its_turn() {
    let router = webhook(Cluster::Empty, FailurePolicy::Fail, &Arc::default());
    let read = Arc::new(AtomicUsize::new(0));
    let send = || {
        let read = Arc::clone(&read);
        let mut is_new = true;
        let body = futures::stream::poll_fn(move |_| {
            read.fetch_add(usize::from(is_new), Ordering::Relaxed);
            is_new = false;
            Poll::<Option<Result<axum::body::Bytes, std::io::Error>>>::Pending
        });
        let request = Request::post("/validate").body(Body::from_stream(body));
        tokio::spawn(router.clone().oneshot(request.unwrap()))
    };
    let sent: Vec<_> = (0..4).map(|_| send()).collect();
    tokio::time::sleep(ANSWER / 2).await;
    assert_eq!(
        read.load(Ordering::Relaxed),
        3,
        "of seven shares each, as their length is unknown"
    );
    let mut statuses = Vec::new();
    for one in sent {
        statuses.push(one.await.unwrap().unwrap().status());
    }
    assert_eq!(statuses[..3], [StatusCode::REQUEST_TIMEOUT; 3]);
    assert!(!statuses[3].is_success(), "its turn came too late");
    let request = Request::post("/validate").body(Body::from(good())).unwrap();
    let after = router.oneshot(request).await.unwrap();
    assert_eq!(after.status(), StatusCode::OK, "the memory is free again");
}

#[tokio::test]
async fn a_panic_is_answered_as_the_setting_says() {
    for (failure, allowed) in [(FailurePolicy::Fail, false), (FailurePolicy::Ignore, true)] {
        let (status, body) = answer(Cluster::Panicking, failure, good()).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(body["response"]["allowed"], allowed, "{body}");
    }
}

#[tokio::test]
async fn an_unreadable_object_is_answered_as_the_setting_says() {
    let body = r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "kind": 7}}"#;
    let (_, refused) = answer(Cluster::Empty, FailurePolicy::Fail, body).await;
    assert_eq!(refused["response"]["allowed"], false);
    let (_, allowed) = answer(Cluster::Empty, FailurePolicy::Ignore, body).await;
    assert_eq!(allowed["response"]["allowed"], true);
    let (status, _) = answer(Cluster::Empty, FailurePolicy::Ignore, "{").await;
    assert_eq!(
        status,
        StatusCode::BAD_REQUEST,
        "the API server applies its failurePolicy"
    );
}

#[tokio::test]
async fn a_body_has_a_limit() {
    let (status, _) = answer(
        Cluster::Empty,
        FailurePolicy::Fail,
        vec![b' '; MOST_BYTES + 1],
    )
    .await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn it_is_ready_once_it_has_a_certificate() {
    let serving = Arc::new(Serving::default());
    let ready = async |serving: &Arc<Serving>| {
        let router = webhook(Cluster::Empty, FailurePolicy::Fail, serving);
        let request = Request::get("/readyz").body(Body::empty()).unwrap();
        router.oneshot(request).await.unwrap().status()
    };
    assert_eq!(ready(&serving).await, StatusCode::SERVICE_UNAVAILABLE);
    serving.show(&store(Timestamp::now())).unwrap();
    assert_eq!(ready(&serving).await, StatusCode::OK);
}

fn store(now: Timestamp) -> Store {
    let mut store = Store::default();
    advance(&mut store, now, &Lifetimes::default());
    store
}

fn advance(store: &mut Store, now: Timestamp, lifetimes: &Lifetimes) {
    let hosts = vec!["localhost".to_owned()];
    while let Some(task) = store.task(now, &hosts, None, lifetimes) {
        store.carry_out(&task, now, &hosts, lifetimes).unwrap();
    }
}

fn client(bundle: &str) -> reqwest::Client {
    let authorities = reqwest::Certificate::from_pem_bundle(bundle.as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only(authorities);
    client.no_proxy().build().unwrap()
}

/// Sends one review; whether it is answered.
async fn sent(client: &reqwest::Client, url: &str) -> bool {
    let answer = client.post(url).body(good()).send().await;
    let Ok(answer) = answer else { return false };
    let body = answer.bytes().await.unwrap_or_default();
    let body: Json = serde_json::from_slice(&body).unwrap_or_default();
    body["response"]["allowed"] == true
}

/// Connections from before a rotation go on, new ones are shown the new certificate, and no request fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_rotate_under_load() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (second, day) = (Duration::from_secs(1), Duration::from_secs(24 * 3600));
    let lifetimes = Lifetimes {
        settle: second,
        leaf: 365 * day,
        ..Lifetimes::default()
    };
    let now = Timestamp::now();
    let mut certificates = Store::default();
    advance(&mut certificates, now - 244 * day, &lifetimes);
    let first = certificates.bundle();
    let serving = Arc::new(Serving::default());
    serving.show(&certificates).unwrap();
    let server = Server::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "https://localhost:{}/validate",
        server.address().unwrap().port()
    );
    let router = webhook(Cluster::Empty, FailurePolicy::Fail, &serving);
    let _server = server.serve_tls(router, serving.tls().unwrap());

    let old = client(&first);
    assert!(sent(&old, &url).await);
    let stop = Arc::new(AtomicBool::new(false));
    let trusted = Arc::new(Mutex::new(first.clone()));
    let load = (0..4).map(|worker| {
        let (stop, trusted, url, old) = (
            Arc::clone(&stop),
            Arc::clone(&trusted),
            url.clone(),
            old.clone(),
        );
        tokio::spawn(async move {
            let (mut requests, mut failures) = (0, 0);
            while !stop.load(Ordering::SeqCst) || requests == 0 {
                // Half of them keep their connection, the others open one for each request.
                let client = match worker % 2 {
                    0 => old.clone(),
                    _ => client(&trusted.lock().unwrap().clone()),
                };
                requests += 1;
                failures += usize::from(!sent(&client, &url).await);
            }
            failures
        })
    });
    let load: Vec<_> = load.collect();
    // The second authority is made, then signs, then the first one is dropped.
    for before in [10, 5, 0] {
        advance(&mut certificates, now - before * second, &lifetimes);
        certificates
            .bundle()
            .clone_into(&mut trusted.lock().unwrap());
        serving.show(&certificates).unwrap();
        for _ in 0..20 {
            assert!(sent(&old, &url).await, "{before}");
        }
    }
    stop.store(true, Ordering::SeqCst);
    for worker in load {
        assert_eq!(worker.await.unwrap(), 0);
    }
    assert!(!certificates.bundle().contains(&first));
    assert!(
        sent(&old, &url).await,
        "its connection is older than the rotation"
    );
    assert!(
        !sent(&client(&first), &url).await,
        "a new one sees the new certificate"
    );
    assert!(sent(&client(&certificates.bundle()), &url).await);
}
