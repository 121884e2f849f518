//! Which fields of `metadata` the server sets, and how the rest is validated.

use serde_json::{Value as Json, json};

use super::{a_config_map, a_thing, behaviours, thing};
use crate::session::Session;

fn owner(kind: &str, uid: &str) -> Json {
    json!({"apiVersion": "v1", "kind": kind, "name": "o", "uid": uid})
}

async fn a_name_and_a_namespace_stay(s: &Session) {
    let mut read = s
        .post("configmaps", &a_config_map("a", &json!({})))
        .await
        .body;
    s.merge("configmaps/a", &json!({"metadata": {"name": "b"}}))
        .await;
    s.merge("configmaps/a", &json!({"metadata": {"namespace": "other"}}))
        .await;
    s.json_patch(
        "configmaps/a",
        &json!([{"op": "remove", "path": "/metadata/name"}]),
    )
    .await;
    s.json_patch(
        "configmaps/a",
        &json!([{"op": "remove", "path": "/metadata/namespace"}]),
    )
    .await;
    s.put("configmaps/b", &read).await;
    read["metadata"]["namespace"] = json!("other");
    s.put("configmaps/a", &read).await;
    s.post("configmaps", &read).await;
    read["metadata"]["namespace"].take();
    read["metadata"]["name"].take();
    s.put("configmaps/a", &read).await;
    s.post("configmaps", &json!({"data": {"k": "v"}})).await;
}

async fn what_only_the_server_says_is_not_taken_from_a_creation(s: &Session) {
    s.install(&thing()).await;
    let sent = json!({
        "uid": "0a0a0a0a", "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5,
        "generation": 9, "selfLink": "/somewhere",
    });
    let times = |s: &Session, made: &crate::reply::Reply| {
        let old = made.at("/metadata/creationTimestamp").starts_with("2001");
        s.note(&format!("old: {old}"));
    };
    let made = s.post("configmaps", &a_config_map("a", &sent)).await;
    times(s, &made);
    let made = s.post("things", &a_thing(&sent)).await;
    times(s, &made);
    let versioned = json!({"resourceVersion": "1"});
    s.post("configmaps", &a_config_map("b", &versioned)).await;
}

async fn what_only_the_server_says_stays_in_updates(s: &Session) {
    s.install(&thing()).await;
    s.post("things", &a_thing(&json!({}))).await;
    s.post("configmaps", &a_config_map("a", &json!({}))).await;
    for path in ["things/a", "configmaps/a"] {
        for metadata in [
            json!({"creationTimestamp": "2001-01-01T00:00:00Z"}),
            json!({"creationTimestamp": null}),
            json!({"deletionTimestamp": "2001-01-01T00:00:00Z"}),
            json!({"deletionGracePeriodSeconds": 5}),
            json!({"generation": 9, "selfLink": "/somewhere"}),
        ] {
            s.merge(path, &json!({"metadata": metadata})).await;
        }
    }
}

async fn a_uid_stays(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &a_config_map("a", &json!({}))).await;
    let other = "11111111-2222-3333-4444-555555555555";
    s.merge("configmaps/a", &json!({"metadata": {"uid": other}}))
        .await;
    s.put("configmaps/a", &a_config_map("a", &json!({"uid": other})))
        .await;
    s.put(
        "configmaps/a",
        &a_config_map("a", &json!({"labels": {"l": "1"}})),
    )
    .await;
    s.put("configmaps/b", &a_config_map("b", &json!({"uid": other})))
        .await;
    let mut read = s.post("things", &a_thing(&json!({}))).await.body;
    read["metadata"]["uid"] = json!(other);
    s.put("things/a", &read).await;
    s.merge("things/a", &json!({"metadata": {"uid": other}}))
        .await;
    s.merge(
        "things/a",
        &json!({"metadata": {"uid": null, "labels": {"l": "1"}}}),
    )
    .await;
}

async fn a_resource_version_guards_an_update(s: &Session) {
    s.install(&thing()).await;
    let first = s.post("configmaps", &a_config_map("a", &json!({}))).await;
    s.put(
        "configmaps/a",
        &a_config_map("a", &json!({"labels": {"l": "1"}})),
    )
    .await;
    s.put("configmaps/a", &first.body).await;
    let old = json!({"metadata": {"resourceVersion": first.version(), "labels": {"l": "2"}}});
    s.merge("configmaps/a", &old).await;
    let bare = a_thing(&json!({}));
    let made = s.post("things", &bare).await;
    s.put("things/a", &bare).await;
    s.merge(
        "things/a",
        &json!({"metadata": {"resourceVersion": made.version(), "labels": {"l": "1"}}}),
    )
    .await;
    s.put("things/a", &made.body).await;
    s.merge(
        "things/a",
        &json!({"metadata": {"resourceVersion": null, "labels": {"l": "2"}}}),
    )
    .await;
    for version in ["x", "-1", "0"] {
        let sent = a_config_map("a", &json!({"resourceVersion": version}));
        s.put("configmaps/a", &sent).await;
    }
}

async fn a_name_follows_the_rule_of_its_kind(s: &Session) {
    s.install(&thing()).await;
    let long = "a".repeat(254);
    for name in ["A", "a_b", "-a", "a..b", "a.", &long, "a/b", ""] {
        s.post("configmaps", &a_config_map(name, &json!({}))).await;
    }
    for name in ["a.b", "A", "..", "a/b"] {
        let mut made = a_thing(&json!({}));
        made["metadata"]["name"] = json!(name);
        s.post("things", &made).await;
    }
    for name in ["a.b", "A", "1a", &"a".repeat(64)] {
        s.post(
            "namespaces?dryRun=All",
            &json!({"metadata": {"name": name}}),
        )
        .await;
        let service = json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 1}]}});
        s.post("services?dryRun=All", &service).await;
        let role = format!(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles?dryRun=All",
            s.namespace
        );
        s.post(&role, &json!({"metadata": {"name": name}})).await;
    }
}

async fn labels_are_checked(s: &Session) {
    let long = "v".repeat(64);
    for labels in [
        json!({"": "v"}),
        json!({"a b": "v"}),
        json!({"a/b/c": "v"}),
        json!({"/a": "v"}),
        json!({"a/": "v"}),
        json!({"A.b/c": "v"}),
        json!({"example.com/a": "-v"}),
        json!({"a": long}),
        json!({long.as_str(): "v"}),
    ] {
        s.post("configmaps", &a_config_map("a", &json!({"labels": labels})))
            .await;
    }
}

async fn annotations_are_checked(s: &Session) {
    s.install(&thing()).await;
    for annotations in [
        json!({"a b": "v"}),
        json!({"Example.com/A": "any thing"}),
        json!({"a/b/c": ""}),
    ] {
        s.post(
            "configmaps?dryRun=All",
            &a_config_map("a", &json!({"annotations": annotations})),
        )
        .await;
    }
    let big = json!({"annotations": {"a": "x".repeat(262_144)}});
    s.post("configmaps", &a_config_map("a", &big)).await;
    s.post("things", &a_thing(&big)).await;
    s.post("configmaps", &a_config_map("a", &json!({}))).await;
    s.post("things", &a_thing(&json!({}))).await;
    for metadata in [
        json!({"annotations": {"a b": "v"}}),
        json!({"labels": {"a": "-"}}),
    ] {
        s.merge("configmaps/a", &json!({"metadata": metadata}))
            .await;
        s.merge("things/a", &json!({"metadata": metadata})).await;
    }
}

async fn owner_references_are_checked(s: &Session) {
    s.install(&thing()).await;
    for owners in [
        json!([{"apiVersion": "", "kind": "", "name": "", "uid": ""}]),
        json!([{"apiVersion": "v1/v2/v3", "kind": "ConfigMap", "name": "o", "uid": "u"}]),
        json!([owner("Event", "u")]),
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u", "controller": true},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "p", "uid": "v", "controller": true}]),
        json!([owner("ConfigMap", "u"), owner("ConfigMap", "u")]),
    ] {
        let metadata = json!({"ownerReferences": owners});
        s.post("configmaps?dryRun=All", &a_config_map("a", &metadata))
            .await;
        s.post("things?dryRun=All", &a_thing(&metadata)).await;
    }
}

async fn finalizers_are_checked(s: &Session) {
    s.install(&thing()).await;
    for finalizers in [
        json!(["plain"]),
        json!(["a b"]),
        json!(["capstan.dev/f", "capstan.dev/f"]),
        json!(["orphan", "foregroundDeletion"]),
        json!(["kubernetes"]),
        json!(["a/b/c", ""]),
    ] {
        let metadata = json!({"finalizers": finalizers});
        s.post("configmaps?dryRun=All", &a_config_map("a", &metadata))
            .await;
        s.post("things?dryRun=All", &a_thing(&metadata)).await;
    }
    s.post("things", &a_thing(&json!({"finalizers": ["plain"]})))
        .await;
    s.merge(
        "things/a",
        &json!({"metadata": {"finalizers": ["plain", "other"]}}),
    )
    .await;
    s.merge("things/a", &json!({"metadata": {"labels": {"l": "1"}}}))
        .await;
    s.post("configmaps", &a_config_map("a", &json!({}))).await;
    s.merge(
        "configmaps/a",
        &json!({"metadata": {"finalizers": ["plain"]}}),
    )
    .await;
    s.merge(
        "things/a/status",
        &json!({"metadata": {"finalizers": ["fourth"]}}),
    )
    .await;
    let added = a_thing(&json!({"finalizers": ["third"]}));
    s.apply("things/a?fieldManager=m", &added).await;
}

behaviours! { Api:
    a_name_and_a_namespace_stay,
    what_only_the_server_says_is_not_taken_from_a_creation,
    what_only_the_server_says_stays_in_updates,
    a_uid_stays,
    a_resource_version_guards_an_update,
    a_name_follows_the_rule_of_its_kind,
    labels_are_checked,
    annotations_are_checked,
    owner_references_are_checked,
    finalizers_are_checked,
}
