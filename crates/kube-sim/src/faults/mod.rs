//! Why a schema cannot be the schema of a CRD.
//!
//! In: the JSON of an `openAPIV3Schema`. Out: faults in the API server's words, each with its path.
//! Three files look: `structure` at the shape (only if every keyword is one that CRDs support),
//! `defaults` at the defaults of a sound structure, `keywords` at each keyword by itself. Source:
//! `pkg/apis/apiextensions/validation` and `pkg/apiserver/schema` of k8s.io/apiextensions-apiserver.
//! It does not know rules (`x-kubernetes-validations`), nor the definition around the schema.

mod defaults;
mod keywords;
mod lists;
mod reading;
mod structure;

use std::collections::BTreeSet;

use serde_json::Value;

use kube_schema::formats;
use reading::{arms, schemas, text};

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
