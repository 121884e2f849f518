//! What a CustomResourceDefinition looks like in storage: what its Go types leave out when it is empty
//! is not there, whoever set it, and whole numbers are written as such.
//!
//! In: a definition. Out: the same without empty fields. Source: the `omitempty` fields of
//! k8s.io/apiextensions-apiserver (`pkg/apis/apiextensions/v1/types.go` and `types_jsonschema.go`).

use serde_json::{Map, Value, json};

use super::numbers;

type Fields = Map<String, Value>;

const NAMES: &[&str] = &["categories", "listKind", "shortNames", "singular"];
const VERSION: &[&str] = &["additionalPrinterColumns", "deprecated", "selectableFields"];
const COLUMN: &[&str] = &["description", "format", "priority"];
const RULE: &[&str] = &["fieldPath", "message", "messageExpression"];
const SCHEMA: &[&str] = &[
    "$schema",
    "allOf",
    "anyOf",
    "definitions",
    "dependencies",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "id",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
];

/// Puts a definition into the form in which it is stored.
pub(super) fn settle(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    drop_of(spec, &["preserveUnknownFields"]);
    spec.values_mut().for_each(numbers::settle);
    if let Some(names) = map(spec, "names") {
        drop_of(names, NAMES);
    }
    for version in items(spec, "versions") {
        drop_of(version, VERSION);
        for column in items(version, "additionalPrinterColumns") {
            drop_of(column, COLUMN);
        }
        if let Some(root) = map(version, "schema").and_then(|schema| map(schema, "openAPIV3Schema"))
        {
            of_schema(root);
        }
    }
}

fn of_schema(schema: &mut Fields) {
    drop_of(schema, SCHEMA);
    for rule in items(schema, "x-kubernetes-validations") {
        drop_of(rule, RULE);
    }
    for key in ["additionalItems", "additionalProperties", "items", "not"] {
        map(schema, key).into_iter().for_each(of_schema);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        items(schema, key).for_each(of_schema);
    }
    for key in ["definitions", "patternProperties", "properties"] {
        let below = map(schema, key).into_iter().flat_map(Map::values_mut);
        below.filter_map(Value::as_object_mut).for_each(of_schema);
    }
}

fn drop_of(fields: &mut Fields, keys: &[&str]) {
    let empty = [
        json!(null),
        json!(false),
        json!(0),
        json!(""),
        json!([]),
        json!({}),
    ];
    fields.retain(|key, value| !(keys.contains(&key.as_str()) && empty.contains(value)));
}

fn map<'a>(fields: &'a mut Fields, key: &str) -> Option<&'a mut Fields> {
    fields.get_mut(key)?.as_object_mut()
}

fn items<'a>(fields: &'a mut Fields, key: &str) -> impl Iterator<Item = &'a mut Fields> {
    let list = fields.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}
