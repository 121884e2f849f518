//! Why a schema cannot be the schema of a CRD.
//!
//! In: the JSON of an `openAPIV3Schema`. Out: faults in the API server's words, each with its path.
//! Three files look: `structure` at the shape (and only if there is no keyword that CRDs do not have),
//! `defaults` at the defaults of a sound structure, `keywords` at each keyword by itself. Source:
//! `pkg/apis/apiextensions/validation` and `pkg/apiserver/schema` of k8s.io/apiextensions-apiserver.
//! It does not know rules (`x-kubernetes-validations`), nor the definition around the schema.

mod defaults;
mod keywords;
mod lists;
mod structure;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use kube_schema::formats;

type Fields = Map<String, Value>;

/// What keeps `json` from being the schema of a CRD; nothing when it can be one.
#[must_use]
pub fn structural_faults(json: &Value) -> Vec<String> {
    let keywords = keywords::faults(json);
    let mut found = Vec::new();
    if !keywords.unsupported {
        found = structure::faults(json);
        if found.is_empty() {
            found = defaults::faults(json);
        }
    }
    found.extend(keywords.found.sorted());
    found
}

/// Adds the formats of strings in `json` that no API server checks to `found`.
pub(crate) fn unknown_formats(json: &Value, found: &mut BTreeSet<String>) {
    let Some(fields) = json.as_object() else {
        return;
    };
    let format = text(fields, "format");
    if text(fields, "type") == "string" && !format.is_empty() && !formats::is_known(format) {
        found.insert(format.to_owned());
    }
    let named = schemas(fields, "properties").map(|(_, schema)| schema);
    let single = ["items", "additionalProperties", "not"].into_iter();
    let within = ["allOf", "anyOf", "oneOf"].into_iter();
    let within = within.flat_map(|name| arms(fields, name));
    let single = single.filter_map(|name| fields.get(name));
    for schema in named.chain(single).chain(within) {
        unknown_formats(schema, found);
    }
}

/// `path: what is wrong`
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, path: &str, name: &str, what: &str) {
        self.0.push(format!("{}: {what}", below(path, name)));
    }

    fn sorted(mut self) -> Vec<String> {
        self.0.sort();
        self.0
    }
}

fn below(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}

fn is_set(fields: &Fields, name: &str) -> bool {
    match fields.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => {
            name == "additionalProperties" && fields.contains_key(name)
        }
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn schemas<'a>(fields: &'a Fields, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let map = fields.get(name).and_then(Value::as_object);
    map.into_iter().flatten()
}

fn arms<'a>(fields: &'a Fields, name: &str) -> &'a [Value] {
    let list = fields.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
