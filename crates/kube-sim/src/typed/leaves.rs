//! The fields that a value has.

use serde_json::{Map, Value};

use super::by_element::by_element;
use crate::types::{Form, Types};
use kube_schema::{Element, FieldSet};

/// The fields of `value`: its leaves, the items of its keyed lists, and the entries of its maps
/// with free keys. A list or map that is one value is a leaf, and so is an empty or null one.
#[must_use]
pub(crate) fn fields_of(value: &Value, types: Types<'_>) -> FieldSet {
    below(types, value).1
}

/// Whether the place itself is a field, and the fields below it.
fn below(types: Types<'_>, value: &Value) -> (bool, FieldSet) {
    match (types.forms().narrow(Some(value)).form(), value) {
        (Form::Scalar, _) => (true, FieldSet::new()),
        (Form::List, _) if types.list_is_atomic() => (true, FieldSet::new()),
        (Form::Map, _) if types.map_is_atomic() => (true, FieldSet::new()),
        (Form::List, Value::Array(items)) => (false, of_items(types, items)),
        (Form::Map, Value::Object(fields)) => (false, of_fields(types, fields)),
        _ => (false, FieldSet::new()),
    }
}

fn of_fields(types: Types<'_>, fields: &Map<String, Value>) -> FieldSet {
    let mut set = FieldSet::new();
    for (name, value) in fields {
        let member = types.member(name);
        let (leaf, filled) = below(member.types.unwrap_or_else(Types::unknown), value);
        let is_member = leaf || !member.declared || is_bare(value);
        if is_member || !filled.is_empty() {
            set.set(Element::field(name.as_str()), is_member, filled);
        }
    }
    set
}

/// Of items with the same key only the key is a field: they cannot be distinguished.
fn of_items(types: Types<'_>, items: &[Value]) -> FieldSet {
    let mut set = FieldSet::new();
    for (element, items) in by_element(types, items) {
        let filled = match items.as_slice() {
            [alone] => below(types.item(), alone).1,
            _ => FieldSet::new(),
        };
        set.set(element, true, filled);
    }
    set
}

/// Null, or a map without entries.
fn is_bare(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}
