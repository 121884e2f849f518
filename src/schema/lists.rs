//! Lists whose items or keys must be unique: `x-kubernetes-list-type: set` and `map`.
//!
//! In: a schema and a value. Out: a violation for the second of equal items. Items without any key
//! field count as equal, as they do for the API server.

use serde_json::{Map, Value};

use super::structural::{ListKind, Schema};
use super::violation::{Violation, ViolationKind};
use super::walk::{At, walk};
use super::wording;

/// The repeated items below `value`.
pub(super) fn violations(schema: &Schema, value: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    walk(schema, value, &At::default(), &mut |schema, value, at| {
        if let Value::Array(items) = value {
            found.extend(of_list(&schema.list, items, at));
        }
    });
    found
}

fn of_list(kind: &ListKind, items: &[Value], at: &At) -> Vec<Violation> {
    match kind {
        ListKind::Atomic => Vec::new(),
        ListKind::Set => duplicates(items, at),
        ListKind::Map(names) => {
            let stranger = |item: &Value| !item.is_object() && !item.is_null();
            match items.iter().position(stranger) {
                Some(index) => vec![not_an_object(&items[index], &at.index(index))],
                None => {
                    let keys: Vec<Value> = items.iter().map(|item| key(names, item)).collect();
                    duplicates(&keys, at)
                }
            }
        }
    }
}

fn not_an_object(item: &Value, at: &At) -> Violation {
    let why = "must be an object for an array of list-type map";
    let message = format!("Invalid value: {}: {why}", wording::value(item));
    at.violation(ViolationKind::Other, message)
}

fn key(names: &[String], item: &Value) -> Value {
    names
        .iter()
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect::<Map<String, Value>>()
        .into()
}

/// A violation for each second occurrence; a third is not told again.
fn duplicates(items: &[Value], at: &At) -> Vec<Violation> {
    let is_second = |(index, item): &(usize, &Value)| {
        let before = items[..*index].iter();
        before.filter(|other| other == item).count() == 1
    };
    let repeated = items.iter().enumerate().filter(is_second);
    repeated
        .map(|(index, item)| {
            let message = format!("Duplicate value: {}", wording::value(item));
            at.index(index).violation(ViolationKind::Other, message)
        })
        .collect()
}
