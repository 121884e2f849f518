//! Filling in the defaults of a schema.
//!
//! In: a schema and a value. Out: the value with defaults, and without the nulls that are not allowed
//! there, as the API server does on every write. It does not know whether the rest of the value fits.

use serde_json::Value;

use super::structural::Schema;

/// Drops nulls that are neither allowed nor have a default, then fills in defaults, deeper ones after
/// those that hold them. A default that a filled-in default leaves open is filled in too.
pub fn apply_defaults(schema: &Schema, value: &mut Value) {
    drop_nulls(Some(schema), value);
    fill_defaults(schema, value);
}

/// Only map entries are dropped; an item of a list stays and is refused later.
fn drop_nulls(schema: Option<&Schema>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let wanted = schema.and_then(|schema| schema.field(name));
                let keep =
                    !(value.is_null() && wanted.is_some_and(|s| !s.nullable && !has_default(s)));
                if keep {
                    drop_nulls(wanted, value);
                }
                keep
            });
        }
        Value::Array(items) => {
            let wanted = schema.and_then(|schema| schema.items.as_deref());
            for item in items {
                drop_nulls(wanted, item);
            }
        }
        _ => {}
    }
}

fn has_default(schema: &Schema) -> bool {
    schema
        .default
        .as_ref()
        .is_some_and(|value| !value.is_null())
}

/// As [`apply_defaults`], but a null that is not allowed and has no default stays, and is refused
/// later: what the API server does with what came of an apply.
pub fn fill_defaults(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, wanted) in &schema.properties {
                let open = fields
                    .get(name)
                    .is_none_or(|v| is_forbidden_null(wanted, v));
                if let Some(default) = wanted.default.as_ref().filter(|d| open && !d.is_null()) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                match schema.properties.get(name) {
                    Some(wanted) => fill_defaults(wanted, value),
                    None => fill_other(schema.field(name), value),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                fill_other(schema.items.as_deref(), item);
            }
        }
        _ => {}
    }
}

fn fill_other(schema: Option<&Schema>, value: &mut Value) {
    let Some(schema) = schema else { return };
    if let Some(default) = &schema.default
        && is_forbidden_null(schema, value)
    {
        *value = default.clone();
    }
    fill_defaults(schema, value);
}

fn is_forbidden_null(schema: &Schema, value: &Value) -> bool {
    value.is_null() && !schema.nullable
}
