#![allow(clippy::needless_pass_by_value)]

use serde_json::{Value, json};

use crate::structural_faults;

fn faults(spec: Value) -> Vec<String> {
    structural_faults(&json!({"type": "object", "properties": {"spec": spec}}))
}

#[test]
fn every_place_has_a_type() {
    assert_eq!(
        faults(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        [""; 0]
    );
    assert_eq!(faults(json!({"x-kubernetes-int-or-string": true})), [""; 0]);
    assert_eq!(
        faults(json!({"properties": {"a": {"type": "array", "items": {}}}})),
        [
            "properties[spec].properties[a].items.type: Required value: must not be empty for specified array items",
            "properties[spec].type: Required value: must not be empty for specified object fields",
        ]
    );
    let found = structural_faults(&json!({"type": "string"}));
    assert_eq!(
        found,
        ["type: Invalid value: \"string\": must be object at the root"]
    );
}

#[test]
fn junctors_only_check() {
    assert_eq!(
        faults(json!({"type": "object", "anyOf": [{"type": "object", "description": "x"}]})),
        [
            "properties[spec].anyOf[0].description: Forbidden: must be empty to be structural",
            "properties[spec].anyOf[0].type: Forbidden: must be empty to be structural",
        ]
    );
    let either = json!({"x-kubernetes-int-or-string": true,
        "anyOf": [{"type": "integer"}, {"type": "string"}]});
    assert_eq!(faults(either), [""; 0]);
}

#[test]
fn junctors_of_the_root_speak_of_what_is_specified() {
    let json = json!({"type": "object", "anyOf": [{"properties": {"q": {"minLength": 1}}}]});
    assert_eq!(
        structural_faults(&json),
        ["properties[q]: Required value: because it is defined in anyOf[0].properties[q]"]
    );
}

#[test]
fn what_crds_cannot_say_is_refused() {
    assert_eq!(
        faults(
            json!({"$ref": "#/x", "type": "object", "properties": {"a": {"type": "string"}},
            "additionalProperties": {"type": "string"}})
        ),
        [
            "properties[spec].$ref: Forbidden: $ref is not supported",
            "properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ]
    );
}
