//! Reading JSON values that may be of another type.

use serde_json::Value;

/// The items; none of what is not a list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text; empty of what is not text.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
