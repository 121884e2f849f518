//! When two JSON values are the same, and which comes first, as the API server sees it.
//!
//! Numbers compare by what they mean (`1` and `1.0` are the same), which serde_json's own equality
//! does not do. It does not know field paths or schemas.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A total order over JSON values: numbers, strings, booleans, lists, maps, null.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => a
            .iter()
            .zip(b)
            .map(|(a, b)| compare(a, b))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| a.len().cmp(&b.len())),
        (Value::Object(a), Value::Object(b)) => a
            .iter()
            .zip(b)
            .map(|(a, b)| a.0.cmp(b.0).then_with(|| compare(a.1, b.1)))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| a.len().cmp(&b.len())),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Whether two values mean the same.
pub fn same(a: &Value, b: &Value) -> bool {
    compare(a, b).is_eq()
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let float = |number: &Number| number.as_f64().unwrap_or_default();
            float(a).total_cmp(&float(b))
        }
    }
}

const fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_the_same_when_they_mean_the_same() {
        assert!(same(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!same(&json!(1), &json!("1")));
        assert!(!same(
            &json!(9007199254740993_i64),
            &json!(9007199254740992_i64)
        ));
    }

    #[test]
    fn a_longer_list_comes_after_its_beginning() {
        assert!(compare(&json!([1]), &json!([1, 1])).is_lt());
        assert!(compare(&json!({"a": 1}), &json!({"a": 0, "b": 0})).is_gt());
    }
}
