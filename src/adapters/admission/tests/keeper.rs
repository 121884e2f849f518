#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::super::certificates::{Lifetimes, Serving};
use super::super::{Asked, Keeper, Names};
use crate::admission::WEBHOOK;
use crate::api::fleet::FailurePolicy;
use crate::daemon::WallClock;

/// A cluster with one Secret, whose first answer is an error. It notes when the Secret is read.
#[derive(Default)]
pub(super) struct Cluster {
    secret: Mutex<Option<Json>>,
    reads: Mutex<Vec<u64>>,
    /// Of the webhook, if there is a configuration: the failure policy and the bundle, and each change of them.
    pub(super) configured: Mutex<Option<(String, String)>>,
    policies: Mutex<Vec<(u64, String)>>,
    /// Whether the configuration cannot be read.
    is_denied: bool,
}

impl Cluster {
    fn answer(&self, method: &Method, path: &str, body: Json, second: u64) -> (u16, Json) {
        let missing = || json!({"kind": "Status", "code": 404, "status": "Failure", "reason": "NotFound", "message": "no"});
        if path.contains("validatingwebhookconfigurations") {
            if self.is_denied {
                let denied = json!({"kind": "Status", "code": 403, "status": "Failure", "reason": "Forbidden", "message": "no"});
                return (403, denied);
            }
            let mut configured = self.configured.lock().unwrap();
            let Some((policy, bundle)) = &mut *configured else {
                return (404, missing());
            };
            if *method == Method::PATCH {
                let webhook = &body["webhooks"][0];
                let text = |value: &Json| value.as_str().unwrap().to_owned();
                *policy = text(&webhook["failurePolicy"]);
                *bundle = text(&webhook["clientConfig"]["caBundle"]);
                self.policies.lock().unwrap().push((second, policy.clone()));
            }
            return (200, configuration(policy, bundle));
        }
        if *method == Method::GET {
            let mut reads = self.reads.lock().unwrap();
            reads.push(second);
            if reads.len() == 1 {
                let failed = json!({"kind": "Status", "code": 500, "status": "Failure", "reason": "InternalError", "message": "no"});
                return (500, failed);
            }
            return match self.secret.lock().unwrap().clone() {
                Some(secret) => (200, secret),
                None => (404, missing()),
            };
        }
        self.write(body)
    }
}

impl Cluster {
    /// One with a configuration, which answers at once.
    pub(super) fn installed() -> Self {
        Self {
            reads: Mutex::new(vec![0]),
            configured: Mutex::new(Some(("Ignore".to_owned(), String::new()))),
            ..Self::default()
        }
    }

    /// Somebody deletes the Secret.
    pub(super) fn lose(&self) {
        *self.secret.lock().unwrap() = None;
    }

    /// Keeps the Secret, if it is written by one who knows the newest.
    fn write(&self, mut body: Json) -> (u16, Json) {
        let mut secret = self.secret.lock().unwrap();
        let version = |secret: &Json| secret["metadata"]["resourceVersion"].clone();
        let held = secret.as_ref().map(version).unwrap_or_default();
        if held != version(&body) {
            let conflict = json!({"kind": "Status", "code": 409, "status": "Failure", "reason": "Conflict", "message": "no"});
            return (409, conflict);
        }
        let next = held
            .as_str()
            .map_or(1, |held| held.parse::<u32>().unwrap() + 1);
        body["metadata"]["resourceVersion"] = json!(next.to_string());
        *secret = Some(body.clone());
        (201, body)
    }
}

fn configuration(policy: &str, bundle: &str) -> Json {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "capstan-admission", "uid": "u"},
        "webhooks": [{"name": WEBHOOK, "failurePolicy": policy, "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "clientConfig": {"caBundle": bundle}}]})
}

pub(super) fn client(cluster: &Arc<Cluster>) -> Client {
    let (cluster, begun) = (Arc::clone(cluster), Instant::now());
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let cluster = Arc::clone(&cluster);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let second = begun.elapsed().as_secs();
            let (code, answer) = cluster.answer(&parts.method, parts.uri.path(), body, second);
            let answer = Response::builder()
                .status(code)
                .body(Body::from(answer.to_string()));
            Ok::<_, Infallible>(answer.unwrap())
        }
    });
    Client::new(service, "default")
}

fn keeper(cluster: &Arc<Cluster>, policy: FailurePolicy, serving: &Arc<Serving>) -> Keeper {
    Keeper::new(
        &client(cluster),
        Names::in_namespace("capstan-system"),
        policy,
        Lifetimes::default(),
        Arc::new(WallClock::start()),
        Arc::clone(serving),
    )
}

/// Review 15, finding 9: nothing is refused before something serves and the API server trusts it.
#[tokio::test(start_paused = true)]
async fn the_failure_policy_is_raised_after_the_api_server_was_found_to_trust() {
    let installed = || Mutex::new(Some(("Ignore".to_owned(), String::new())));
    let cluster = Arc::new(Cluster {
        configured: installed(),
        ..Cluster::default()
    });
    let strict = keeper(&cluster, FailurePolicy::Fail, &Arc::default());
    let _ = tokio::time::timeout(Duration::from_secs(70), strict.run()).await;
    let policies = cluster.policies.lock().unwrap().clone();
    let expected = [(5, "Ignore"), (25, "Fail")];
    assert_eq!(policies, expected.map(|(at, policy)| (at, policy.into())));

    let lenient = keeper(&cluster, FailurePolicy::Ignore, &Arc::default());
    assert_eq!(lenient.round().await.unwrap(), Asked::AsSet, "at once");
    let configured = cluster.configured.lock().unwrap().clone().unwrap();
    assert_eq!(configured.0, "Ignore");
    assert!(!configured.1.is_empty());
}

/// However often it looks: rounds that follow each other at once prove nothing.
#[tokio::test(start_paused = true)]
async fn the_failure_policy_is_raised_ten_seconds_after_the_first_round_that_found_trust() {
    let cluster = Arc::new(Cluster::installed());
    let keeper = keeper(&cluster, FailurePolicy::Fail, &Arc::default());
    let policy = || cluster.configured.lock().unwrap().clone().unwrap().0;
    // The first one makes the certificate, the second one finds it trusted.
    for _ in 0..4 {
        assert_eq!(keeper.round().await.unwrap(), Asked::Leniently);
    }
    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert_eq!(keeper.round().await.unwrap(), Asked::Leniently);
    assert_eq!(policy(), "Ignore");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(keeper.round().await.unwrap(), Asked::AsSet);
    assert_eq!(policy(), "Fail");
}

/// What is no longer trusted has to be proven anew.
#[tokio::test(start_paused = true)]
async fn the_ten_seconds_begin_anew_when_the_api_server_loses_the_authority() {
    let cluster = Arc::new(Cluster::installed());
    let keeper = keeper(&cluster, FailurePolicy::Fail, &Arc::default());
    for _ in 0..2 {
        assert_eq!(keeper.round().await.unwrap(), Asked::Leniently);
    }
    *cluster.configured.lock().unwrap() = Some(("Ignore".to_owned(), String::new()));
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(keeper.round().await.unwrap(), Asked::Leniently);
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(keeper.round().await.unwrap(), Asked::AsSet);
}

/// Review 15, finding 9: the certificate of the Secret is shown whatever the configuration says.
#[tokio::test(start_paused = true)]
async fn what_the_secret_has_is_shown_even_if_the_configuration_cannot_be_read() {
    let filled = Arc::new(Cluster::default());
    let first = keeper(&filled, FailurePolicy::Fail, &Arc::default());
    let _ = tokio::time::timeout(Duration::from_secs(10), first.run()).await;
    let secret = filled.secret.lock().unwrap().clone();
    let denied = Arc::new(Cluster {
        secret: Mutex::new(secret),
        reads: Mutex::new(vec![0]),
        is_denied: true,
        ..Cluster::default()
    });
    let serving = Arc::new(Serving::default());
    let second = keeper(&denied, FailurePolicy::Fail, &serving);
    second.round().await.unwrap_err();
    assert!(serving.is_ready());
}

#[tokio::test(start_paused = true)]
async fn the_keeper_looks_after_30_seconds_and_after_5_if_something_failed() {
    let (cluster, serving) = (Arc::new(Cluster::default()), Arc::new(Serving::default()));
    let keeper = keeper(&cluster, FailurePolicy::Fail, &serving);
    let _ = tokio::time::timeout(Duration::from_secs(70), keeper.run()).await;
    assert_eq!(*cluster.reads.lock().unwrap(), [0, 5, 35, 65]);
    assert!(serving.is_ready());
    let secret = cluster.secret.lock().unwrap().clone().unwrap();
    let keys: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ca.crt", "store.json"]);
}
