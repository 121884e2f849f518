//! A value without some of its fields.

use serde_json::{Map, Value};

use crate::types::Types;
use kube_schema::{Element, FieldSet};

/// `value` without the fields in `fields`. A map or list that is emptied by it is null; a map or list
/// that is one value only goes whole. The API server computes ownership on this.
pub(crate) fn strip(value: &Value, fields: &FieldSet, types: Types<'_>) -> Value {
    let one_value = match value {
        Value::Object(_) => types.map_is_atomic(),
        Value::Array(_) => types.list_is_atomic(),
        _ => return value.clone(),
    };
    match value {
        Value::Object(members) if !one_value => {
            let left = members.iter().filter_map(|(name, member)| {
                let below = types.member(name).types.unwrap_or_else(Types::unknown);
                let left = left(member, &Element::field(name.as_str()), fields, below)?;
                Some((name.clone(), left))
            });
            let left: Map<String, Value> = left.collect();
            if left.is_empty() {
                Value::Null
            } else {
                left.into()
            }
        }
        Value::Array(items) if !one_value => {
            let left = items.iter().filter_map(|item| match types.element(item) {
                Ok(element) => left(item, &element, fields, types.item()),
                Err(_) => Some(item.clone()),
            });
            let left: Vec<Value> = left.collect();
            if left.is_empty() {
                Value::Null
            } else {
                left.into()
            }
        }
        _ => Value::Null,
    }
}

fn left(value: &Value, element: &Element, fields: &FieldSet, types: Types<'_>) -> Option<Value> {
    if fields.has(element) {
        return None;
    }
    let below = fields.below(element);
    Some(below.map_or_else(|| value.clone(), |below| strip(value, below, types)))
}
