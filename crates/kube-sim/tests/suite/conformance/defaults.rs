//! What a schema fills in, when, and for whom.

use serde_json::{Value as Json, json};

use super::{behaviours, thing, widget, with_spec};
use crate::session::Session;

fn object(name: &str, spec: &Json) -> Json {
    json!({
        "apiVersion": "conformance.capstan.dev/v1", "kind": "Thing",
        "metadata": {"name": name}, "spec": spec,
    })
}

fn own(s: &Session, spec: &Json) -> Json {
    json!({
        "apiVersion": format!("{}/v1", s.group()), "kind": "Widget",
        "metadata": {"name": "a"}, "spec": spec,
    })
}

async fn defaults_are_filled_in_on_create(s: &Session) {
    s.install(&thing()).await;
    for (name, spec) in [
        ("a", json!({})),
        ("b", json!({"nested": {}})),
        ("c", json!({"nested": {"deep": {"d": "x"}}})),
        (
            "d",
            json!({"items": [{"name": "a"}, {"name": "b", "port": 81}]}),
        ),
        ("e", json!({"ports": [{"port": 1}]})),
        ("f", json!({"mode": "Slow", "nested": {"deep": {"c": 0}}})),
    ] {
        s.post("things", &object(name, &spec)).await;
    }
}

async fn what_is_not_there_has_no_defaults_inside(s: &Session) {
    s.install(&thing()).await;
    let mut bare = object("a", &json!({}));
    bare.as_object_mut().expect("a map").remove("spec");
    s.post("things", &bare).await;
    s.post("things", &object("b", &json!({"items": []}))).await;
}

async fn defaults_are_filled_in_on_update(s: &Session) {
    s.install(&thing()).await;
    let spec = json!({"mode": "Slow", "nested": {"deep": {"c": 1}}});
    let made = s.post("things", &object("a", &spec)).await;
    let mut bare = object("a", &json!({"nested": {}}));
    bare["metadata"]["resourceVersion"] = json!(made.version());
    s.put("things/a", &bare).await;
    s.merge(
        "things/a",
        &json!({"spec": {"mode": "Slow", "nested": null}}),
    )
    .await;
    s.merge("things/a", &json!({"spec": {"mode": null}})).await;
    s.json_patch("things/a", &json!([{"op": "remove", "path": "/spec/mode"}]))
        .await;
    let items = json!([{"op": "add", "path": "/spec/items", "value": [{"name": "a"}]}]);
    s.json_patch("things/a", &items).await;
}

async fn nobody_owns_what_was_filled_in_on_apply(s: &Session) {
    s.install(&thing()).await;
    let path = |manager: &str| format!("things/a?fieldManager={manager}");
    let config = object("a", &json!({"items": [{"name": "a"}], "nested": {}}));
    s.apply(&path("one"), &config).await;
    s.apply(&path("two"), &object("a", &json!({"mode": "Slow"})))
        .await;
    s.apply(
        &path("three"),
        &object("a", &json!({"items": [{"name": "a", "port": 81}]})),
    )
    .await;
    s.apply(&path("two"), &object("a", &json!({}))).await;
}

async fn null_stands_for_the_default(s: &Session) {
    let fields = json!({
        "plain": {"type": "string", "default": "x"},
        "nullable": {"type": "string", "default": "x", "nullable": true},
        "bare": {"type": "string", "nullable": true},
        "list": {"type": "array", "items": {"type": "string", "default": "x"}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "nested": {"type": "object", "default": {"a": null}, "properties": {"a": {"type": "string", "nullable": true, "default": "y"}}},
    });
    s.install(&widget(s, &with_spec(&fields))).await;
    let nulls = json!({"plain": null, "nullable": null, "bare": null, "list": [null], "map": {"a": null}, "nested": null});
    s.post("widgets", &own(s, &nulls)).await;
    s.merge(
        "widgets/a",
        &json!({"spec": {"nullable": null, "plain": null}}),
    )
    .await;
    let operations = json!([
        {"op": "add", "path": "/spec/nullable", "value": null},
        {"op": "replace", "path": "/spec/plain", "value": null},
    ]);
    s.json_patch("widgets/a", &operations).await;
}

async fn a_default_may_be_of_any_type(s: &Session) {
    let fields = json!({
        "text": {"type": "string", "default": ""},
        "number": {"type": "number", "default": 1.5},
        "whole": {"type": "integer", "default": 0},
        "flag": {"type": "boolean", "default": false},
        "list": {"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
        "map": {"type": "object", "additionalProperties": {"type": "string"}, "default": {"a": "b"}},
        "either": {"x-kubernetes-int-or-string": true, "default": "25%"},
        "nested": {"type": "object", "default": {"a": 1}, "properties": {
            "a": {"type": "integer"},
            "b": {"type": "integer", "default": 2},
            "c": {"type": "object", "default": {}, "properties": {"d": {"type": "integer", "default": 3}}},
        }},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": {"x": {"y": []}}},
    });
    s.install(&widget(s, &with_spec(&fields))).await;
    s.post("widgets", &own(s, &json!({}))).await;
    s.get("widgets/a").await;
    s.merge(
        "widgets/a",
        &json!({"spec": {"nested": {"a": null, "b": null, "c": {"d": 4}}, "map": {"a": null}}}),
    )
    .await;
}

async fn entries_of_maps_and_lists_have_defaults(s: &Session) {
    let entry = json!({"type": "object", "properties": {
        "a": {"type": "string", "default": "x"}, "b": {"type": "string"},
    }});
    let fields = json!({
        "map": {"type": "object", "additionalProperties": entry},
        "list": {"type": "array", "items": entry},
        "lists": {"type": "array", "items": {"type": "array", "items": entry}},
    });
    s.install(&widget(s, &with_spec(&fields))).await;
    let spec = json!({
        "map": {"k": {}, "l": {"a": "y"}},
        "list": [{}, {"b": "z"}],
        "lists": [[{}], []],
    });
    s.post("widgets", &own(s, &spec)).await;
}

async fn a_status_has_defaults_where_it_is_written(s: &Session) {
    let mut schema = with_spec(&json!({"a": {"type": "string", "default": "x"}}));
    schema["properties"]["status"] = json!({"type": "object", "properties": {
        "phase": {"type": "string", "default": "New"}, "count": {"type": "integer"},
    }});
    let mut definition = widget(s, &schema);
    definition["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    s.install(&definition).await;
    s.post("widgets", &own(s, &json!({}))).await;
    s.merge("widgets/a/status", &json!({"status": {"count": 1}}))
        .await;
    s.merge(
        "widgets/a/status",
        &json!({"spec": {"a": "y"}, "status": null}),
    )
    .await;
}

/// Objects are stored as they were when they were written, and shown as they would be now.
async fn a_later_default_shows_on_stored_objects(s: &Session) {
    let fields = json!({"a": {"type": "string"}, "b": {"type": "object", "properties": {"c": {"type": "string"}}}});
    let definition = widget(s, &with_spec(&fields));
    s.install(&definition).await;
    s.post("widgets", &own(s, &json!({"b": {}}))).await;
    let path = format!("customresourcedefinitions/widgets.{}", s.group());
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let defaults = json!([
        {"op": "add", "path": format!("{spec}/a/default"), "value": "x"},
        {"op": "add", "path": format!("{spec}/b/properties/c/default"), "value": "y"},
    ]);
    s.json_patch(&path, &defaults).await;
    s.until("widgets/a", |reply| reply.at("/spec/a") == "x")
        .await;
    s.until("widgets", |reply| reply.status == 200).await;
    let mut watch = s.watch("widgets").await;
    watch.next().await;
    s.merge("widgets/a", &json!({"metadata": {"labels": {"a": "b"}}}))
        .await;
    let other = json!([{"op": "replace", "path": format!("{spec}/a/default"), "value": "z"}]);
    s.json_patch(&path, &other).await;
    s.merge("widgets/a", &json!({"metadata": {"labels": {"a": null}}}))
        .await;
}

behaviours! { Api:
    a_default_may_be_of_any_type,
    a_later_default_shows_on_stored_objects,
    a_status_has_defaults_where_it_is_written,
    defaults_are_filled_in_on_create,
    defaults_are_filled_in_on_update,
    entries_of_maps_and_lists_have_defaults,
    nobody_owns_what_was_filled_in_on_apply,
    null_stands_for_the_default,
    what_is_not_there_has_no_defaults_inside,
}
