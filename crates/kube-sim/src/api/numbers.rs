//! Numbers as the API server keeps them.
//!
//! In: a document as it was sent. Out: the same with every whole number an integer, however it was
//! written: `2.0` and `2e0` are `2`. It does not know what the numbers are for.

use serde_json::{Number, Value};

/// Makes integers of the floats in `value` that are whole and fit into 64 bits.
pub(super) fn settle(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(fields) => fields.values_mut().for_each(settle),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn whole(number: &Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    // Written without a fraction, as a float is that is stored, it is read as an integer.
    format!("{float}").parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_floats_become_integers() {
        let mut document = json!({"a": [2.0, 2.5, -1e3], "b": {"c": 1e21, "d": 9e18}, "e": 7});
        settle(&mut document);
        assert_eq!(
            document,
            json!({"a": [2, 2.5, -1000], "b": {"c": 1e21, "d": 9_000_000_000_000_000_000_i64}, "e": 7})
        );
    }
}
