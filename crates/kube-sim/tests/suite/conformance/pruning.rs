//! What becomes of fields that nobody declared.

use serde_json::{Value as Json, json};

use super::{behaviours, thing, widget};
use crate::session::{Ask, Session};

fn object(name: &str, spec: &Json) -> Json {
    json!({
        "apiVersion": "conformance.capstan.dev/v1", "kind": "Thing",
        "metadata": {"name": name}, "spec": spec,
    })
}

fn unknown() -> Json {
    json!({"text": "a", "colour": "red", "nested": {"a": "x", "shade": {"b": "c"}}, "structs": [{"a": "x", "y": 1}]})
}

async fn unknown_fields_are_dropped_and_told(s: &Session) {
    s.install(&thing()).await;
    let made = s.post("things", &object("a", &unknown())).await;
    let mut other = object("a", &unknown());
    other["metadata"]["resourceVersion"] = json!(made.version());
    other["extra"] = json!([1]);
    s.put("things/a", &other).await;
    s.merge("things/a", &json!({"spec": {"colour": "red"}}))
        .await;
    let operations = json!([{"op": "add", "path": "/spec/colour", "value": "red"}]);
    s.json_patch("things/a", &operations).await;
    let nested = json!({"nested": {"a": "x", "shade": {"b": "c"}}});
    s.apply("things/a?fieldManager=b&force=true", &object("a", &nested))
        .await;
    s.apply(
        "things/b?fieldManager=b",
        &object("b", &json!({"colour": "red"})),
    )
    .await;
    s.merge(
        "things/a/status",
        &json!({"status": {"phase": "x", "other": 1}}),
    )
    .await;
}

async fn unknown_fields_are_refused_when_strict(s: &Session) {
    s.install(&thing()).await;
    let strict = "fieldValidation=Strict";
    s.post(&format!("things?{strict}"), &object("a", &unknown()))
        .await;
    let made = s.post("things", &object("a", &json!({}))).await;
    let mut other = object("a", &unknown());
    other["metadata"]["resourceVersion"] = json!(made.version());
    s.put(&format!("things/a?{strict}"), &other).await;
    s.merge(
        &format!("things/a?{strict}"),
        &json!({"spec": {"colour": "red"}}),
    )
    .await;
    let operations = json!([{"op": "add", "path": "/spec/colour", "value": "red"}]);
    s.json_patch(&format!("things/a?{strict}"), &operations)
        .await;
    let path = format!("things/a?{strict}&fieldManager=b");
    s.apply(&path, &object("a", &json!({"colour": "red"})))
        .await;
    s.get("things/a").await;
}

async fn unknown_fields_are_dropped_in_silence_when_ignored(s: &Session) {
    s.install(&thing()).await;
    let ignore = "fieldValidation=Ignore";
    s.post(&format!("things?{ignore}"), &object("a", &unknown()))
        .await;
    s.merge(
        &format!("things/a?{ignore}"),
        &json!({"spec": {"colour": "red"}}),
    )
    .await;
    let path = format!("things/a?{ignore}&fieldManager=b&force=true");
    s.apply(&path, &object("a", &json!({"colour": "red"})))
        .await;
}

async fn there_are_three_ways_to_validate_fields(s: &Session) {
    s.install(&thing()).await;
    s.post("things?fieldValidation=Maybe", &object("a", &json!({})))
        .await;
    s.post(
        "configmaps?fieldValidation=strict",
        &json!({"metadata": {"name": "a"}}),
    )
    .await;
    s.merge("things/a?fieldValidation=x", &json!({})).await;
}

async fn unknown_metadata_is_dropped_and_told(s: &Session) {
    s.install(&thing()).await;
    let mut made = object("a", &json!({}));
    made["metadata"]["colour"] = json!("red");
    made["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "hue": 1}]);
    s.post("things", &made).await;
    s.post("things?fieldValidation=Strict", &made).await;
    s.merge("things/a", &json!({"metadata": {"shade": {"a": "b"}}}))
        .await;
    s.merge(
        "things/a?fieldValidation=Strict",
        &json!({"metadata": {"shade": {"a": "b"}}}),
    )
    .await;
}

async fn an_open_field_keeps_everything(s: &Session) {
    s.install(&thing()).await;
    let spec = json!({
        "free": {"a": {"b": [1, {"c": null}]}},
        "typed": {"x": 1, "known": {"a": "b", "y": 2}},
        "inner": {"apiVersion": "v1", "kind": "Pod", "spec": {"z": 1}},
    });
    s.post("things", &object("a", &spec)).await;
    s.post("things?fieldValidation=Strict", &object("b", &spec))
        .await;
    s.apply("things/c?fieldManager=b", &object("c", &spec))
        .await;
}

async fn an_embedded_object_keeps_its_known_metadata(s: &Session) {
    s.install(&thing()).await;
    let inner = json!({
        "apiVersion": "v1", "kind": "Pod", "other": {"a": 1},
        "metadata": {"name": "x", "labels": {"a": "b"}, "colour": "red", "creationTimestamp": null, "generation": 3},
    });
    let spec = json!({"inner": inner});
    s.post("things", &object("a", &spec)).await;
    s.post("things?fieldValidation=Strict", &object("b", &spec))
        .await;
    s.apply("things/c?fieldManager=b", &object("c", &spec))
        .await;
}

async fn an_open_kind_keeps_everything_but_metadata(s: &Session) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    s.install(&widget(s, &schema)).await;
    let object = |name: &str| {
        json!({
            "apiVersion": format!("{}/v1", s.group()), "kind": "Widget",
            "metadata": {"name": name, "colour": "red"},
            "radius": 1.5, "moons": [{"name": null}], "status": {"a": 1}, "nothing": null,
        })
    };
    s.post("widgets", &object("a")).await;
    s.apply("widgets/b?fieldManager=b", &object("b")).await;
    s.merge(
        "widgets/a",
        &json!({"radius": {"unit": "km"}, "moons": null}),
    )
    .await;
}

async fn a_built_in_kind_drops_and_tells_too(s: &Session) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "hue": 1}, "spec": {"a": 1}});
    s.post("configmaps", &object).await;
    s.post("configmaps?fieldValidation=Strict", &object).await;
    s.post("configmaps?fieldValidation=Ignore&dryRun=All", &object)
        .await;
    s.merge("configmaps/a", &json!({"spec": {"a": 1}})).await;
    s.merge(
        "configmaps/a?fieldValidation=Strict",
        &json!({"spec": {"a": 1}}),
    )
    .await;
    s.json_patch(
        "configmaps/a?fieldValidation=Strict",
        &json!([{"op": "add", "path": "/metadata/hue", "value": "red"}]),
    )
    .await;
    s.get("configmaps/a").await;
}

async fn a_field_is_there_once_in_json(s: &Session) {
    s.install(&thing()).await;
    let body = r#"{"apiVersion":"conformance.capstan.dev/v1","kind":"Thing","kind":"Thing","metadata":{"name":"a","labels":{"a":"b","a":"c"}},"spec":{"text":"a","text":"b","list":["a"],"structs":[{"a":"x","a":"y"}]}}"#;
    let ask =
        |query: &str| Ask::new("POST", &format!("things?{query}")).body("application/json", body);
    s.send(ask("dryRun=All")).await;
    s.send(ask("fieldValidation=Strict")).await;
    s.send(ask("fieldValidation=Ignore")).await;
    let patch = |query: &str| {
        let ask = Ask::new("PATCH", &format!("things/a?{query}"));
        ask.body(
            "application/merge-patch+json",
            r#"{"spec":{"text":"c","text":"d"}}"#,
        )
    };
    s.send(patch("fieldValidation=Strict")).await;
    s.send(patch("")).await;
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b","a":"c"}}"#;
    let ask = |query: &str| {
        Ask::new("POST", &format!("configmaps?{query}")).body("application/json", body)
    };
    s.send(ask("dryRun=All")).await;
    s.send(ask("fieldValidation=Strict")).await;
}

async fn a_field_is_there_once_in_yaml(s: &Session) {
    s.install(&thing()).await;
    let body = "apiVersion: conformance.capstan.dev/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  text: a\n  text: b\n";
    let ask = |query: &str| {
        let ask = Ask::new("POST", &format!("things?{query}"));
        ask.body("application/yaml", body)
    };
    s.send(ask("dryRun=All")).await;
    s.send(ask("fieldValidation=Strict")).await;
    s.send(ask("fieldValidation=Ignore")).await;
    let apply = |query: &str| {
        let ask = Ask::new("PATCH", &format!("things/b?fieldManager=b&{query}"));
        ask.body(
            "application/apply-patch+yaml",
            body.replace("name: a", "name: b"),
        )
    };
    s.send(apply("fieldValidation=Strict")).await;
    s.send(apply("")).await;
}

async fn a_warning_comes_with_a_refusal_as_well(s: &Session) {
    s.install(&thing()).await;
    s.post("things", &object("a", &json!({"colour": 1, "count": 11})))
        .await;
    s.post("things", &object("a", &json!({"text": {"a": 1}})))
        .await;
}

behaviours! { Api:
    a_built_in_kind_drops_and_tells_too,
    a_field_is_there_once_in_json,
    a_field_is_there_once_in_yaml,
    a_warning_comes_with_a_refusal_as_well,
    an_embedded_object_keeps_its_known_metadata,
    an_open_field_keeps_everything,
    an_open_kind_keeps_everything_but_metadata,
    there_are_three_ways_to_validate_fields,
    unknown_fields_are_dropped_and_told,
    unknown_fields_are_dropped_in_silence_when_ignored,
    unknown_fields_are_refused_when_strict,
    unknown_metadata_is_dropped_and_told,
}
