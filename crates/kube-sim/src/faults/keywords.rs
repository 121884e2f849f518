//! What each keyword of a CRD's schema may say, at any place.
//!
//! In: the JSON of an `openAPIV3Schema`. Out: faults, and whether there is a keyword that no CRD
//! supports, so that it is unknown whether the rest is structural.

use serde_json::Value;

use super::lists;
use super::reading::{Faults, Fields, arms, below, is_set, schemas, text};
use kube_schema::OBJECT_FIELDS;
use kube_schema::wording::quoted;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Keywords of JSON Schema that CRDs do not have.
const UNSUPPORTED: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

/// What the keywords come to.
#[derive(Default)]
pub(super) struct Keywords {
    pub(super) found: Faults,
    /// Whether there are such as no CRD can have.
    pub(super) unsupported: bool,
}

/// What is wrong with the keywords of `json`.
pub(super) fn faults(json: &Value) -> Keywords {
    let mut keywords = Keywords::default();
    keywords.schema(json, &Place::default(), "", true);
    keywords
}

/// Where a schema is.
#[derive(Clone, Default)]
struct Place {
    /// Whether it is about the type or the metadata of an object.
    in_metadata: bool,
    /// Why it may have no default.
    no_default: Option<String>,
}

impl Keywords {
    fn schema(&mut self, json: &Value, place: &Place, path: &str, root: bool) {
        let Some(fields) = json.as_object() else {
            return;
        };
        if root && is_set(fields, "nullable") {
            let why = "Forbidden: nullable cannot be true at the root";
            self.found.add(path, "nullable", why);
        }
        self.kind(fields, path);
        self.support(fields, path);
        self.single(fields, place, path);
        lists::check(fields, path, &mut self.found);
        self.parts(fields, place, path, root);
    }

    fn kind(&mut self, fields: &Fields, path: &str) {
        let kind = text(fields, "type");
        if !kind.is_empty() && !TYPES.contains(&kind) {
            let known: Vec<String> = TYPES.iter().map(|kind| quoted(kind)).collect();
            let known = known.join(", ");
            let why = format!(
                "Unsupported value: {}: supported values: {known}",
                quoted(kind)
            );
            self.found.add(path, "type", &why);
        }
        if kind == "null" {
            let why = "Forbidden: type cannot be set to null, use nullable as an alternative";
            self.found.add(path, "type", why);
        }
    }

    fn support(&mut self, fields: &Fields, path: &str) {
        for name in UNSUPPORTED {
            if is_set(fields, name) || (name == "additionalItems" && fields.contains_key(name)) {
                self.unsupported = true;
                let why = format!("Forbidden: {name} is not supported");
                self.found.add(path, name, &why);
            }
        }
        if !arms(fields, "items").is_empty() {
            self.unsupported = true;
            let why = "Forbidden: items must be a schema object and not an array";
            self.found.add(path, "items", why);
        }
        let open = "x-kubernetes-preserve-unknown-fields";
        if fields.get(open) == Some(&Value::Bool(false)) {
            self.unsupported = true;
            let why = "Invalid value: false: must be true or undefined";
            self.found.add(path, open, why);
        }
    }

    fn single(&mut self, fields: &Fields, place: &Place, path: &str) {
        if let Some(why) = place.no_default.as_ref().filter(|_| has_default(fields)) {
            let why = format!("Forbidden: must not be set {why}");
            self.found.add(path, "default", &why);
        }
        let embedded = "x-kubernetes-embedded-resource";
        if place.in_metadata && is_set(fields, embedded) {
            let why = "Forbidden: must not be used inside of resource meta";
            self.found.add(path, embedded, why);
        }
        if is_set(fields, "uniqueItems") {
            let why = "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.found.add(path, "uniqueItems", why);
        }
        let named = schemas(fields, "properties").next().is_some();
        let free = fields.get("additionalProperties");
        if named && free.is_some_and(|free| *free != Value::Bool(true)) {
            let why = "Forbidden: additionalProperties and properties are mutual exclusive";
            self.found.add(path, "additionalProperties", why);
        }
    }

    fn parts(&mut self, fields: &Fields, place: &Place, path: &str, root: bool) {
        let whole = root || is_set(fields, "x-kubernetes-embedded-resource");
        for (name, schema) in schemas(fields, "properties") {
            let mut place = place.clone();
            if whole && OBJECT_FIELDS.contains(&name.as_str()) {
                place.in_metadata = true;
                if root {
                    place.no_default = Some(format!("in top-level {name}"));
                }
            }
            let at = below(path, &format!("properties[{name}]"));
            self.schema(schema, &place, &at, false);
        }
        if let Some(schema) = fields.get("additionalProperties") {
            let mut place = place.clone();
            if place.in_metadata {
                let why = "inside additionalProperties applying to object metadata";
                place.no_default = Some(why.to_owned());
            }
            self.schema(schema, &place, &below(path, "additionalProperties"), false);
        }
        for name in ["items", "not"] {
            if let Some(schema) = fields.get(name) {
                self.schema(schema, place, &below(path, name), false);
            }
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            for (index, arm) in arms(fields, name).iter().enumerate() {
                let at = below(path, &format!("{name}[{index}]"));
                self.schema(arm, place, &at, false);
            }
        }
    }
}

/// Whether a default is set; null is none.
fn has_default(fields: &Fields) -> bool {
    fields.get("default").is_some_and(|value| !value.is_null())
}
