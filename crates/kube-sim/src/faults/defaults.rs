//! Whether defaults fit their schemas.
//!
//! In: the JSON of a structural schema. Out: faults. A default has to say everything by itself: it is
//! checked before the defaults within it are filled in. Defaults for free keys of maps are left alone,
//! and so are those for the metadata of embedded objects.

use serde_json::Value;

use super::reading::below;
use kube_schema::Schema;
use kube_schema::wording::encoded;
use kube_schema::{OBJECT_FIELDS, has_unknown_fields};
use kube_schema::{Unknown, validate};

/// What is wrong with the defaults in `json`.
pub(super) fn faults(json: &Value) -> Vec<String> {
    let mut found = Vec::new();
    // The reader reports what cannot be read.
    if let Ok(schema) = Schema::from_json(json) {
        visit(&schema, "", true, &mut found);
    }
    found.sort();
    found
}

fn visit(schema: &Schema, path: &str, root: bool, found: &mut Vec<String>) {
    if let Some(default) = schema.default.as_ref().filter(|default| !default.is_null()) {
        check(schema, default, &below(path, "default"), found);
    }
    if let Some(items) = &schema.items {
        visit(items, &below(path, "items"), false, found);
    }
    let whole = root || schema.embedded_resource;
    for (name, schema) in &schema.properties {
        if !(whole && OBJECT_FIELDS.contains(&name.as_str())) {
            let path = below(path, &format!("properties[{name}]"));
            visit(schema, &path, false, found);
        }
    }
}

fn check(schema: &Schema, default: &Value, path: &str, found: &mut Vec<String>) {
    if has_unknown_fields(schema, default) {
        let why = "must not have unknown fields";
        found.push(format!(
            "{path}: Invalid value: {}: {why}",
            encoded(default)
        ));
    }
    for violation in validate(schema, default, Unknown::Ignore) {
        let field = match violation.field.as_str() {
            "<nil>" => "",
            field => field,
        };
        found.push(format!("{}: {}", below(path, field), violation.message));
    }
}
