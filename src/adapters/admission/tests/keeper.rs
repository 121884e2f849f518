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
use super::super::{Keeper, Names};
use crate::api::fleet::FailurePolicy;
use crate::daemon::WallClock;

/// A cluster with one Secret, whose first answer is an error. It notes when the Secret is read.
#[derive(Default)]
struct Cluster {
    secret: Mutex<Option<Json>>,
    reads: Mutex<Vec<u64>>,
}

impl Cluster {
    fn answer(&self, method: &Method, path: &str, body: Json, second: u64) -> (u16, Json) {
        let missing = || json!({"kind": "Status", "code": 404, "status": "Failure", "reason": "NotFound", "message": "no"});
        if path.contains("validatingwebhookconfigurations") {
            return (404, missing());
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
        *self.secret.lock().unwrap() = Some(body.clone());
        (201, body)
    }
}

fn client(cluster: &Arc<Cluster>) -> Client {
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

#[tokio::test(start_paused = true)]
async fn the_keeper_looks_after_30_seconds_and_after_5_if_something_failed() {
    let (cluster, serving) = (Arc::new(Cluster::default()), Arc::new(Serving::default()));
    let keeper = Keeper::new(
        &client(&cluster),
        Names::in_namespace("capstan-system"),
        FailurePolicy::Fail,
        Lifetimes::default(),
        Arc::new(WallClock::start()),
        Arc::clone(&serving),
    );
    let _ = tokio::time::timeout(Duration::from_secs(70), keeper.run()).await;
    assert_eq!(*cluster.reads.lock().unwrap(), [0, 5, 35, 65]);
    assert!(serving.is_ready());
    let secret = cluster.secret.lock().unwrap().clone().unwrap();
    let keys: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ca.crt", "store.json"]);
}
