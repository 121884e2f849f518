//! What clients may do to the entries of managedFields, and entries of several versions.

use serde_json::{Value as Json, json};

use super::script::{say, whole};
use super::{behaviours, thing};
use crate::session::{Ask, GROUP, Session};

const MAP: &str = "apply configmaps/a?fieldManager=one {data: {x: '1'}}";
const THING: &str = "apply things/a?fieldManager=one {spec: {text: x}}";

async fn an_empty_list_of_managers_drops_them(s: &Session) {
    s.install(&thing()).await;
    for managers in [json!([]), json!([{}])] {
        s.note(&managers.to_string());
        for (path, line) in [("configmaps/a", MAP), ("things/a", THING)] {
            say(s, line).await;
            let mut object = s.get(path).await.body;
            object["metadata"]["managedFields"] = managers.clone();
            s.put(path, &object).await;
            say(
                s,
                &format!("merge {path}?fieldManager=two {{metadata: {{labels: {{a: b}}}}}}"),
            )
            .await;
            s.delete(path).await;
        }
    }
}

async fn an_empty_list_of_managers_in_a_patch_drops_them(s: &Session) {
    s.install(&thing()).await;
    for managers in ["[]", "[{}]"] {
        for (path, line) in [("configmaps/a", MAP), ("things/a", THING)] {
            say(s, line).await;
            say(
                s,
                &format!("merge {path} {{metadata: {{managedFields: {managers}}}}}"),
            )
            .await;
            s.delete(path).await;
        }
    }
}

async fn managers_that_are_left_out_stay(s: &Session) {
    s.install(&thing()).await;
    say(
        s,
        "
        apply things/a?fieldManager=one {spec: {text: x}}
        merge things/a {metadata: {managedFields: null}}
        json things/a [{op: remove, path: /metadata/managedFields}]
        apply configmaps/a?fieldManager=one {data: {x: '1'}}
        merge configmaps/a {metadata: {managedFields: null}}
        json configmaps/a [{op: remove, path: /metadata/managedFields}]
        put configmaps/a {data: {x: '1'}}
        put configmaps/a {metadata: {managedFields: null}, data: {x: '1'}}
        ",
    )
    .await;
}

async fn a_client_may_edit_the_entries(s: &Session) {
    let version = format!("{GROUP}/v1");
    let entry = |manager: &str, fields: &str| {
        format!(
            "{{manager: {manager}, operation: Apply, apiVersion: {version}, fieldsType: FieldsV1, fieldsV1: {fields}}}"
        )
    };
    let only_text = "{f:spec: {f:text: {}}}";
    s.install(&thing()).await;
    let lines = format!(
        "
        apply things/a?fieldManager=one {{spec: {{text: x, count: 1}}}}
        merge things/a {{metadata: {{managedFields: [{}]}}}}
        apply things/a?fieldManager=two {{spec: {{count: 2}}}}
        merge things/a {{metadata: {{managedFields: [{}, {}]}}}}
        merge things/a?fieldManager=three {{spec: {{text: z}}}}
        merge things/a {{metadata: {{managedFields: [{}, {}]}}}}
        apply things/a?fieldManager=other {{spec: {{}}}}
        ",
        entry("other", only_text),
        entry("other", only_text),
        entry(
            "made-up",
            "{f:spec: {f:ghost: {}, f:items: {'k:{\"name\":\"n\"}': {}}}}"
        ),
        entry("other", "{f:spec: {f:count: {}}}"),
        entry("other", "{f:spec: {f:mode: {}}}"),
    );
    say(s, &lines).await;
}

async fn entries_that_are_none_are_not_taken(s: &Session) {
    s.install(&thing()).await;
    let entry = json!({"manager": "m", "operation": "Apply", "apiVersion": format!("{GROUP}/v1"), "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:text": {}}}});
    say(s, THING).await;
    for (key, value) in [
        ("operation", json!("Delete")),
        ("operation", json!("")),
        ("apiVersion", json!("")),
        ("fieldsType", json!("")),
        ("fieldsType", json!("FieldsV2")),
        ("fieldsV1", json!({"spec": {}})),
        ("fieldsV1", json!({"k:x": {}})),
        ("fieldsV1", json!({"x:y": {}})),
        ("manager", json!("")),
    ] {
        s.note(&format!("{key} {value}"));
        let mut wrong = entry.clone();
        wrong[key] = value;
        s.merge("things/a", &json!({"metadata": {"managedFields": [wrong]}}))
            .await;
    }
}

async fn entries_of_an_unknown_version_take_all_along(s: &Session) {
    s.install(&thing()).await;
    say(s, THING).await;
    let entry = |version: &str| json!({"manager": "m", "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:text": {}}}});
    let patch = |version: &str| json!([{"op": "add", "path": "/metadata/managedFields/-", "value": entry(version)}]);
    s.json_patch("things/a", &patch("elsewhere.dev/v1")).await;
    say(s, "delete things/a").await;
    say(s, THING).await;
    s.json_patch("things/a", &patch(&format!("{GROUP}/v0")))
        .await;
    say(s, MAP).await;
    s.json_patch("configmaps/a", &patch("apps/v1")).await;
    s.json_patch("configmaps/a", &patch("v0")).await;
    say(s, "merge configmaps/a?fieldManager=two {data: {z: '1'}}").await;
}

async fn a_create_may_bring_entries(s: &Session) {
    say(
        s,
        "
        post configmaps?fieldManager=one {metadata: {managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {f:x: {}}}}]}, data: {x: '1', w: '1'}}
        apply configmaps/a?fieldManager=m {data: {}}
        post configmaps?fieldManager=one {metadata: {name: b, managedFields: []}, data: {x: '1'}}
        ",
    )
    .await;
}

async fn kubectl_moves_its_entry(s: &Session) {
    // What `kubectl apply --server-side` sends when it finds the entry of its client-side apply.
    let last = whole("configmaps/a", json!({"data": {"x": "1", "y": "1"}}));
    let mut map = last.clone();
    map["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": format!("{last}\n")});
    let made = s
        .post("configmaps?fieldManager=kubectl-client-side-apply", &map)
        .await;
    let mut entries = made.body["metadata"]["managedFields"].clone();
    entries[0]["manager"] = json!("kubectl");
    entries[0]["operation"] = json!("Apply");
    let patch = json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": made.version()},
    ]);
    s.json_patch("configmaps/a?fieldManager=kubectl", &patch)
        .await;
    s.json_patch("configmaps/a?fieldManager=kubectl", &patch)
        .await;
    say(
        s,
        "
        apply configmaps/a?fieldManager=kubectl {data: {x: '2'}}
        apply configmaps/a?fieldManager=other {data: {x: '2'}}
        apply configmaps/a?fieldManager=kubectl {data: {}}
        ",
    )
    .await;
}

/// `Box`, a kind of the behaviour's own with two versions.
fn boxes(s: &Session, served: bool) -> Json {
    let group = format!("{}.capstan.dev", s.namespace);
    let fields = json!({"text": {"type": "string"}, "count": {"type": "integer"}});
    let schema =
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}});
    let version = |name: &str, served: bool| json!({"name": name, "served": served, "storage": name == "v2", "schema": {"openAPIV3Schema": schema}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("boxes.{group}")},
        "spec": {
            "group": group, "scope": "Cluster",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"},
            "versions": [version("v1", served), version("v2", true)],
        },
    })
}

/// A write of a spec, in this media type and at this version.
async fn write(s: &Session, how: &str, version: &str, manager: &str, spec: &Json) {
    let group = format!("{}.capstan.dev", s.namespace);
    let path = format!("/apis/{group}/{version}/boxes/a?fieldManager={manager}");
    let object = json!({"apiVersion": format!("{group}/{version}"), "kind": "Box", "metadata": {"name": "a"}, "spec": spec});
    let ask = Ask::new("PATCH", &path);
    s.send(ask.body(&format!("application/{how}"), object.to_string()))
        .await;
}

async fn versions_of_a_kind_have_entries_of_their_own(s: &Session) {
    s.install(&boxes(s, true)).await;
    let (apply, merge) = ("apply-patch+yaml", "merge-patch+json");
    write(s, apply, "v1", "one", &json!({"text": "x", "count": 1})).await;
    write(s, apply, "v2", "two", &json!({"text": "y"})).await;
    write(s, apply, "v2", "one", &json!({"text": "x"})).await;
    write(s, merge, "v1", "three", &json!({"count": 2})).await;
    write(s, merge, "v2", "three", &json!({"count": 3})).await;
    write(s, merge, "v1", "three", &json!({"text": "z"})).await;
    write(s, apply, "v1", "one", &json!({"count": 4})).await;
}

async fn a_version_that_is_no_longer_served_keeps_its_entries(s: &Session) {
    s.install(&boxes(s, true)).await;
    let (apply, merge) = ("apply-patch+yaml", "merge-patch+json");
    write(s, apply, "v1", "one", &json!({"text": "x"})).await;
    write(s, apply, "v1", "two", &json!({"count": 1})).await;
    let path = format!(
        "customresourcedefinitions/boxes.{}.capstan.dev",
        s.namespace
    );
    let versions = json!({"spec": {"versions": boxes(s, false)["spec"]["versions"]}});
    let ask = Ask::new("PATCH", &path).body("application/merge-patch+json", versions.to_string());
    assert_eq!(s.send(ask.silent()).await.status, 200);
    let old = format!("/apis/{}.capstan.dev/v1/boxes/a", s.namespace);
    s.meet(&old, |reply| reply.status == 404).await;
    write(s, apply, "v2", "one", &json!({"text": "y"})).await;
    write(s, apply, "v2", "three", &json!({"text": "y", "count": 2})).await;
    // Without the version the fields written in it are unknown.
    let patch = json!([{"op": "remove", "path": "/spec/versions/0"}]).to_string();
    let stored = json!({"status": {"storedVersions": ["v2"]}}).to_string();
    for (path, media_type, body) in [
        (format!("{path}/status"), "merge-patch+json", stored),
        (path, "json-patch+json", patch),
    ] {
        let ask = Ask::new("PATCH", &path).body(&format!("application/{media_type}"), body);
        let changed = s.send(ask.silent()).await;
        assert_eq!(changed.status, 200, "{}", changed.text);
    }
    let probe = format!("/apis/{}.capstan.dev/v2/boxes/a?dryRun=All", s.namespace);
    let body = json!({"spec": {"count": 7}}).to_string();
    let probe = Ask::new("PATCH", &probe).body("application/merge-patch+json", body);
    s.meet_as(&probe, |reply| !reply.text.contains("managedFields"))
        .await;
    write(s, apply, "v2", "one", &json!({"text": "w"})).await;
    write(s, merge, "v2", "three", &json!({"text": "v"})).await;
    write(s, apply, "v2", "one", &json!({"text": "u"})).await;
}

behaviours! { Api:
    an_empty_list_of_managers_drops_them,
    an_empty_list_of_managers_in_a_patch_drops_them,
    managers_that_are_left_out_stay,
    a_client_may_edit_the_entries,
    entries_that_are_none_are_not_taken,
    entries_of_an_unknown_version_take_all_along,
    a_create_may_bring_entries,
    kubectl_moves_its_entry,
    versions_of_a_kind_have_entries_of_their_own,
    a_version_that_is_no_longer_served_keeps_its_entries,
}
