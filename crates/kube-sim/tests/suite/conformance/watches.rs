//! Watches: where they start, what they tell, when they end.

use http::header::ACCEPT;
use serde_json::{Value as Json, json};

use super::objects::{a_thing, config_map};
use super::{behaviours, orbit, thing};
use crate::session::{Ask, GROUP, Session};

/// Makes or changes a ConfigMap without a word.
async fn put(s: &Session, name: &str, data: &Json) -> String {
    let object = config_map(name, data);
    let made = s
        .send(Ask::new("POST", "configmaps").json(&object).silent())
        .await;
    if made.status == 201 {
        return made.version().to_owned();
    }
    let path = format!("configmaps/{name}");
    let changed = s.send(Ask::new("PUT", &path).json(&object).silent()).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    changed.version().to_owned()
}

async fn remove(s: &Session, path: &str) {
    let reply = s.send(Ask::new("DELETE", path).silent()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

/// Sets a label, or takes it away.
async fn label(s: &Session, path: &str, value: &Json) {
    let change = json!({"metadata": {"labels": {"x": value}}}).to_string();
    let ask = Ask::new("PATCH", path).body("application/merge-patch+json", change);
    let reply = s.send(ask.silent()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

async fn a_watch_tells_what_happened_since_a_version(s: &Session) {
    let start = put(s, "a", &json!({})).await;
    put(s, "b", &json!({})).await;
    put(s, "a", &json!({"k": "v"})).await;
    let mut watch = s
        .watch(&format!("configmaps?resourceVersion={start}"))
        .await;
    watch.take(2).await;
    remove(s, "configmaps/b").await;
    put(s, "c", &json!({})).await;
    remove(s, "configmaps/a").await;
    watch.take(3).await;
}

async fn a_watch_goes_on_where_another_ended(s: &Session) {
    let start = put(s, "a", &json!({})).await;
    for value in ["1", "2", "3"] {
        put(s, "a", &json!({"k": value})).await;
    }
    let mut watch = s
        .watch(&format!("configmaps?resourceVersion={start}"))
        .await;
    let event = watch.next().await;
    drop(watch);
    remove(s, "configmaps/a").await;
    let seen = event["object"]["metadata"]["resourceVersion"].as_str();
    let seen = seen.expect("an object has a version");
    let mut watch = s.watch(&format!("configmaps?resourceVersion={seen}")).await;
    watch.take(3).await;
}

async fn a_watch_without_a_version_starts_with_what_is_there(s: &Session) {
    put(s, "a", &json!({})).await;
    put(s, "b", &json!({})).await;
    for query in ["", "?resourceVersion="] {
        let mut watch = s.watch(&format!("configmaps{query}")).await;
        watch.take(2).await;
        put(s, "a", &json!({"k": query})).await;
        watch.next().await;
    }
}

async fn a_bookmark_ends_what_was_there(s: &Session) {
    put(s, "a", &json!({})).await;
    put(s, "b", &json!({})).await;
    let marked =
        "resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=true";
    let mut watch = s.watch(&format!("configmaps?{marked}")).await;
    watch.take(3).await;
    let version = put(s, "c", &json!({})).await;
    watch.next().await;
    let mut watch = s
        .watch(&format!("configmaps?{marked}&resourceVersion={version}"))
        .await;
    watch.take(4).await;
    let mut watch = s
        .watch("configmaps?allowWatchBookmarks=true&labelSelector=none")
        .await;
    watch.next().await;
}

async fn a_bookmark_is_of_a_custom_kind(s: &Session) {
    s.install(&thing()).await;
    s.send(
        Ask::new("POST", "things")
            .json(&a_thing("a", &json!({})))
            .silent(),
    )
    .await;
    let mut watch = s.watch("things?allowWatchBookmarks=true").await;
    watch.take(2).await;
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let ask = Ask::new("GET", "things?allowWatchBookmarks=true").header(ACCEPT, accept);
    let mut watch = s.watch_as(ask).await;
    watch.take(2).await;
}

async fn what_was_there_may_be_left_out(s: &Session) {
    let start = put(s, "a", &json!({})).await;
    put(s, "b", &json!({})).await;
    let later = "resourceVersionMatch=NotOlderThan&sendInitialEvents=false";
    let mut watch = s
        .watch(&format!("configmaps?{later}&resourceVersion={start}"))
        .await;
    watch.next().await;
    let mut watch = s.watch(&format!("configmaps?{later}")).await;
    put(s, "c", &json!({})).await;
    watch.next().await;
    let all = "resourceVersionMatch=NotOlderThan&sendInitialEvents=true";
    let mut watch = s
        .watch(&format!("configmaps?{all}&fieldSelector=metadata.name=a"))
        .await;
    watch.next().await;
    remove(s, "configmaps/a").await;
    watch.next().await;
}

async fn objects_enter_and_leave_a_selection_by_label(s: &Session) {
    let start = put(s, "a", &json!({})).await;
    let mut watch = s
        .watch(&format!(
            "configmaps?labelSelector=x=y&resourceVersion={start}"
        ))
        .await;
    put(s, "b", &json!({})).await;
    label(s, "configmaps/a", &json!("y")).await;
    watch.next().await;
    put(s, "b", &json!({"k": "v"})).await;
    let data = json!({"data": {"k": "v"}}).to_string();
    let ask = Ask::new("PATCH", "configmaps/a").body("application/merge-patch+json", data);
    s.send(ask.silent()).await;
    watch.next().await;
    label(s, "configmaps/a", &json!("z")).await;
    watch.next().await;
    label(s, "configmaps/a", &json!(null)).await;
    label(s, "configmaps/a", &json!("y")).await;
    watch.next().await;
    remove(s, "configmaps/a").await;
    watch.next().await;
}

async fn objects_enter_and_leave_a_selection_by_field(s: &Session) {
    s.install(&thing()).await;
    let made = s
        .send(
            Ask::new("POST", "things")
                .json(&a_thing("a", &json!({})))
                .silent(),
        )
        .await;
    let start = made.version();
    let query = format!("fieldSelector=spec.mode=Slow&resourceVersion={start}");
    let mut watch = s.watch(&format!("things?{query}")).await;
    for mode in ["Slow", "Fast", "Slow"] {
        let change = json!({"spec": {"mode": mode}}).to_string();
        let ask = Ask::new("PATCH", "things/a").body("application/merge-patch+json", change);
        s.send(ask.silent()).await;
        watch.next().await;
    }
}

async fn one_object_is_watched_by_its_name(s: &Session) {
    let start = put(s, "a", &json!({})).await;
    let query = format!("fieldSelector=metadata.name=b&resourceVersion={start}");
    let mut watch = s.watch(&format!("configmaps?{query}")).await;
    put(s, "a", &json!({"k": "v"})).await;
    put(s, "b", &json!({})).await;
    put(s, "a", &json!({"k": "w"})).await;
    remove(s, "configmaps/b").await;
    put(s, "b", &json!({"k": "x"})).await;
    watch.take(3).await;
}

async fn what_has_no_namespace_is_watched(s: &Session) {
    s.install(&orbit()).await;
    let name = s.namespace.as_str();
    let object =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Orbit", "metadata": {"name": name}});
    let mut watch = s
        .watch(&format!("orbits?fieldSelector=metadata.name={name}"))
        .await;
    s.send(Ask::new("POST", "orbits").json(&object).silent())
        .await;
    watch.next().await;
    let path = format!("orbits/{name}");
    label(s, &path, &json!("y")).await;
    watch.next().await;
    remove(s, &path).await;
    watch.next().await;
    let start = format!("namespaces?fieldSelector=metadata.name={name}");
    let mut watch = s.watch(&start).await;
    watch.next().await;
}

async fn a_watch_may_span_namespaces(s: &Session) {
    s.install(&thing()).await;
    let made = s
        .send(
            Ask::new("POST", "things")
                .json(&a_thing("a", &json!({})))
                .silent(),
        )
        .await;
    let start = made.version();
    let query = format!("labelSelector=of={}&resourceVersion={start}", s.namespace);
    let mut watch = s.watch(&format!("/apis/{GROUP}/v1/things?{query}")).await;
    let mut object = a_thing("b", &json!({}));
    object["metadata"]["labels"] = json!({"of": s.namespace});
    s.send(Ask::new("POST", "things").json(&object).silent())
        .await;
    watch.next().await;
}

async fn metadata_alone_is_watched(s: &Session) {
    let start = put(s, "a", &json!({"k": "1"})).await;
    put(s, "a", &json!({"k": "2"})).await;
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let path = format!("configmaps?resourceVersion={start}");
    let mut watch = s
        .watch_as(Ask::new("GET", &path).header(ACCEPT, accept))
        .await;
    watch.next().await;
    remove(s, "configmaps/a").await;
    watch.next().await;
}

async fn a_watch_lasts_as_long_as_it_is_told_to(s: &Session) {
    put(s, "a", &json!({})).await;
    let mut watch = s.watch("configmaps?timeoutSeconds=1").await;
    watch.take(2).await;
}

async fn a_watch_says_how_far_it_is_before_it_ends(s: &Session) {
    let start = put(s, "a", &json!({})).await;
    let query = format!("allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion={start}");
    let mut watch = s.watch(&format!("configmaps?{query}")).await;
    watch.next_of_all().await;
}

async fn a_change_of_nothing_is_not_told(s: &Session) {
    let start = put(s, "a", &json!({"k": "v"})).await;
    let mut watch = s
        .watch(&format!("configmaps?resourceVersion={start}"))
        .await;
    put(s, "a", &json!({"k": "v"})).await;
    let rehearsed = Ask::new("DELETE", "configmaps/a?dryRun=All").silent();
    s.send(rehearsed).await;
    put(s, "a", &json!({"k": "w"})).await;
    watch.next().await;
}

async fn options_of_a_watch_fit_together(s: &Session) {
    for query in [
        "resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch=Exact",
        "resourceVersion=0&resourceVersionMatch=NotOlderThan",
        "sendInitialEvents=true",
        "sendInitialEvents=false",
        "sendInitialEvents=true&resourceVersionMatch=Exact",
        "continue=x",
        "continue=x&resourceVersion=5&resourceVersionMatch=NotOlderThan",
        "resourceVersion=x",
        "timeoutSeconds=x",
        "labelSelector=,",
        "fieldSelector=data.k=v",
    ] {
        s.get(&format!("configmaps?watch=true&{query}")).await;
    }
    s.get("configmaps/a?watch=true").await;
    s.get("configmaps?watch=0").await;
    s.get("configmaps?watch=False").await;
}

async fn a_start_that_is_yet_to_come_is_waited_for_in_vain(s: &Session) {
    put(s, "a", &json!({})).await;
    let all = "resourceVersionMatch=NotOlderThan&sendInitialEvents=true&resourceVersion=99999999";
    let mut watch = s.watch(&format!("configmaps?{all}")).await;
    watch.take(2).await;
    let mut watch = s
        .watch("configmaps?resourceVersion=99999999&timeoutSeconds=1")
        .await;
    watch.next().await;
}

async fn a_watch_ends_with_its_kind(s: &Session) {
    let group = "a-watch-ends-with-its-kind.capstan.dev";
    let mut definition = thing();
    definition["metadata"]["name"] = json!(format!("things.{group}"));
    definition["spec"]["group"] = json!(group);
    s.install(&definition).await;
    let path = format!("/apis/{group}/v1/namespaces/{}/things", s.namespace);
    let mut object = a_thing("a", &json!({}));
    object["apiVersion"] = json!(format!("{group}/v1"));
    s.send(Ask::new("POST", &path).json(&object).silent()).await;
    let mut watch = s.watch(&path).await;
    watch.next().await;
    remove(s, &format!("customresourcedefinitions/things.{group}")).await;
    watch.take(2).await;
}

behaviours! { Api:
    a_bookmark_ends_what_was_there,
    a_bookmark_is_of_a_custom_kind,
    a_change_of_nothing_is_not_told,
    a_start_that_is_yet_to_come_is_waited_for_in_vain,
    a_watch_ends_with_its_kind,
    a_watch_goes_on_where_another_ended,
    a_watch_lasts_as_long_as_it_is_told_to,
    a_watch_may_span_namespaces,
    a_watch_says_how_far_it_is_before_it_ends,
    a_watch_tells_what_happened_since_a_version,
    a_watch_without_a_version_starts_with_what_is_there,
    metadata_alone_is_watched,
    objects_enter_and_leave_a_selection_by_field,
    objects_enter_and_leave_a_selection_by_label,
    one_object_is_watched_by_its_name,
    options_of_a_watch_fit_together,
    what_has_no_namespace_is_watched,
    what_was_there_may_be_left_out,
}
