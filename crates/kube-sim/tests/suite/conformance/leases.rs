//! Leases, as leaders are elected with them.

use serde_json::{Value as Json, json};

use super::behaviours;
use crate::session::{Ask, Session};

fn lease(spec: &Json) -> Json {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": spec})
}

fn held_by(holder: &str, renewed: &str) -> Json {
    json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "2026-01-02T03:04:05.000000Z", "renewTime": renewed})
}

async fn a_lease_is_renewed_by_its_holder(s: &Session) {
    let made = s
        .post(
            "leases",
            &lease(&held_by("one", "2026-01-02T03:04:05.678901Z")),
        )
        .await;
    let mut body = made.body;
    body["spec"]["renewTime"] = json!("2026-01-02T03:04:15.000001Z");
    let renewed = s.put("leases/a", &body).await;
    s.put("leases/a", &body).await;
    let mut body = renewed.body;
    body["spec"]["holderIdentity"] = json!("");
    s.put("leases/a", &body).await;
    s.get("leases/a").await;
}

async fn a_lease_is_taken_by_one_of_two(s: &Session) {
    let first = lease(&held_by("one", "2026-01-02T03:04:05.000000Z"));
    s.post("leases", &first).await;
    s.post(
        "leases",
        &lease(&held_by("two", "2026-01-02T03:04:05.000000Z")),
    )
    .await;
    let read = s.get("leases/a").await.body;
    let taken_by = |holder: &str| {
        let mut taken = read.clone();
        taken["spec"] = held_by(holder, "2026-01-02T03:05:05.000000Z");
        taken["spec"]["leaseTransitions"] = json!(1);
        taken
    };
    s.put("leases/a", &taken_by("two")).await;
    s.put("leases/a", &taken_by("three")).await;
    s.get("leases/a").await;
}

async fn a_lease_is_written_on_what_was_read(s: &Session) {
    let bare = lease(&held_by("one", "2026-01-02T03:04:05.000000Z"));
    s.put("leases/a", &bare).await;
    s.put("leases/a", &bare).await;
    s.merge(
        "leases/a",
        &json!({"spec": {"renewTime": "2026-01-02T03:04:06.000000Z"}}),
    )
    .await;
    s.merge(
        "leases/a",
        &json!({"metadata": {"resourceVersion": "1"}, "spec": {"leaseTransitions": 1}}),
    )
    .await;
    s.apply(
        "leases/a?fieldManager=m",
        &lease(&json!({"holderIdentity": "m"})),
    )
    .await;
    s.apply(
        "leases/a?fieldManager=m&force=true",
        &lease(&json!({"holderIdentity": "m"})),
    )
    .await;
}

async fn a_lease_is_checked(s: &Session) {
    for spec in [
        json!({}),
        json!({"leaseDurationSeconds": 0}),
        json!({"leaseDurationSeconds": -1, "leaseTransitions": -1}),
        json!({"leaseDurationSeconds": 1, "leaseTransitions": 0}),
        json!({"holderIdentity": ""}),
    ] {
        s.post("leases?dryRun=All", &lease(&spec)).await;
    }
    for spec in [
        json!({"leaseDurationSeconds": "15"}),
        json!({"renewTime": "now"}),
    ] {
        s.send(Ask::new("POST", "leases").json(&lease(&spec)).gist())
            .await;
    }
}

async fn a_time_of_a_lease_has_microseconds(s: &Session) {
    for time in [
        "2026-01-02T03:04:05Z",
        "2026-01-02T04:04:05.5+01:00",
        "2026-01-02T03:04:05.999999999Z",
        "2026-01-02T04:04:05.500000+01:00",
    ] {
        s.post("leases?dryRun=All", &lease(&json!({"renewTime": time})))
            .await;
    }
}

behaviours! { Api:
    a_lease_is_renewed_by_its_holder,
    a_lease_is_taken_by_one_of_two,
    a_lease_is_written_on_what_was_read,
    a_lease_is_checked,
    a_time_of_a_lease_has_microseconds,
}
