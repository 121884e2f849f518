//! Events: one object, two APIs.

use serde_json::{Value as Json, json};

use super::behaviours;
use crate::session::{Ask, Session};

/// Path of an event, or of all, in the older API.
fn old(s: &Session, name: &str) -> String {
    format!("/api/v1/namespaces/{}/events{name}", s.namespace)
}

fn regarding(s: &Session) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": s.namespace, "uid": "u"})
}

fn new_event(s: &Session, name: &str) -> Json {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name},
        "eventTime": "2026-01-02T03:04:05.678901Z", "reportingController": "capstan.dev/daemon",
        "reportingInstance": "daemon-1", "action": "Apply", "reason": "Applied", "type": "Normal",
        "note": "it is applied", "regarding": regarding(s),
    })
}

fn old_event(s: &Session, name: &str) -> Json {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
        "involvedObject": regarding(s), "reason": "Applied", "message": "it is applied", "type": "Warning",
        "source": {"component": "capstan", "host": "h"}, "count": 2,
        "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:04:06Z",
    })
}

fn with(mut event: Json, key: &str, value: &Json) -> Json {
    event[key] = value.clone();
    event
}

async fn an_event_is_read_through_both_apis(s: &Session) {
    s.post("events", &new_event(s, "new")).await;
    s.get(&old(s, "/new")).await;
    s.post(&old(s, ""), &old_event(s, "old")).await;
    s.get("events/old").await;
    s.get("events").await;
    s.get(&old(s, "?fieldSelector=involvedObject.name%3Da"))
        .await;
    s.get("events?fieldSelector=reason%3DOther").await;
    s.delete("events/old").await;
    s.get(&old(s, "/old")).await;
}

async fn an_event_says_all_it_has_to(s: &Session) {
    let whole = new_event(s, "a");
    for key in [
        "eventTime",
        "reportingController",
        "reportingInstance",
        "action",
        "reason",
        "type",
        "regarding",
        "note",
    ] {
        let mut event = whole.clone();
        event.as_object_mut().expect("a map").remove(key);
        s.post("events?dryRun=All", &event).await;
    }
    for (key, value) in [
        ("type", json!("Bad")),
        ("reportingController", json!("not qualified!")),
        ("reportingInstance", json!("i".repeat(129))),
        ("action", json!("a".repeat(129))),
        ("reason", json!("r".repeat(129))),
        ("note", json!("n".repeat(1025))),
        (
            "series",
            json!({"count": 1, "lastObservedTime": "2026-01-02T03:04:05.678901Z"}),
        ),
        ("deprecatedCount", json!(2)),
    ] {
        s.post("events?dryRun=All", &with(whole.clone(), key, &value))
            .await;
    }
}

async fn an_older_event_says_what_it_wants(s: &Session) {
    s.post(
        &old(s, ""),
        &json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": s.namespace}}),
    )
    .await;
    s.post(&old(s, ""), &json!({"metadata": {"name": "b"}}))
        .await;
    let timed = with(
        old_event(s, "c"),
        "eventTime",
        &json!("2026-01-02T03:04:05.678901Z"),
    );
    s.post(&old(s, ""), &timed).await;
    s.post(&old(s, ""), &with(old_event(s, "d"), "type", &json!("Bad")))
        .await;
}

async fn an_event_lies_where_its_object_lies(s: &Session) {
    let mut elsewhere = new_event(s, "a");
    elsewhere["regarding"]["namespace"] = json!("other");
    s.post("events", &elsewhere).await;
    elsewhere["metadata"]["name"] = json!("b");
    elsewhere["regarding"] = json!({"apiVersion": "v1", "kind": "Namespace", "name": "a"});
    s.post("events", &elsewhere).await;
    let path = "/apis/events.k8s.io/v1/namespaces/default/events?dryRun=All";
    s.post(path, &elsewhere).await;
    s.post(
        "/api/v1/namespaces/default/events?dryRun=All",
        &with(
            old_event(s, "b"),
            "involvedObject",
            &json!({"kind": "Namespace", "name": "a"}),
        ),
    )
    .await;
}

async fn an_event_only_counts_on(s: &Session) {
    s.post("events", &new_event(s, "a")).await;
    let series = |count: u32| json!({"series": {"count": count, "lastObservedTime": "2026-01-02T03:05:05.000000Z"}});
    s.merge("events/a", &series(2)).await;
    s.merge("events/a", &series(3)).await;
    s.merge("events/a", &series(1)).await;
    for patch in [
        json!({"note": "changed"}),
        json!({"reason": "Changed"}),
        json!({"eventTime": "2026-01-02T03:04:05.000000Z"}),
        json!({"regarding": {"name": "b"}}),
        json!({"type": "Warning"}),
    ] {
        s.merge("events/a", &patch).await;
    }
    s.merge(
        &old(s, "/a"),
        &json!({"message": "changed by the older API"}),
    )
    .await;
}

async fn an_older_event_is_counted_up(s: &Session) {
    s.post(&old(s, ""), &old_event(s, "a")).await;
    s.merge(
        &old(s, "/a"),
        &json!({"count": 3, "lastTimestamp": "2026-01-02T03:04:07Z", "message": "again"}),
    )
    .await;
    s.put(&old(s, "/b"), &old_event(s, "b")).await;
    s.put("events/c", &new_event(s, "c")).await;
    s.merge(
        "events/a",
        &json!({"series": {"count": 2, "lastObservedTime": "2026-01-02T03:05:05.000000Z"}}),
    )
    .await;
}

async fn a_time_of_an_event_has_microseconds(s: &Session) {
    for (name, time) in [
        ("a", "2026-01-02T03:04:05Z"),
        ("b", "2026-01-02T04:04:05.5+01:00"),
        ("c", "2026-01-02T03:04:05.123456789Z"),
        ("d", "2026-01-02T04:04:05.123456+01:00"),
    ] {
        s.post(
            "events",
            &with(new_event(s, name), "eventTime", &json!(time)),
        )
        .await;
    }
    let wrong = with(new_event(s, "e"), "eventTime", &json!("today"));
    s.send(Ask::new("POST", "events").json(&wrong).gist()).await;
}

behaviours! { Api:
    an_event_is_read_through_both_apis,
    an_event_says_all_it_has_to,
    an_older_event_says_what_it_wants,
    an_event_lies_where_its_object_lies,
    an_event_only_counts_on,
    an_older_event_is_counted_up,
    a_time_of_an_event_has_microseconds,
}
