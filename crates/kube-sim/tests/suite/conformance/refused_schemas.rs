//! Which schemas a CustomResourceDefinition may not have, and with which messages.

use serde_json::{Value as Json, json};

use super::refused_definitions::send;
use super::{behaviours, widget, with_spec};
use crate::session::Session;

/// Tries a field `x` with each of these schemas.
async fn schemas(s: &Session, fields: &[Json]) {
    for field in fields {
        let definition = widget(s, &with_spec(&json!({"x": field})));
        send(s, &field.to_string(), &definition).await;
    }
}

/// Tries each of these as the whole schema.
async fn roots(s: &Session, schemas: &[Json]) {
    for schema in schemas {
        send(s, &schema.to_string(), &widget(s, schema)).await;
    }
}

async fn a_field_has_a_type(s: &Session) {
    schemas(
        s,
        &[
            json!({}),
            json!({"type": "text"}),
            json!({"type": "null"}),
            json!({"type": "array"}),
            json!({"type": "array", "items": {}}),
            json!({"type": "object", "properties": {"y": {}}}),
            json!({"type": "object", "additionalProperties": {}}),
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            json!({"x-kubernetes-int-or-string": true}),
            json!({"x-kubernetes-preserve-unknown-fields": false, "type": "object"}),
        ],
    )
    .await;
}

async fn a_map_has_named_or_free_keys(s: &Session) {
    schemas(
        s,
        &[
            json!({"type": "object", "properties": {"y": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {"y": {"type": "string"}}, "additionalProperties": false}),
            json!({"type": "object", "properties": {"y": {"type": "string"}}, "additionalProperties": true}),
            json!({"type": "object", "additionalProperties": false}),
            json!({"type": "object", "additionalProperties": true}),
        ],
    )
    .await;
}

async fn a_combination_only_checks(s: &Session) {
    schemas(
        s,
        &[
            json!({"type": "string", "anyOf": [{"type": "string"}]}),
            json!({"type": "string", "oneOf": [{"description": "x"}, {"title": "y"}]}),
            json!({"type": "string", "allOf": [{"default": "x"}]}),
            json!({"type": "string", "not": {"nullable": true}}),
            json!({"type": "object", "anyOf": [{"properties": {"y": {"minLength": 1}}}]}),
            json!({"type": "object", "properties": {"y": {"type": "object"}}, "allOf": [{"properties": {"y": {"properties": {"z": {"maxLength": 1}}}}}]}),
            json!({"type": "array", "items": {"type": "string"}, "not": {"items": {"type": "string"}}}),
            json!({"type": "object", "anyOf": [{"additionalProperties": {"maxLength": 1}}]}),
            json!({"type": "object", "oneOf": [{"x-kubernetes-preserve-unknown-fields": true}, {"x-kubernetes-int-or-string": true}]}),
            json!({"type": "object", "oneOf": [{"x-kubernetes-list-type": "set"}, {"x-kubernetes-map-type": "atomic"}]}),
            json!({"type": "object", "anyOf": [{"required": ["y"]}, {"properties": {"metadata": {"maxProperties": 1}}}]}),
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true}),
            json!({"allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 1}], "x-kubernetes-int-or-string": true}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}], "x-kubernetes-int-or-string": true}),
        ],
    )
    .await;
}

/// Combinations anywhere but at the root may speak of fields that nobody declared.
async fn a_combination_at_the_root_speaks_of_known_fields(s: &Session) {
    let spec = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let with = |key: &str, value: Json| {
        let mut schema = json!({"type": "object", "properties": {"spec": spec}});
        schema[key] = value;
        schema
    };
    roots(
        s,
        &[
            with("anyOf", json!([{"properties": {"spec": {"required": ["b"]}}}])),
            with("anyOf", json!([{"properties": {"spec": {"properties": {"a": {"maxLength": 1}}}}}])),
            with("oneOf", json!([{"properties": {"spec": {"properties": {"b": {"maxLength": 1}}}}}])),
            with("allOf", json!([{"properties": {"other": {"minLength": 1}}}, {"not": {"properties": {"more": {}}}}])),
            with("not", json!({"properties": {"spec": {"items": {"minLength": 1}}}})),
            with("not", json!({"properties": {"metadata": {"minProperties": 1}}})),
        ],
    )
    .await;
}

async fn metadata_is_known(s: &Session) {
    let with = |metadata: Json| json!({"type": "object", "properties": {"metadata": metadata}});
    roots(
        s,
        &[
            with(json!({"type": "object"})),
            with(json!({"type": "string"})),
            with(json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}})),
            with(json!({"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}, "generateName": {"type": "string"}}})),
            with(json!({"type": "object", "properties": {"labels": {"type": "object"}}})),
            with(json!({"type": "object", "maxProperties": 3})),
            with(json!({"type": "object", "default": {"name": "x"}})),
            json!({"type": "object", "properties": {"kind": {"type": "integer"}, "apiVersion": {"type": "object"}}}),
            json!({"type": "object", "properties": {"kind": {"type": "string", "default": "x"}}}),
            json!({"type": "object", "properties": {"kind": {"type": "string", "enum": ["Widget"]}}}),
        ],
    )
    .await;
}

async fn an_embedded_object_is_an_object(s: &Session) {
    let embedded = "x-kubernetes-embedded-resource";
    let open = "x-kubernetes-preserve-unknown-fields";
    schemas(
        s,
        &[
            json!({embedded: true}),
            json!({embedded: true, "type": "string"}),
            json!({embedded: true, "type": "object"}),
            json!({embedded: true, "type": "object", open: true}),
            json!({embedded: true, "type": "object", "properties": {"spec": {"type": "object"}}}),
            json!({embedded: true, "type": "object", "additionalProperties": {"type": "string"}}),
            json!({embedded: true, "type": "object", open: true, "properties": {"kind": {"type": "integer"}, "metadata": {"type": "string"}}}),
            json!({embedded: true, "x-kubernetes-int-or-string": true}),
            json!({embedded: true, "type": "object", open: true, "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "A B"}}}}}),
            json!({embedded: true, "type": "object", open: true, "properties": {"metadata": {"type": "object", embedded: true, open: true}}}),
        ],
    )
    .await;
}

async fn int_or_string_says_it_all(s: &Session) {
    let either = "x-kubernetes-int-or-string";
    schemas(
        s,
        &[
            json!({either: true, "type": "integer"}),
            json!({either: true, "type": "string"}),
            json!({either: true, "x-kubernetes-preserve-unknown-fields": true}),
            json!({either: true, "pattern": "^[0-9]+%?$", "maximum": 100}),
            json!({either: true, "default": "5"}),
        ],
    )
    .await;
}

async fn a_list_of_keyed_items_has_keys(s: &Session) {
    let list = |rest: Json| {
        let mut list = json!({"type": "array", "x-kubernetes-list-type": "map"});
        for (key, value) in rest.as_object().expect("a map") {
            list[key] = value.clone();
        }
        list
    };
    let item = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "other": {"type": "string"}, "none": {"type": "string", "nullable": true},
        "map": {"type": "object"}, "some": {"type": "string", "default": "x"},
    }});
    let keys = "x-kubernetes-list-map-keys";
    schemas(
        s,
        &[
            list(json!({"items": item})),
            list(json!({"items": item, keys: []})),
            list(json!({"items": item, keys: ["name", "some"]})),
            list(json!({"items": item, keys: ["other"]})),
            list(json!({"items": item, keys: ["none"]})),
            list(json!({"items": item, keys: ["map"]})),
            list(json!({"items": item, keys: ["missing"]})),
            list(json!({"items": item, keys: ["name", "name"]})),
            list(json!({"items": {"type": "string"}, keys: ["name"]})),
            list(json!({keys: ["name"]})),
            json!({"type": "array", "items": item, keys: ["name"]}),
            json!({"type": "array", "items": item, keys: ["name"], "x-kubernetes-list-type": "set"}),
        ],
    )
    .await;
}

async fn a_set_is_of_whole_items(s: &Session) {
    let list = |items: Json, kind: &str| json!({"type": "array", "items": items, "x-kubernetes-list-type": kind});
    schemas(
        s,
        &[
            list(json!({"type": "string"}), "set"),
            list(json!({"type": "object"}), "set"),
            list(json!({"type": "object", "x-kubernetes-map-type": "granular"}), "set"),
            list(json!({"type": "object", "x-kubernetes-map-type": "atomic"}), "set"),
            list(json!({"type": "array", "items": {"type": "string"}}), "set"),
            list(json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}), "set"),
            list(json!({"type": "string", "nullable": true}), "set"),
            list(json!({"type": "string"}), "bag"),
            json!({"type": "object", "x-kubernetes-list-type": "set"}),
            json!({"type": "string", "x-kubernetes-map-type": "atomic"}),
            json!({"type": "object", "x-kubernetes-map-type": "whole"}),
        ],
    )
    .await;
}

async fn a_default_fits_its_schema(s: &Session) {
    schemas(
        s,
        &[
            json!({"type": "string", "default": 5}),
            json!({"type": "integer", "default": "5"}),
            json!({"type": "integer", "maximum": 3, "default": 5}),
            json!({"type": "string", "enum": ["a"], "default": "b"}),
            json!({"type": "string", "pattern": "^a$", "default": "b"}),
            json!({"type": "string", "format": "date-time", "default": "today"}),
            json!({"type": "object", "default": {"a": 1}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"a": 1}}),
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}, "default": {}}),
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "default": "x"}}, "default": {}}),
            json!({"type": "array", "items": {"type": "string"}, "default": [1]}),
            json!({"type": "string", "default": null}),
            json!({"type": "string", "nullable": true, "default": null}),
            json!({"type": "object", "additionalProperties": {"type": "string", "default": "x"}}),
            json!({"type": "array", "items": {"type": "string", "default": "x"}}),
        ],
    )
    .await;
}

async fn a_pattern_is_a_regular_expression(s: &Session) {
    let pattern = |pattern: &str| json!({"type": "string", "pattern": pattern});
    schemas(
        s,
        &[
            pattern("^[a-z]+$"),
            pattern("("),
            pattern("[a"),
            pattern("(?=a)"),
            pattern("a{2,1}"),
            pattern(r"\pL+"),
            pattern("a**"),
            json!({"type": "string", "anyOf": [{"pattern": "("}]}),
        ],
    )
    .await;
}

async fn some_keywords_are_not_supported(s: &Session) {
    schemas(
        s,
        &[
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            json!({"type": "array", "items": [{"type": "string"}]}),
            json!({"$ref": "#/definitions/a"}),
            json!({"type": "object", "id": "a"}),
            json!({"type": "object", "patternProperties": {"a": {"type": "string"}}}),
            json!({"type": "object", "definitions": {"a": {"type": "string"}}}),
            json!({"type": "object", "dependencies": {"a": ["b"]}}),
            json!({"type": "array", "items": {"type": "string"}, "additionalItems": false}),
        ],
    )
    .await;
}

behaviours! { Api:
    a_combination_at_the_root_speaks_of_known_fields,
    a_combination_only_checks,
    a_default_fits_its_schema,
    a_field_has_a_type,
    a_list_of_keyed_items_has_keys,
    a_map_has_named_or_free_keys,
    a_pattern_is_a_regular_expression,
    a_set_is_of_whole_items,
    an_embedded_object_is_an_object,
    int_or_string_says_it_all,
    metadata_is_known,
    some_keywords_are_not_supported,
}
