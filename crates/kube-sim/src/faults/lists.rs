//! What a schema may say of how its lists and maps merge.
//!
//! In: the keywords of one schema. Out: faults.

use serde_json::{Value, json};

use super::reading::{Faults, Fields, arms, below, is_set, schemas, text};
use kube_schema::wording::{encoded, quoted};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const KEYS: &str = "x-kubernetes-list-map-keys";

/// Checks the schema `fields` at `path`.
pub(super) fn check(fields: &Fields, path: &str, found: &mut Faults) {
    for (keyword, kind, known) in [
        (LIST_TYPE, "array", &["atomic", "set", "map"][..]),
        (MAP_TYPE, "object", &["atomic", "granular"]),
    ] {
        merge_type(fields, path, keyword, (kind, known), found);
    }
    let kind = text(fields, LIST_TYPE);
    let keyed = !arms(fields, KEYS).is_empty();
    if keyed && kind != "map" {
        let why = match kind {
            "" => "Required value".to_owned(),
            kind => format!("Invalid value: {}", quoted(kind)),
        };
        let why = format!("{why}: must be map if {KEYS} is non-empty");
        found.add(path, LIST_TYPE, &why);
    }
    let items = fields.get("items").and_then(Value::as_object);
    let merged = items.filter(|_| kind == "set" || kind == "map");
    if merged.is_some_and(|items| is_set(items, "nullable")) {
        let why = format!("Forbidden: cannot be nullable when {LIST_TYPE} is {kind}");
        found.add(path, "items.nullable", &why);
    }
    match (kind, items) {
        ("set", Some(items)) if text(fields, "type") == "array" => set(items, path, found),
        ("map", items) => map(fields, items, path, found),
        _ => {}
    }
}

fn merge_type(
    fields: &Fields,
    path: &str,
    keyword: &str,
    (wanted, known): (&str, &[&str]),
    found: &mut Faults,
) {
    if !fields.contains_key(keyword) {
        return;
    }
    let must = format!("must be {wanted} if {keyword} is specified");
    match text(fields, "type") {
        "" => found.add(path, "type", &format!("Required value: {must}")),
        kind if kind != wanted => {
            found.add(path, "type", &format!("Invalid value: {kind:?}: {must}"));
        }
        _ => {}
    }
    let value = text(fields, keyword);
    if !known.contains(&value) {
        let known: Vec<String> = known.iter().map(|known| quoted(known)).collect();
        let (value, known) = (quoted(value), known.join(", "));
        let why = format!("Unsupported value: {value}: supported values: {known}");
        found.add(path, keyword, &why);
    }
}

/// Items of a set are whole: lists and maps among them merge as one value.
fn set(items: &Fields, path: &str, found: &mut Faults) {
    let (keyword, whole) = match text(items, "type") {
        "array" => (LIST_TYPE, matches!(text(items, LIST_TYPE), "" | "atomic")),
        "object" => (MAP_TYPE, text(items, MAP_TYPE) == "atomic"),
        _ => return,
    };
    if !whole {
        // In either case the API server shows the list type.
        let shown = encoded(items.get(LIST_TYPE).unwrap_or(&Value::Null));
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let why = format!("Invalid value: {shown}: {why}");
        found.add(&below(path, "items"), keyword, &why);
    }
}

/// Items of a map list are maps with their keys, which are plain and always there.
fn map(fields: &Fields, items: Option<&Fields>, path: &str, found: &mut Faults) {
    let keys: Vec<&str> = arms(fields, KEYS)
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if keys.is_empty() {
        let why = "Required value: must not be empty if x-kubernetes-list-type is map";
        found.add(path, KEYS, why);
    }
    let Some(items) = items else {
        let why = "Required value: must have a schema if x-kubernetes-list-type is map";
        return found.add(path, "items", why);
    };
    let kind = text(items, "type");
    let parent = "if parent array's x-kubernetes-list-type is map";
    let mut names = |why: &str| {
        let why = format!("Invalid value: {}: {why}", encoded(&json!(keys)));
        found.add(path, KEYS, &why);
    };
    if kind == "object" {
        for (at, key) in keys.iter().enumerate() {
            if !schemas(items, "properties").any(|(name, _)| name == key) {
                names("entries must all be names of item properties");
            }
            if keys[..at].contains(key) {
                names("must not contain duplicate entries");
            }
        }
    } else {
        let why = format!("Invalid value: {kind:?}: must be object {parent}");
        found.add(path, "items.type", &why);
    }
    for (name, schema) in schemas(items, "properties") {
        let Some(schema) = schema.as_object().filter(|_| keys.contains(&name.as_str())) else {
            continue;
        };
        let at = below(path, &format!("items.properties[{name}]"));
        if kind == "object" && matches!(text(schema, "type"), "array" | "object") {
            let why = format!("Invalid value: {kind:?}: must be a scalar type {parent}");
            found.add(&at, "type", &why);
        }
        key(items, name, schema, &at, found);
    }
}

fn key(items: &Fields, name: &str, schema: &Fields, at: &str, found: &mut Faults) {
    let required = arms(items, "required").iter().any(|one| one == name);
    let default = schema.get("default").is_some_and(|value| !value.is_null());
    let listed = "this property is in x-kubernetes-list-map-keys, so it";
    if !required && !default {
        let why = format!("Required value: {listed} must have a default or be a required property");
        found.add(at, "default", &why);
    }
    if is_set(schema, "nullable") {
        let why = format!("Forbidden: {listed} cannot be nullable");
        found.add(at, "nullable", &why);
    }
}
