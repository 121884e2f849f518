//! How the JSON of a schema is read, and faults with their paths.

use serde_json::{Map, Value};

pub(super) type Fields = Map<String, Value>;

/// `path: what is wrong`
#[derive(Default)]
pub(super) struct Faults(pub(super) Vec<String>);

impl Faults {
    pub(super) fn add(&mut self, path: &str, name: &str, what: &str) {
        self.0.push(format!("{}: {what}", below(path, name)));
    }

    pub(super) fn sorted(mut self) -> Vec<String> {
        self.0.sort();
        self.0
    }
}

pub(super) fn below(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}

pub(super) fn is_set(fields: &Fields, name: &str) -> bool {
    match fields.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => {
            name == "additionalProperties" && fields.contains_key(name)
        }
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

pub(super) fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn schemas<'a>(
    fields: &'a Fields,
    name: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let map = fields.get(name).and_then(Value::as_object);
    map.into_iter().flatten()
}

pub(super) fn arms<'a>(fields: &'a Fields, name: &str) -> &'a [Value] {
    let list = fields.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
