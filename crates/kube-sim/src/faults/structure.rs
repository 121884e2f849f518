//! Whether a schema is structural.
//!
//! In: the JSON of an `openAPIV3Schema`. Out: faults. A structural schema declares outside of `allOf`,
//! `anyOf`, `oneOf` and `not` of what type every place is; within those it only checks values.

use serde_json::Value;

use super::reading::{Faults, Fields, arms, below, is_set, schemas, text};
use kube_schema::regular_expression;
use kube_schema::wording::quoted;

/// What may not be set within a junctor, and what it must be instead.
const FORBIDDEN_WITHIN: &[(&str, &str)] = &[
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-embedded-resource",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-int-or-string",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-list-map-keys",
        "must be empty to be structural",
    ),
    (
        "x-kubernetes-list-type",
        "must be undefined to be structural",
    ),
    (
        "x-kubernetes-map-type",
        "must be undefined to be structural",
    ),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

/// Where a schema is in the one above it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Field,
    Item,
}

/// What keeps `json` from being structural; nothing when it is.
pub(super) fn faults(json: &Value) -> Vec<String> {
    let mut faults = Faults::default();
    faults.schema(json, Level::Root, "");
    faults.sorted()
}

impl Faults {
    fn schema(&mut self, json: &Value, level: Level, path: &str) {
        let Some(fields) = json.as_object() else {
            self.add(path, "", "Invalid value: must be a map");
            return;
        };
        self.own(fields, level, path);
        self.parts(fields, level, path);
        self.junctors(fields, path);
        if level == Level::Root {
            self.completeness(fields, fields, path, path);
        }
    }

    fn own(&mut self, fields: &Fields, level: Level, path: &str) {
        let kind = text(fields, "type");
        let embedded = is_set(fields, "x-kubernetes-embedded-resource");
        if let Some(why) = type_fault(fields, kind, embedded, level) {
            self.add(path, "type", &why);
        }
        if level == Level::Root && !matches!(kind, "" | "object") {
            let why = format!("Invalid value: {kind:?}: must be object at the root");
            self.add(path, "type", &why);
        }
        if kind == "array" && !fields.contains_key("items") {
            self.add(path, "items", "Required value: must be specified");
        }
        let open = is_set(fields, "x-kubernetes-preserve-unknown-fields");
        if embedded && !open && schemas(fields, "properties").next().is_none() {
            self.add(
                path,
                "properties",
                "Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            );
        }
        self.pattern(fields, path);
        self.extensions(fields, embedded, open, path);
        if level == Level::Root || embedded {
            self.metadata(fields, level, path);
        }
    }

    fn pattern(&mut self, fields: &Fields, path: &str) {
        let pattern = text(fields, "pattern");
        if let Err(error) = regular_expression(pattern) {
            let why = "must be a valid regular expression, but isn't: error parsing regexp";
            let why = format!("Invalid value: {}: {why}: {error}", quoted(pattern));
            self.add(path, "pattern", &why);
        }
    }

    /// What whole objects say of their type and metadata.
    fn metadata(&mut self, fields: &Fields, level: Level, path: &str) {
        for (name, wanted) in [
            ("kind", "string"),
            ("apiVersion", "string"),
            ("metadata", "object"),
        ] {
            let known = schemas(fields, "properties").find(|(known, _)| *known == name);
            let Some(known) = known.and_then(|(_, schema)| schema.as_object()) else {
                continue;
            };
            let at = below(path, &format!("properties[{name}]"));
            let kind = text(known, "type");
            if kind != wanted {
                let why = format!("Invalid value: {kind:?}: must be {wanted}");
                self.add(&at, "type", &why);
            }
            if level == Level::Root && name == "metadata" && !only_names(known) {
                let why = "Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified";
                self.add(&at, "", why);
            }
        }
    }

    fn extensions(&mut self, fields: &Fields, embedded: bool, open: bool, path: &str) {
        let int_or_string = is_set(fields, "x-kubernetes-int-or-string");
        let why = "Invalid value: true: must be false if x-kubernetes-int-or-string is true";
        if int_or_string && open {
            self.add(path, "x-kubernetes-preserve-unknown-fields", why);
        }
        if int_or_string && embedded {
            self.add(path, "x-kubernetes-embedded-resource", why);
        }
        if embedded && fields.contains_key("additionalProperties") {
            let why = "Forbidden: must not be used if x-kubernetes-embedded-resource is set";
            self.add(path, "additionalProperties", why);
        }
    }

    fn parts(&mut self, fields: &Fields, level: Level, path: &str) {
        for (name, schema) in schemas(fields, "properties") {
            self.schema(
                schema,
                Level::Field,
                &below(path, &format!("properties[{name}]")),
            );
        }
        if let Some(items) = fields.get("items") {
            self.schema(items, Level::Item, &below(path, "items"));
        }
        let Some(additional) = fields.get("additionalProperties") else {
            return;
        };
        if level == Level::Root {
            self.add(
                path,
                "additionalProperties",
                "Forbidden: must not be used at the root",
            );
        }
        if additional.is_object() {
            self.schema(
                additional,
                Level::Field,
                &below(path, "additionalProperties"),
            );
        }
    }

    /// `anyOf: [{type: integer}, {type: string}]` is allowed, also as the first of `allOf`.
    fn junctors(&mut self, fields: &Fields, path: &str) {
        if is_int_or_string(arms(fields, "anyOf")) {
            self.other_junctors(fields, path);
        } else {
            self.all_junctors(fields, path);
        }
    }

    fn all_junctors(&mut self, fields: &Fields, path: &str) {
        self.arms(fields, "anyOf", path);
        self.other_junctors(fields, path);
    }

    fn other_junctors(&mut self, fields: &Fields, path: &str) {
        self.arms(fields, "allOf", path);
        self.arms(fields, "oneOf", path);
        if let Some(not) = fields.get("not") {
            self.arm(not, false, &below(path, "not"));
        }
    }

    fn arms(&mut self, fields: &Fields, name: &str, path: &str) {
        for (index, arm) in arms(fields, name).iter().enumerate() {
            let may_be_either = name == "allOf" && index == 0;
            self.arm(
                arm,
                may_be_either,
                &below(path, &format!("{name}[{index}]")),
            );
        }
    }

    fn arm(&mut self, json: &Value, may_be_either: bool, path: &str) {
        let Some(fields) = json.as_object() else {
            return;
        };
        for (name, why) in FORBIDDEN_WITHIN {
            if is_set(fields, name) {
                self.add(path, name, &format!("Forbidden: {why}"));
            }
        }
        self.pattern(fields, path);
        for (name, schema) in schemas(fields, "properties") {
            let at = below(path, &format!("properties[{name}]"));
            if name == "metadata" {
                self.add(
                    &at,
                    "",
                    "Forbidden: must not be specified in a nested context",
                );
            }
            self.arm(schema, false, &at);
        }
        if let Some(items) = fields.get("items") {
            self.arm(items, false, &below(path, "items"));
        }
        if may_be_either {
            self.junctors(fields, path);
        } else {
            self.all_junctors(fields, path);
        }
    }

    /// What junctors of the root speak of must be specified outside of them. The API server does not
    /// look at those further down.
    fn completeness(&mut self, outside: &Fields, within: &Fields, at: &str, from: &str) {
        let junctors = ["anyOf", "allOf", "oneOf"].into_iter().flat_map(|name| {
            let arms = arms(within, name).iter().enumerate();
            arms.map(move |(index, arm)| (format!("{name}[{index}]"), arm))
        });
        let not = within.get("not").map(|not| ("not".to_owned(), not));
        for (name, arm) in junctors.chain(not) {
            if let Some(arm) = arm.as_object() {
                self.specified(outside, arm, at, &below(from, &name));
            }
        }
    }

    fn specified(&mut self, outside: &Fields, arm: &Fields, at: &str, from: &str) {
        for (name, within) in schemas(arm, "properties") {
            let known = schemas(outside, "properties").find(|(known, _)| *known == name);
            let place = format!("properties[{name}]");
            let known = known.map(|(_, schema)| schema);
            self.part(known, within, &below(at, &place), &below(from, &place));
        }
        if let Some(within) = arm.get("items") {
            let known = outside.get("items");
            self.part(known, within, &below(at, "items"), &below(from, "items"));
        }
        self.completeness(outside, arm, at, from);
    }

    fn part(&mut self, known: Option<&Value>, within: &Value, at: &str, from: &str) {
        match (known.and_then(Value::as_object), within.as_object()) {
            (Some(known), Some(within)) => self.specified(known, within, at, from),
            (None, _) => {
                let why = format!("Required value: because it is defined in {from}");
                self.add(at, "", &why);
            }
            _ => {}
        }
    }
}

/// Whether a schema for the metadata of objects speaks of nothing but their names.
fn only_names(metadata: &Fields) -> bool {
    let silent = |name: &String| {
        matches!(name.as_str(), "type" | "default" | "properties") || !is_set(metadata, name)
    };
    metadata.keys().all(silent)
        && schemas(metadata, "properties").all(|(name, _)| name == "name" || name == "generateName")
}

/// What is wrong with the type, or with a missing one.
fn type_fault(fields: &Fields, kind: &str, embedded: bool, level: Level) -> Option<String> {
    let object = "must be object if x-kubernetes-embedded-resource is true";
    let untyped = is_set(fields, "x-kubernetes-int-or-string")
        || is_set(fields, "x-kubernetes-preserve-unknown-fields");
    let wanted = match level {
        Level::Root => "must not be empty at the root",
        Level::Field => "must not be empty for specified object fields",
        Level::Item => "must not be empty for specified array items",
    };
    match kind {
        "" if embedded => Some(format!("Required value: {object}")),
        "object" => None,
        _ if embedded => Some(format!("Invalid value: {kind:?}: {object}")),
        "" if !untyped => Some(format!("Required value: {wanted}")),
        _ => None,
    }
}

fn is_int_or_string(arms: &[Value]) -> bool {
    let types: Vec<Option<&str>> = arms
        .iter()
        .map(|arm| arm.get("type").and_then(Value::as_str))
        .collect();
    types == [Some("integer"), Some("string")]
}
