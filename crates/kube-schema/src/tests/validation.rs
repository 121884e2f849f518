#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

use serde_json::{Value, json};

use crate::{Schema, Unknown, ViolationKind, validate};

fn schema(spec: Value) -> Schema {
    Schema::from_json(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
}

fn errors(spec: Value, value: Value) -> Vec<String> {
    let found = validate(&schema(spec), &json!({"spec": value}), Unknown::Ignore);
    found.iter().map(ToString::to_string).collect()
}

/// Schema of `spec`, value of `spec`, errors.
fn table(rows: &[(Value, Value, &[&str])]) {
    for (spec, value, expected) in rows {
        let found = errors(spec.clone(), value.clone());
        assert_eq!(found, *expected, "{spec} {value}");
    }
}

#[test]
fn types_are_told_as_the_api_server_tells_them() {
    let string = json!({"type": "string"});
    table(&[
        (
            json!({"type": "integer"}),
            json!("a"),
            &[r#"spec: Invalid value: "string": spec in body must be of type integer: "string""#],
        ),
        (
            string.clone(),
            json!(4.2),
            &[r#"spec: Invalid value: "number": spec in body must be of type string: "number""#],
        ),
        (
            string.clone(),
            json!(null),
            &[r#"spec: Invalid value: "null": spec in body must be of type string: "null""#],
        ),
        (
            json!({"type": "string", "nullable": true}),
            json!(null),
            &[],
        ),
        (json!({"type": "integer"}), json!(3.0), &[]),
        (json!({"type": "number"}), json!(3), &[]),
        (
            json!({"type": "string", "format": "date-time"}),
            json!(5),
            &[r#"spec: Invalid value: "int64": spec in body must be of type date-time: "int64""#],
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            &[
                r#"spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean""#,
            ],
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!("25%"),
            &[],
        ),
        (
            json!({"type": "array", "items": string}),
            json!(["a", 1]),
            &[
                r#"spec[1]: Invalid value: "integer": spec[1] in body must be of type string: "integer""#,
            ],
        ),
    ]);
}

#[test]
fn texts_are_held_to_length_pattern_and_format() {
    table(&[
        (
            json!({"type": "string", "maxLength": 2}),
            json!("abc"),
            &["spec: Too long: may not be more than 2 bytes"],
        ),
        (json!({"type": "string", "maxLength": 2}), json!("äö"), &[]),
        (
            json!({"type": "string", "minLength": 2}),
            json!("a"),
            &[r#"spec: Invalid value: "a": spec in body should be at least 2 chars long"#],
        ),
        (
            json!({"type": "string", "pattern": "^[a-z]+$"}),
            json!("A"),
            &[r#"spec: Invalid value: "A": spec in body should match '^[a-z]+$'"#],
        ),
        (
            json!({"type": "string", "pattern": "(?=x)"}),
            json!("A"),
            &[],
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("today"),
            &[r#"spec: Invalid value: "today": spec in body must be of type date-time: "today""#],
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("c"),
            &[r#"spec: Unsupported value: "c": supported values: "a", "b""#],
        ),
    ]);
}

#[test]
fn numbers_are_held_to_their_range() {
    let range = json!({"type": "integer", "minimum": 1, "maximum": 3, "exclusiveMaximum": true});
    table(&[
        (
            range.clone(),
            json!(0),
            &["spec: Invalid value: 0: spec in body should be greater than or equal to 1"],
        ),
        (
            range,
            json!(3),
            &["spec: Invalid value: 3: spec in body should be less than 3"],
        ),
        (
            json!({"type": "number", "minimum": 1.5}),
            json!(1.25),
            &["spec: Invalid value: 1.25: spec in body should be greater than or equal to 1.5"],
        ),
        (
            json!({"type": "integer", "multipleOf": 2}),
            json!(3),
            &["spec: Invalid value: 3: spec in body should be a multiple of 2"],
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_u32),
            &[],
        ),
        (
            json!({"type": "integer", "enum": [1, 2]}),
            json!(3),
            &[r#"spec: Unsupported value: 3: supported values: "1", "2""#],
        ),
    ]);
}

#[test]
fn lists_and_maps_are_held_to_their_size_and_fields() {
    let any = json!({"type": "integer"});
    table(&[
        (
            json!({"type": "array", "items": any, "maxItems": 1}),
            json!([1, 2]),
            &["spec: Too many: 2: must have at most 1 item"],
        ),
        (
            json!({"type": "array", "items": any, "minItems": 1}),
            json!([]),
            &["spec: Invalid value: 0: spec in body should have at least 1 items"],
        ),
        (
            json!({"type": "array", "items": any, "uniqueItems": true}),
            json!([1, 1]),
            &[r#"spec: Invalid value: "": spec in body shouldn't contain duplicates"#],
        ),
        (
            json!({"type": "object", "additionalProperties": any, "maxProperties": 1}),
            json!({"a": 1, "b": 2}),
            &["spec: Too many: 2: must have at most 1 item"],
        ),
        (
            json!({"type": "object", "properties": {"a": any}, "required": ["a", "b"]}),
            json!({}),
            &["spec.a: Required value", "spec.b: Required value"],
        ),
        (
            json!({"type": "object", "additionalProperties": any}),
            json!({"x.y/z": "a"}),
            &[
                r#"spec.x.y/z: Invalid value: "string": spec.x.y/z in body must be of type integer: "string""#,
            ],
        ),
    ]);
}

#[test]
fn combinations_tell_the_arm_that_came_closest() {
    let none = r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid"#;
    let fields = json!({"a": {"type": "integer"}, "b": {"type": "integer"}});
    let one_of = |arms: Value| json!({"type": "object", "properties": fields, "oneOf": arms});
    let either = one_of(json!([{"required": ["a"]}, {"required": ["b"]}]));
    table(&[
        (either.clone(), json!({"a": 1}), &[]),
        (either.clone(), json!({}), &[none, "spec.a: Required value"]),
        (
            either,
            json!({"a": 1, "b": 1}),
            &[
                r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
            ],
        ),
        (
            json!({"type": "integer", "anyOf": [{"maximum": 1}, {"minimum": 9}]}),
            json!(5),
            &[
                r#"<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)"#,
                "spec: Invalid value: 5: spec in body should be less than or equal to 1",
            ],
        ),
        (
            json!({"type": "integer", "allOf": [{"maximum": 1}, {"minimum": 0}]}),
            json!(5),
            &[
                "spec: Invalid value: 5: spec in body should be less than or equal to 1",
                r#"<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)"#,
            ],
        ),
        (
            json!({"type": "integer", "not": {"maximum": 1}}),
            json!(1),
            &[r#"<nil>: Invalid value: "": "spec" must not validate the schema (not)"#],
        ),
    ]);
}

#[test]
fn keys_and_set_items_are_unique() {
    let set =
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let map = |keys: Value| {
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
            "items": {"type": "object", "properties": {
                "name": {"type": "string"}, "port": {"type": "integer"}}}})
    };
    table(&[
        (
            set.clone(),
            json!(["a", "b", "a", "a"]),
            &[r#"spec[2]: Duplicate value: "a""#],
        ),
        (
            map(json!(["name"])),
            json!([{"name": "a"}, {"name": "b"}, {"name": "a"}]),
            &[r#"spec[2]: Duplicate value: {"name":"a"}"#],
        ),
        (
            map(json!(["name", "port"])),
            json!([{"name": "a", "port": 1}, {"name": "a", "port": 2}]),
            &[],
        ),
        (
            map(json!(["name"])),
            json!([{"port": 1}, {"port": 2}]),
            &["spec[1]: Duplicate value: {}"],
        ),
        (
            json!({"type": "object", "additionalProperties": set}),
            json!({"k": ["a", "a"]}),
            &[r#"spec[k][1]: Duplicate value: "a""#],
        ),
    ]);
}

#[test]
fn an_embedded_resource_says_what_it_is() {
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    table(&[
        (
            embedded.clone(),
            json!({"apiVersion": "v1", "kind": "Secret", "data": {}}),
            &[],
        ),
        (
            embedded.clone(),
            json!({}),
            &[
                "spec.apiVersion: Required value",
                "spec.kind: Required value",
            ],
        ),
        (
            embedded,
            json!({"apiVersion": "a/b/c", "kind": ""}),
            &[
                r#"spec.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#,
                r#"spec.kind: Invalid value: "": must not be empty"#,
            ],
        ),
    ]);
}

#[test]
fn unknown_fields_are_reported_on_request() {
    let spec = json!({"type": "object", "properties": {
        "autoScaling": {"type": "object", "properties": {"min": {"type": "integer"}}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let value = json!({"apiVersion": "v1", "kind": "K", "metadata": {"anything": 1},
        "spec": {"autoscaling": {}, "autoScaling": {"mim": 1}, "open": {"x": {"y": 1}}}});
    assert!(validate(&schema(spec.clone()), &value, Unknown::Ignore).is_empty());
    let found = validate(&schema(spec), &value, Unknown::Reject);
    let messages: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "unknown field \"spec.autoScaling.mim\"",
            "unknown field \"spec.autoscaling\""
        ]
    );
    let nearest = |name: &str| ViolationKind::UnknownField {
        nearest: Some(name.into()),
    };
    assert_eq!(found[0].kind, nearest("min"));
    assert_eq!(found[1].kind, nearest("autoScaling"));
}
