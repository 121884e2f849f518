//! A value and its schema gone through together.

use serde_json::Value;

use super::at::At;
use super::structural::Schema;

/// Calls `see` for every place of `value` that the schema describes, parents first.
pub(crate) fn walk(
    schema: &Schema,
    value: &Value,
    at: &At<'_>,
    see: &mut impl FnMut(&Schema, &Value, &At<'_>),
) {
    see(schema, value, at);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let Some(wanted) = schema.field(name) else {
                    continue;
                };
                let below = if schema.properties.contains_key(name) {
                    at.key(name)
                } else {
                    at.free_key(name)
                };
                walk(wanted, value, &below, see);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(wanted) = &schema.items {
                    walk(wanted, item, &at.index(index), see);
                }
            }
        }
        _ => {}
    }
}
