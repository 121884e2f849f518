#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

use serde_json::{Value, json};

use crate::{Schema, apply_defaults, prune};

fn schema(spec: Value) -> Schema {
    Schema::from_json(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
}

fn defaulted(spec: Value, value: Value) -> Value {
    let mut object = json!({"spec": value});
    apply_defaults(&schema(spec), &mut object);
    object["spec"].take()
}

/// What is left of `spec`, and what was dropped of the object.
fn pruned(spec: Value, value: Value) -> (Value, Vec<String>) {
    let mut object = json!({"spec": value});
    let dropped = prune(&schema(spec), &mut object);
    let dropped = dropped.iter().map(ToString::to_string).collect();
    (object["spec"].take(), dropped)
}

#[test]
fn defaults_fill_what_is_not_there() {
    let spec = json!({"type": "object", "properties": {
        "replicas": {"type": "integer", "default": 1},
        "network": {"type": "object", "default": {"a": 1}, "properties": {
            "a": {"type": "integer"}, "b": {"type": "integer", "default": 2}}}}});
    let filled = defaulted(spec.clone(), json!({"replicas": 3}));
    assert_eq!(filled, json!({"replicas": 3, "network": {"a": 1, "b": 2}}));
    let filled = defaulted(spec, json!({"network": {}}));
    assert_eq!(filled, json!({"replicas": 1, "network": {"b": 2}}));
}

#[test]
fn defaults_reach_items_and_free_keys() {
    let item = json!({"type": "object", "properties": {"p": {"type": "string", "default": "TCP"}}});
    let list = json!({"type": "array", "items": item});
    assert_eq!(
        defaulted(list, json!([{}, {"p": "UDP"}])),
        json!([{"p": "TCP"}, {"p": "UDP"}])
    );
    let map = json!({"type": "object", "additionalProperties": item});
    assert_eq!(defaulted(map, json!({"a": {}})), json!({"a": {"p": "TCP"}}));
}

#[test]
fn a_null_that_may_not_be_is_dropped_or_defaulted() {
    let spec = json!({"type": "object", "properties": {
        "plain": {"type": "string"},
        "default": {"type": "string", "default": "x"},
        "nullable": {"type": "string", "nullable": true, "default": "x"}}});
    let value = json!({"plain": null, "default": null, "nullable": null, "unknown": null});
    let expected = json!({"default": "x", "nullable": null, "unknown": null});
    assert_eq!(defaulted(spec, value), expected);
    let list = json!({"type": "array", "items": {"type": "string"}});
    assert_eq!(defaulted(list, json!([null])), json!([null]));
}

#[test]
fn unknown_fields_are_dropped_at_any_depth() {
    let item = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let spec = json!({"type": "object", "properties": {"pools": {"type": "array", "items": item}}});
    let (left, dropped) = pruned(
        spec,
        json!({"pools": [{"name": "a", "x": 1}], "y": {"z": 1}}),
    );
    assert_eq!(left, json!({"pools": [{"name": "a"}]}));
    assert_eq!(dropped, ["spec.pools[0].x", "spec.y"]);
}

#[test]
fn what_preserves_unknown_fields_keeps_them_but_prunes_what_it_knows() {
    let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
        "known": {"type": "object", "properties": {"a": {"type": "integer"}}}}});
    let (left, dropped) = pruned(spec, json!({"known": {"a": 1, "b": 2}, "other": {"c": 3}}));
    assert_eq!(left, json!({"known": {"a": 1}, "other": {"c": 3}}));
    assert_eq!(dropped, ["spec.known.b"]);
}

#[test]
fn metadata_stays_at_the_root_and_in_embedded_resources() {
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "properties": {"spec": {"type": "object"}}});
    let resource = json!({"apiVersion": "v1", "kind": "K", "metadata": {"x": 1}});
    let mut value = resource.clone();
    value["spec"] = json!({"gone": 1});
    let (left, dropped) = pruned(embedded, value);
    assert_eq!(left["metadata"], json!({"x": 1}));
    assert_eq!(dropped, ["spec.spec.gone"]);
    let mut root = resource.clone();
    prune(&schema(json!({"type": "object"})), &mut root);
    assert_eq!(root, resource);
}

#[test]
fn keys_of_any_kind_stay_and_what_is_below_them_goes() {
    let spec = json!({"type": "object", "additionalProperties": true});
    let (left, _) = pruned(spec, json!({"a": 1, "b": {"c": 1}}));
    assert_eq!(left, json!({"a": 1, "b": {}}));
}
