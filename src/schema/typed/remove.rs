//! A value without some of its fields, or with only some of them.

use serde_json::{Map, Value};

use crate::schema::types::{Form, Types};
use crate::schema::{Element, FieldSet};

/// `value` without the fields in `fields`. A map or list that is emptied by it is gone too (null where
/// null may stand); what is one value is only removed whole.
#[must_use]
pub fn remove(value: &Value, fields: &FieldSet, types: Types<'_>) -> Value {
    without(value, fields, types).unwrap_or_else(|| Value::Object(Map::new()))
}

/// Nothing when nothing is left.
fn without(value: &Value, fields: &FieldSet, types: Types<'_>) -> Option<Value> {
    match (types.forms().narrow(Some(value)).form(), value) {
        (Form::Map, Value::Object(members)) if !types.map_is_atomic() => {
            let left = members.iter().filter_map(|(name, member)| {
                let below = types.member(name).types.unwrap_or_else(Types::deduced);
                let left = left(member, &Element::field(name.as_str()), fields, below)?;
                Some((name.clone(), left))
            });
            let left: Map<String, Value> = left.collect();
            (!left.is_empty()).then_some(Value::Object(left))
        }
        (Form::List, Value::Array(items)) if !types.list_is_atomic() => {
            let left = items.iter().filter_map(|item| match types.element(item) {
                Ok(element) => left(item, &element, fields, types.item()),
                Err(_) => Some(item.clone()),
            });
            let left: Vec<Value> = left.collect();
            (!left.is_empty()).then_some(Value::Array(left))
        }
        (Form::Scalar, _) => Some(value.clone()),
        _ => None,
    }
}

fn left(value: &Value, element: &Element, fields: &FieldSet, types: Types<'_>) -> Option<Value> {
    if fields.has(element) {
        return None;
    }
    match fields.below(element) {
        None => Some(value.clone()),
        Some(below) => {
            without(value, below, types).or_else(|| types.is_nullable().then_some(Value::Null))
        }
    }
}

/// `value` with only the fields in `fields`, and the key fields of the items they stand in. A map that
/// is a member without anything below it is left empty.
#[must_use]
pub fn project(value: &Value, fields: &FieldSet, types: Types<'_>) -> Value {
    match (types.forms().narrow(Some(value)).form(), value) {
        (Form::Map, Value::Object(members)) if !types.map_is_atomic() => {
            let kept = members.iter().filter_map(|(name, member)| {
                let below = types.member(name).types.unwrap_or_else(Types::deduced);
                let kept = kept(member, &Element::field(name.as_str()), fields, below)?;
                Some((name.clone(), kept))
            });
            kept.collect::<Map<_, _>>().into()
        }
        (Form::List, Value::Array(items)) if !types.list_is_atomic() => {
            let kept = items.iter().filter_map(|item| {
                let element = types.element(item).ok()?;
                let mut kept = kept(item, &element, fields, types.item())?;
                add_keys(&mut kept, item, &element);
                Some(kept)
            });
            kept.collect()
        }
        _ => value.clone(),
    }
}

fn kept(value: &Value, element: &Element, fields: &FieldSet, types: Types<'_>) -> Option<Value> {
    match fields.below(element) {
        Some(below) => Some(project(value, below, types)),
        None => fields
            .has(element)
            .then(|| project(value, &FieldSet::new(), types)),
    }
}

fn add_keys(kept: &mut Value, item: &Value, element: &Element) {
    if let (Value::Object(kept), Element::Key(keys)) = (kept, element) {
        for (name, _) in keys {
            if let Some(value) = item.get(name) {
                kept.insert(name.clone(), value.clone());
            }
        }
    }
}
