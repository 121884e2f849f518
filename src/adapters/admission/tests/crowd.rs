//! Many requests of one namespace, objects that are too large, and requests that nobody waits for.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value as Json, json};
use tower::ServiceExt as _;

use super::served::{Cluster, review, webhook};
use crate::api::fleet::FailurePolicy;

fn pool(namespace: &str, resources: usize) -> String {
    let resource = json!({"apiVersion": "redhatopenshift.azure.com/v1api20251223preview",
        "kind": "HcpOpenShiftClustersNodePool", "metadata": {"name": "p"}, "spec": {}});
    review(
        &json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROMachinePool",
        "metadata": {"name": "c", "namespace": namespace}, "spec": {"resources": vec![resource; resources]}}),
    )
}

async fn sent(router: &axum::Router, path: &str, body: String) -> Json {
    let request = Request::post(path)
        .body(Body::from(body))
        .expect("a request");
    let answer = router.clone().oneshot(request).await.expect("an answer");
    let body = answer
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    serde_json::from_slice(&body).unwrap_or_default()
}

fn status(answer: &Json) -> (u64, &str) {
    let status = &answer["response"]["status"];
    let message = status["message"].as_str().unwrap_or_default();
    (status["code"].as_u64().unwrap_or_default(), message)
}

#[tokio::test]
async fn an_object_that_is_too_large_is_refused_whatever_the_setting_says() {
    for failure in [FailurePolicy::Fail, FailurePolicy::Ignore] {
        let router = webhook(Cluster::Silent, failure, &std::sync::Arc::default());
        let answer = sent(&router, "/validate", pool("n", 501)).await;
        let (code, message) = status(&answer);
        assert_eq!(code, 413, "{answer}");
        assert!(
            message.contains("has 501 resources") && message.contains("at most 500"),
            "{message}"
        );
    }
}

/// The first ones wait for the cluster, and the rest would only fill the memory.
#[tokio::test(start_paused = true)]
async fn too_many_requests_of_a_namespace_are_refused_and_others_are_answered() {
    let failure = FailurePolicy::Fail;
    let router = webhook(Cluster::HalfSilent, failure, &std::sync::Arc::default());
    let crowd = (0..70).map(|_| {
        let router = router.clone();
        tokio::spawn(async move { sent(&router, "/validate", pool("loud", 1)).await })
    });
    let crowd: Vec<_> = crowd.collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let answer = sent(&router, "/validate", pool("quiet", 1)).await;
    assert!(status(&answer).1.contains("N01"), "it is judged: {answer}");
    let mut busy = 0;
    for one in crowd {
        let answer = one.await.expect("no panic");
        let (code, message) = status(&answer);
        let is_busy =
            message.contains("too many requests of namespace \"loud\" at once; try again");
        assert!(
            is_busy && code == 429 || message.contains("no answer in time"),
            "{answer}"
        );
        busy += u32::from(is_busy);
    }
    assert_eq!(busy, 38, "32 may be here");
    let answer = sent(&router, "/validate?timeout=5s", pool("quiet", 1)).await;
    assert!(status(&answer).1.contains("N01"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_before_the_api_server_stops_waiting() {
    let failure = FailurePolicy::Fail;
    let router = webhook(Cluster::Silent, failure, &std::sync::Arc::default());
    for (query, expected) in [
        ("timeout=2s", 1600),
        ("timeout=30s", 4000),
        ("timeout=x", 4000),
    ] {
        let begun = tokio::time::Instant::now();
        let path = format!("/validate?{query}");
        let answer = sent(&router, &path, pool("n", 1)).await;
        assert!(status(&answer).1.contains("no answer in time"), "{answer}");
        let waited = begun.elapsed().as_millis();
        assert!(
            (expected..expected + 100).contains(&waited),
            "{query}: {waited}"
        );
    }
}

/// More than may be here at once: each makes room as soon as nobody waits for it.
#[tokio::test(start_paused = true)]
async fn a_request_that_nobody_waits_for_takes_no_room() {
    let failure = FailurePolicy::Fail;
    let router = webhook(Cluster::HalfSilent, failure, &std::sync::Arc::default());
    for _ in 0..200 {
        let sent = sent(&router, "/validate", pool("loud", 1));
        let hung_up = tokio::time::timeout(Duration::from_millis(10), sent).await;
        assert!(hung_up.is_err(), "{hung_up:?}");
    }
}
