//! Nulls in maps of texts.

use serde_json::Value;

use crate::types::Types;

/// Replaces null values of maps of strings in `value` by empty strings: what decoding
/// into the Go type of a built-in kind makes of them.
pub(crate) fn zero_nulls(value: &mut Value, types: Types<'_>) {
    match value {
        Value::Object(fields) => {
            let is_texts = types.is_map_of_texts();
            for (name, value) in fields {
                if is_texts && value.is_null() {
                    *value = "".into();
                } else if let Some(types) = types.member(name).types {
                    zero_nulls(value, types);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                zero_nulls(item, types.item());
            }
        }
        _ => {}
    }
}
