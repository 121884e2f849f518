//! Schemas of our Rust types, as structural schemas of Kubernetes.
//!
//! In: types with `JsonSchema`. Out: JSON that `kube-schema` reads and an API server accepts.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::schema::{OptionalEnum, StructuralSchemaRewriter};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};

/// A pattern for the types of conditions, with or without a domain.
const CONDITION_TYPE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// A pattern for the reasons of conditions.
const REASON: &str = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// Values that Azure's API defines and Capstan only passes on.
pub type Properties = serde_json::Map<String, Json>;

/// The schema of a value with any content.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// The schema of a list of whole objects, such as embedded resources.
pub(crate) fn any_objects(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": any_object(generator)})
}

/// The schema of a list of conditions, with the limits of the API conventions, which `Condition` itself lacks.
pub(crate) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    let limits = [
        ("type", json!({"maxLength": 316, "pattern": CONDITION_TYPE})),
        ("status", json!({"enum": ["True", "False", "Unknown"]})),
        ("observedGeneration", json!({"minimum": 0})),
        (
            "reason",
            json!({"minLength": 1, "maxLength": 1024, "pattern": REASON}),
        ),
        ("message", json!({"maxLength": 32768})),
    ];
    let mut condition = generator.subschema_for::<Condition>();
    for (field, limits) in limits {
        let schema = condition.pointer_mut(&format!("/properties/{field}"));
        let schema = schema.and_then(Json::as_object_mut);
        if let (Some(schema), Json::Object(limits)) = (schema, limits) {
            schema.extend(limits);
        }
    }
    json_schema!({"type": "array", "items": condition})
}

/// The structural schema of `T`, with everything inline.
pub(crate) fn of<T: JsonSchema>() -> Json {
    let generator = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

/// Calls `change` on `schema` and on every schema in it, the inner ones first.
pub(crate) fn each(schema: &mut Json, change: &impl Fn(&mut Properties)) {
    let Json::Object(fields) = schema else { return };
    if let Some(Json::Object(properties)) = fields.get_mut("properties") {
        properties
            .values_mut()
            .for_each(|below| each(below, change));
    }
    for keyword in ["items", "additionalProperties", "not"] {
        fields
            .get_mut(keyword)
            .into_iter()
            .for_each(|below| each(below, change));
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let list = fields.get_mut(keyword).and_then(Json::as_array_mut);
        list.into_iter()
            .flatten()
            .for_each(|below| each(below, change));
    }
    change(fields);
}

/// Removes `nullable` from optional fields: `null` is read as absent, and CRDs from Go types do not have
/// it either. Descriptions become single lines, bounds become integers.
pub(crate) fn tidy(schema: &mut Json) {
    each(schema, &|fields| {
        fields.retain(|keyword, value| match keyword.as_str() {
            "nullable" => false,
            "default" => !value.is_null(),
            _ => true,
        });
        if let Some(Json::String(text)) = fields.get_mut("description") {
            *text = text.replace('\n', " ");
        }
        for bound in ["minimum", "maximum"] {
            if let Some(limit) = fields.get_mut(bound).filter(|limit| limit.is_f64()) {
                *limit = limit.as_f64().map(|limit| limit as i64).into();
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_named_like_keywords_are_left_alone() {
        let mut schema = json!({"properties": {
            "nullable": {"type": "boolean", "nullable": true},
            "properties": {"properties": {"default": {"default": null}}}
        }});
        tidy(&mut schema);
        let tidied = json!({"properties": {
            "nullable": {"type": "boolean"},
            "properties": {"properties": {"default": {}}}
        }});
        assert_eq!(schema, tidied);
    }
}
