//! Lists whose items or keys must be unique: `x-kubernetes-list-type: set` and `map`.
//!
//! In: a schema and a value. Out: a violation for the second of equal items. Items without any key
//! field count as equal, as they do for the API server.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::at::At;
use super::structural::{ListKind, Schema};
use super::violation::{Violation, ViolationKind};
use super::walk::walk;
use super::wording;

/// The repeated items below `value`.
pub fn violations(schema: &Schema, value: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    walk(schema, value, &At::ROOT, &mut |schema, value, at| {
        if let Value::Array(items) = value {
            found.extend(of_list(&schema.list, items, at));
        }
    });
    found
}

fn of_list(kind: &ListKind, items: &[Value], at: &At<'_>) -> Vec<Violation> {
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

fn not_an_object(item: &Value, at: &At<'_>) -> Violation {
    let why = "must be an object for an array of list-type map";
    let message = format!("Invalid value: {}: {why}", wording::value(item));
    Violation::new(at, ViolationKind::Other, message)
}

fn key(names: &[String], item: &Value) -> Value {
    names
        .iter()
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect::<Map<String, Value>>()
        .into()
}

/// A violation for each second occurrence; a third is not reported again.
fn duplicates(items: &[Value], at: &At<'_>) -> Vec<Violation> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut is_second = |(_, item): &(usize, &Value)| {
        let times = seen.entry(item.to_string()).or_default();
        *times += 1;
        *times == 2
    };
    let mut found = Vec::new();
    for (index, item) in items.iter().enumerate().filter(|entry| is_second(entry)) {
        let message = format!("Duplicate value: {}", wording::value(item));
        let at = at.index(index);
        found.push(Violation::new(&at, ViolationKind::Other, message));
    }
    found
}
