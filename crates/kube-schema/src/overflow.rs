//! Numbers that do not fit their declared format.
//!
//! The API server stores them: it ignores `int32` and `int64`. The controller that reads the object
//! cannot decode it then, so its author should know. In: a schema and a value. Out: violations.

use serde_json::Value;

use super::at::At;
use super::structural::Schema;
use super::violation::{Violation, ViolationKind};
use super::walk::walk;
use super::wording;

/// The numbers below `value` that are out of the range of their format.
#[must_use]
pub fn overflows(schema: &Schema, value: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    walk(schema, value, &At::ROOT, &mut |schema, value, at| {
        let format = schema.checks.as_ref().and_then(|c| c.format.as_deref());
        let Some(format) = format.filter(|_| value.is_number()) else {
            return;
        };
        if !in_range(format, value) {
            let shown = wording::value(value);
            let message = format!("Invalid value: {shown}: must fit in {format}");
            found.push(Violation::new(at, ViolationKind::NotAllowed, message));
        }
    });
    found
}

fn in_range(format: &str, number: &Value) -> bool {
    let whole = number.as_i64();
    let fraction = number.as_f64().is_some_and(|float| float.fract() != 0.0);
    match format {
        "int32" => fraction || whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
        "int64" => fraction || whole.is_some(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_beyond_its_format_is_told() {
        let schema = Schema::from_json(&json!({"type": "object", "properties": {
            "a": {"type": "integer", "format": "int32"},
            "b": {"type": "integer", "format": "int64"},
            "c": {"type": "integer"}}}))
        .unwrap();
        let value = json!({"a": 2147483648_i64, "b": 2147483648_i64, "c": 1e30});
        let found = overflows(&schema, &value);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "a: Invalid value: 2147483648: must fit in int32"
        );
        assert_eq!(overflows(&schema, &json!({"b": 1e30}))[0].field, "b");
        assert!(overflows(&schema, &json!({"a": 2147483647, "b": 1})).is_empty());
    }
}
