//! A value without some of its fields, or with only some of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::types::{Form, Types};
use crate::schema::{Element, FieldSet};

/// `value` without the fields in `fields`. A map or list that is emptied by it is gone too, or null
/// where null may stand; what is one value only goes whole.
#[must_use]
pub fn remove(value: &Value, fields: &FieldSet, types: Types<'_>) -> Value {
    let mut left = strip(value, fields, types);
    drop_emptied(&mut left, value, types);
    match left {
        Value::Null => Value::Object(Map::new()),
        left => left,
    }
}

/// As [`remove`], but what is emptied is null. The API server computes ownership on this.
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

/// Takes the nulls out that [`strip`] put in and that may not stand there. `before` is what was
/// stripped.
fn drop_emptied(stripped: &mut Value, before: &Value, types: Types<'_>) {
    match (stripped, before) {
        (Value::Object(members), Value::Object(before)) => members.retain(|name, member| {
            let below = types.member(name).types.unwrap_or_else(Types::unknown);
            let Some(before) = before.get(name) else {
                return true;
            };
            drop_emptied(member, before, below);
            !member.is_null() || before.is_null() || below.is_nullable()
        }),
        (Value::Array(items), Value::Array(before)) if !types.list_is_atomic() => {
            let item = types.item();
            let named = before.iter().map(|item| (types.element(item).ok(), item));
            let before: BTreeMap<Option<Element>, &Value> = named.collect();
            for stripped in items.iter_mut() {
                if let Some(before) = before.get(&types.element(stripped).ok()) {
                    drop_emptied(stripped, before, item);
                }
            }
            items.retain(|item| !item.is_null());
        }
        _ => {}
    }
}

/// `value` with only the fields in `fields`, and the key fields of the items they stand in. A map that
/// is a member without anything below it is left empty.
#[must_use]
pub fn project(value: &Value, fields: &FieldSet, types: Types<'_>) -> Value {
    match (types.forms().narrow(Some(value)).form(), value) {
        (Form::Map, Value::Object(members)) if !types.map_is_atomic() => {
            let kept = members.iter().filter_map(|(name, member)| {
                let below = types.member(name).types.unwrap_or_else(Types::unknown);
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
