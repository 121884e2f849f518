//! Lists whose items or keys must be unique: `x-kubernetes-list-type: set` and `map`.
//!
//! In: a schema and a value. Out: a violation for the second of equal items. Items without any key
//! field count as equal, as they do for the API server.

use serde_json::{Map, Value};

use crate::model::Path;

use super::order::same;
use super::structural::{Additional, ListKind, Schema};
use super::violation::{Violation, ViolationKind, written};
use super::wording;

/// The repeated items below `value`.
pub(super) fn violations(schema: &Schema, value: &Value) -> Vec<Violation> {
    let mut walk = Walk::default();
    walk.visit(schema, value, &Path::default());
    walk.found
}

#[derive(Default)]
struct Walk {
    found: Vec<Violation>,
    /// Which keys of the path are keys of maps: the API server writes those in brackets here.
    in_map: Vec<usize>,
}

impl Walk {
    fn visit(&mut self, schema: &Schema, value: &Value, at: &Path) {
        match value {
            Value::Object(fields) => self.fields(schema, fields, at),
            Value::Array(items) => {
                self.list(schema, items, at);
                for (index, item) in items.iter().enumerate() {
                    if let Some(of_items) = &schema.items {
                        self.visit(of_items, item, &at.index(index));
                    }
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, schema: &Schema, fields: &Map<String, Value>, at: &Path) {
        for (name, value) in fields {
            let path = at.key(name.as_str());
            if let Additional::Schema(other) = &schema.additional {
                self.in_map.push(at.0.len());
                self.visit(other, value, &path);
                self.in_map.pop();
            }
            if let Some(named) = schema.properties.get(name) {
                self.visit(named, value, &path);
            }
        }
    }

    fn list(&mut self, schema: &Schema, items: &[Value], at: &Path) {
        match &schema.list {
            ListKind::Atomic => {}
            ListKind::Set => {
                for index in repeated(items) {
                    self.duplicate(&items[index], &at.index(index));
                }
            }
            ListKind::Map(keys) => self.keyed(keys, items, at),
        }
    }

    fn keyed(&mut self, names: &[String], items: &[Value], at: &Path) {
        let stranger = |item: &&Value| !item.is_object() && !item.is_null();
        if let Some(index) = items.iter().position(|item| stranger(&item)) {
            let why = "must be an object for an array of list-type map";
            let message = format!("Invalid value: {}: {why}", wording::value(&items[index]));
            self.add(&at.index(index), message);
            return;
        }
        let keys: Vec<Value> = items.iter().map(|item| key(names, item)).collect();
        for index in repeated(&keys) {
            self.duplicate(&keys[index], &at.index(index));
        }
    }

    fn duplicate(&mut self, value: &Value, at: &Path) {
        self.add(at, format!("Duplicate value: {}", wording::value(value)));
    }

    fn add(&mut self, at: &Path, message: String) {
        let mut violation = Violation::new(at, ViolationKind::Other, message);
        violation.field = written(at, |index| self.in_map.contains(&index));
        self.found.push(violation);
    }
}

fn key(names: &[String], item: &Value) -> Value {
    names
        .iter()
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect::<Map<String, Value>>()
        .into()
}

/// The indices of second occurrences; a third is not told again.
fn repeated(items: &[Value]) -> Vec<usize> {
    let before = |index: usize| {
        let item = &items[index];
        items[..index]
            .iter()
            .filter(|other| same(item, other))
            .count()
    };
    (0..items.len())
        .filter(|index| before(*index) == 1)
        .collect()
}
