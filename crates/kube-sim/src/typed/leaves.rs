//! The fields that a value has.

use serde_json::{Map, Value};

use super::by_element::by_element;
use crate::types::{Form, Types};
use kube_schema::{Element, FieldSet};

/// The fields of `value`: its leaves, the items of its keyed lists, and the entries of its maps
/// with free keys. A list or map that is one value is a leaf, and so is an empty or null one.
#[must_use]
pub(crate) fn fields_of(value: &Value, types: Types<'_>) -> FieldSet {
    let mut walk = Walk::default();
    walk.visit(types, value);
    walk.set
}

#[derive(Default)]
struct Walk {
    at: Vec<Element>,
    set: FieldSet,
}

impl Walk {
    fn visit(&mut self, types: Types<'_>, value: &Value) {
        match (types.forms().narrow(Some(value)).form(), value) {
            (Form::Scalar, _) => self.set.insert(&self.at),
            (Form::List, _) if types.list_is_atomic() => self.set.insert(&self.at),
            (Form::Map, _) if types.map_is_atomic() => self.set.insert(&self.at),
            (Form::List, Value::Array(items)) => self.items(types, items),
            (Form::Map, Value::Object(fields)) => self.fields(types, fields),
            _ => {}
        }
    }

    fn fields(&mut self, types: Types<'_>, fields: &Map<String, Value>) {
        for (name, value) in fields {
            let member = types.member(name);
            self.at.push(Element::field(name.as_str()));
            self.visit(member.types.unwrap_or_else(Types::unknown), value);
            if !member.declared || is_bare(value) {
                self.set.insert(&self.at);
            }
            self.at.pop();
        }
    }

    /// Of items with the same key only the key is a field: they cannot be distinguished.
    fn items(&mut self, types: Types<'_>, items: &[Value]) {
        for (element, items) in by_element(types, items) {
            self.at.push(element);
            if let [alone] = items.as_slice() {
                self.visit(types.item(), alone);
            }
            self.set.insert(&self.at);
            self.at.pop();
        }
    }
}

/// Null, or a map without entries.
fn is_bare(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}
