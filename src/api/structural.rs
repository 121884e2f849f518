//! Schemas of our Rust types, in the form Kubernetes calls structural.
//!
//! In: types with `JsonSchema`. Out: JSON that the schema room reads and an API server accepts.

use kube::core::schema::{OptionalEnum, StructuralSchemaRewriter};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value as Json;

/// A pattern for UUIDs of either case.
pub(crate) const UUID: &str = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";

/// Values that Azure's API defines and we only carry.
pub type Properties = serde_json::Map<String, Json>;

/// The schema of a value that may hold anything.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// The schema of a list of whole objects, such as embedded resources.
pub(crate) fn any_objects(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": any_object(generator)})
}

/// The structural schema of `T`, everything inline.
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
    without_nullable(&mut schema);
    schema
}

/// Takes out what only says that an optional field may be `null`: we read `null` as absent, and
/// CRDs of Go types do not say it.
pub(crate) fn without_nullable(schema: &mut Json) {
    match schema {
        Json::Object(fields) => {
            if fields.get("nullable") == Some(&Json::Bool(true)) {
                fields.remove("nullable");
            }
            if fields.get("default") == Some(&Json::Null) {
                fields.remove("default");
            }
            fields.values_mut().for_each(without_nullable);
        }
        Json::Array(items) => items.iter_mut().for_each(without_nullable),
        _ => {}
    }
}
