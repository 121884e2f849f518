//! Checks that several kinds share.

use serde_json::Value;

use crate::api::status::Cause;

/// The fields of a map; none of what is not a map.
pub(super) fn fields(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flatten()
}

/// Refuses a change of the field with this path.
pub(super) fn immutable(key: &str, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let place = |object: &Value| {
        key.split('.')
            .fold(object.clone(), |value, key| value[key].clone())
    };
    if old.is_some_and(|old| place(old) != place(object)) {
        causes.push(Cause::invalid(key, &place(object), "field is immutable"));
    }
}

/// Refuses a negative number.
pub(super) fn natural(field: &str, value: &Value, causes: &mut Vec<Cause>) {
    if value.as_i64().is_some_and(|number| number < 0) {
        let detail = "must be greater than or equal to 0";
        causes.push(Cause::invalid(field, value, detail));
    }
}
