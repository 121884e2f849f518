#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

use serde_json::{Value, json};

use super::{Comparison, check, compare, fields_of, merge, zero_nulls};
use crate::Types;
use kube_schema::Schema;

/// A kind with a field of every sort.
fn schema() -> Schema {
    let text = json!({"type": "string"});
    Schema::from_json(&json!({"type": "object", "properties": {"spec": {"type": "object",
        "properties": {
            "scalar": text,
            "struct": {"type": "object", "properties": {"a": text, "b": text}},
            "map": {"type": "object", "additionalProperties": text},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text},
            "list": {"type": "array", "items": text},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
            "keyed": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "port"],
                "items": {"type": "object", "properties": {
                    "name": text, "port": {"type": "integer", "default": 80}, "x": text}}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}))
    .unwrap()
}

fn fields(spec: Value) -> Value {
    let schema = schema();
    let set = fields_of(&json!({"spec": spec}), Types::of_schema(&schema));
    set.to_json()["f:spec"].take()
}

#[test]
fn a_value_has_its_leaves_and_the_items_and_entries_that_hold_them() {
    let table = [
        (json!({"scalar": "x"}), json!({"f:scalar": {}})),
        (
            json!({"struct": {"a": "x"}}),
            json!({"f:struct": {"f:a": {}}}),
        ),
        (json!({"map": {"a": "x"}}), json!({"f:map": {"f:a": {}}})),
        (
            json!({"map": {}, "struct": null}),
            json!({"f:map": {}, "f:struct": {}}),
        ),
        (json!({"whole": {"a": "x"}}), json!({"f:whole": {}})),
        (json!({"list": ["x"]}), json!({"f:list": {}})),
        (
            json!({"set": ["x", "y"]}),
            json!({"f:set": {"v:\"x\"": {}, "v:\"y\"": {}}}),
        ),
        (
            json!({"keyed": [{"name": "a", "x": "y"}]}),
            json!({"f:keyed": {r#"k:{"name":"a","port":80}"#: {".": {}, "f:name": {}, "f:x": {}}}}),
        ),
        (
            json!({"open": {"a": {"b": [1]}}}),
            json!({"f:open": {"f:a": {".": {}, "f:b": {}}}}),
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(fields(spec.clone()), expected, "{spec}");
    }
    assert_eq!(fields(json!({"set": []})), Value::Null);
}

#[test]
fn metadata_is_known_for_every_kind() {
    let object = json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["f"],
        "ownerReferences": [{"uid": "u", "kind": "K"}]}, "spec": {"a": 1}});
    let expected = json!({
        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"f\"": {}},
            "f:ownerReferences": {"k:{\"uid\":\"u\"}": {}}},
        "f:spec": {".": {}, "f:a": {}}});
    assert_eq!(fields_of(&object, Types::deduced()).to_json(), expected);
}

#[test]
fn built_in_kinds_are_known() {
    let object = json!({"spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}},
        "template": {"spec": {"tolerations": [{"key": "k"}], "containers": [
            {"name": "c", "ports": [{"containerPort": 80}]}]}}}});
    let expected = json!({"f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": {"f:spec": {
        "f:tolerations": {}, "f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {},
            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {
                ".": {}, "f:containerPort": {}}}}}}}}});
    let types = Types::built_in("apps", "Deployment");
    assert_eq!(fields_of(&object, types).to_json(), expected);
}

#[test]
fn a_null_among_texts_is_an_empty_text() {
    let mut map = json!({"data": {"a": null, "b": "x"}, "metadata": {"labels": {"c": null}}, "immutable": null});
    zero_nulls(&mut map, Types::built_in("", "ConfigMap"));
    let expected =
        json!({"data": {"a": "", "b": "x"}, "metadata": {"labels": {"c": ""}}, "immutable": null});
    assert_eq!(map, expected);
}

#[test]
fn a_comparison_distinguishes_removed_modified_and_added() {
    let schema = schema();
    let types = Types::of_schema(&schema);
    let old =
        json!({"spec": {"scalar": "x", "map": {"a": "1", "b": "1"}, "set": ["x"], "list": ["1"]}});
    let new = json!({"spec": {"scalar": "y", "map": {"a": "1"}, "set": ["x", "z"], "list": ["2"],
        "struct": {"a": "1"}}});
    let found = compare(&old, &new, types);
    assert_eq!(
        found.removed.to_json(),
        json!({"f:spec": {"f:map": {"f:b": {}}}})
    );
    assert_eq!(
        found.modified.to_json(),
        json!({"f:spec": {"f:list": {}, "f:scalar": {}}})
    );
    let added = json!({"f:spec": {"f:set": {"v:\"z\"": {}}, "f:struct": {".": {}, "f:a": {}}}});
    assert_eq!(found.added.to_json(), added);
    assert_eq!(compare(&old, &old, types), Comparison::default());
}

#[test]
fn a_field_that_becomes_another_kind_is_modified_and_its_parts_are_added() {
    let old = json!({"spec": {"a": "x"}});
    let new = json!({"spec": {"a": {"b": 1}}});
    let found = compare(&old, &new, Types::deduced());
    assert_eq!(found.modified.to_json(), json!({"f:spec": {"f:a": {}}}));
    assert_eq!(
        found.added.to_json(),
        json!({"f:spec": {"f:a": {"f:b": {}}}})
    );
}

fn merged(live: Value, config: Value) -> Value {
    let schema = schema();
    let types = Types::of_schema(&schema);
    merge(&json!({"spec": live}), &json!({"spec": config}), types)["spec"].take()
}

#[test]
fn maps_merge_and_what_is_one_value_is_replaced() {
    let live = json!({"map": {"a": "1", "b": "1"}, "whole": {"a": "1"}, "list": ["1", "2"]});
    let config = json!({"map": {"a": "2"}, "whole": {"b": "2"}, "list": ["3"]});
    let expected = json!({"map": {"a": "2", "b": "1"}, "whole": {"b": "2"}, "list": ["3"]});
    assert_eq!(merged(live, config), expected);
}

#[test]
fn items_merge_by_key_in_the_new_order() {
    let item = |name: &str, x: &str| json!({"name": name, "x": x});
    let live = json!({"keyed": [item("a", "1"), item("b", "1"), {"name": "c", "port": 80}]});
    let config = json!({"keyed": [{"name": "c"}, item("a", "2"), item("new", "2")]});
    let expected = json!({"keyed": [item("b", "1"), {"name": "c", "port": 80}, item("a", "2"),
        item("new", "2")]});
    assert_eq!(merged(live, config), expected);
}

#[test]
fn set_items_of_others_keep_their_places() {
    let table = [
        (
            json!(["a", "b", "c"]),
            json!(["c", "a"]),
            json!(["b", "c", "a"]),
        ),
        (json!(["a", "b"]), json!(["c"]), json!(["a", "b", "c"])),
        (
            json!(["x", "a", "y"]),
            json!(["n", "a"]),
            json!(["x", "n", "a", "y"]),
        ),
        (json!([]), json!(["a"]), json!(["a"])),
    ];
    for (live, config, expected) in table {
        let got = merged(json!({"set": live}), json!({"set": config}));
        assert_eq!(got["set"], expected, "{live} {config}");
    }
}

#[test]
fn what_cannot_be_merged_is_reported_with_its_path() {
    let schema = schema();
    let types = Types::of_schema(&schema);
    let faults = |spec: Value| check(&json!({"spec": spec}), types);
    assert_eq!(
        faults(json!({"new": 1})),
        [".spec.new: field not declared in schema"]
    );
    assert_eq!(
        faults(json!({"map": {"a": 1}})),
        [".spec.map.a: expected string, got &value.valueUnstructured{Value:1}"]
    );
    assert_eq!(
        faults(json!({"list": "a"})),
        [".spec.list: expected list, got &{a}"]
    );
    assert_eq!(
        faults(json!({"keyed": [{"name": "a"}, {"name": "a", "port": 80}]})),
        [".spec.keyed: duplicate entries for key [name=\"a\",port=80]"]
    );
    assert_eq!(
        faults(json!({"set": ["x", "x"]})),
        [".spec.set: duplicate entries for key [=\"x\"]"]
    );
    assert_eq!(
        faults(json!({"open": {"any": [{}]}, "struct": null})),
        [""; 0]
    );
}
