//! Schemas from JSON: a CRD's `openAPIV3Schema`, or what schemars makes of a Rust type.
//!
//! In: a JSON Schema. Out: [`Schema`], or where and why it is none. What schemars says in other words
//! than a CRD (`type` as a list with "null", unions with a null arm, `const`, `$ref`) comes out in
//! the words of a CRD; `unions` does that part. It does not know values.

use serde_json::{Map, Value};

use super::structural::{Additional, Bound, Checks, Count, ListKind, Pattern, Schema, Type};
use super::unions;

type Fields = Map<String, Value>;

/// The deepest nesting that is followed: deeper is a loop or an attack.
const DEEPEST: usize = 128;

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// Says where and why `json` is no schema.
    pub fn from_json(json: &Value) -> Result<Self, String> {
        Reader::new(json, false).schema(json)
    }

    /// Reads a schema as the API server understands that of a definition: an enum that names null does
    /// not let it be (`pkg/validation/validate` of k8s.io/kube-openapi).
    ///
    /// # Errors
    /// As [`Self::from_json`].
    pub fn from_definition(json: &Value) -> Result<Self, String> {
        Reader::new(json, true).schema(json)
    }
}

/// The state of the reading: the whole document for `$ref`, the references that are being followed, and
/// whether this only checks what is described elsewhere.
#[derive(Clone)]
struct Reader<'a> {
    root: &'a Value,
    open: Vec<&'a str>,
    depth: usize,
    checks: bool,
    /// Whether all of it is of a definition.
    definition: bool,
}

impl<'a> Reader<'a> {
    const fn new(root: &'a Value, definition: bool) -> Self {
        Self {
            root,
            open: Vec::new(),
            depth: 0,
            checks: false,
            definition,
        }
    }

    fn deeper(&self) -> Self {
        let mut reader = self.clone();
        reader.depth += 1;
        reader
    }

    /// A schema in a place that describes values (not one that only checks them).
    fn schema(&self, json: &'a Value) -> Result<Schema, String> {
        let mut schema = self.unfolded(json)?;
        if schema.says_nothing() {
            schema.preserve_unknown = true;
        }
        Ok(schema)
    }

    /// A union of whole schemas as one; what only checks stays as it is.
    fn unfolded(&self, json: &'a Value) -> Result<Schema, String> {
        let mut schema = self.any_schema(json)?;
        if !self.checks {
            unions::unfold(&mut schema);
        }
        Ok(schema)
    }

    /// The reader of `arm`, which checks the values that `fields` describes, or describes them itself.
    fn of_arm(&self, fields: &Fields, arm: &Value) -> Self {
        const DESCRIBE: [&str; 3] = ["type", "$ref", "x-kubernetes-int-or-string"];
        let described = DESCRIBE.iter().any(|name| fields.contains_key(*name));
        let describes = DESCRIBE.iter().any(|name| arm.get(name).is_some());
        let mut reader = self.deeper();
        reader.checks = (self.checks || described) && !describes;
        reader
    }

    fn any_schema(&self, json: &'a Value) -> Result<Schema, String> {
        if self.depth > DEEPEST {
            return Err("nested too deep".into());
        }
        match json {
            Value::Bool(true) => Ok(Schema::default()),
            Value::Bool(false) => Ok(refuses_all()),
            Value::Object(fields) => self.object(fields),
            other => Err(format!("a schema must be a map, not {other}")),
        }
    }

    fn object(&self, fields: &'a Fields) -> Result<Schema, String> {
        let mut schema = self.own(fields)?;
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            schema.merge_under(self.follow(reference)?);
        }
        Ok(schema)
    }

    /// The schema that `reference` names. A reference within itself ends in "anything".
    fn follow(&self, reference: &'a str) -> Result<Schema, String> {
        if self.open.contains(&reference) {
            return Ok(Schema::default());
        }
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer))
            .ok_or_else(|| format!("$ref {reference} leads nowhere"))?;
        let mut reader = self.deeper();
        reader.open.push(reference);
        reader.any_schema(target)
    }

    fn own(&self, fields: &'a Fields) -> Result<Schema, String> {
        let flag = |name| fields.get(name) == Some(&Value::Bool(true));
        let (types, null) = types(fields)?;
        let checks = self.checks(fields)?;
        let mut schema = Schema {
            types,
            nullable: flag("nullable") || null,
            properties: self.properties(fields)?,
            additional: self.additional(fields)?,
            items: self.optional(fields, "items")?.map(Box::new),
            default: fields.get("default").cloned(),
            int_or_string: flag("x-kubernetes-int-or-string"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            list: list_kind(fields),
            atomic_map: fields.get("x-kubernetes-map-type") == Some(&"atomic".into()),
            validations: array(fields, "x-kubernetes-validations")?.to_vec(),
            checks: (checks != Checks::default()).then(|| Box::new(checks)),
        };
        if schema.int_or_string {
            schema.types = vec![Type::Integer, Type::String];
        }
        Ok(schema)
    }

    fn properties(
        &self,
        fields: &'a Fields,
    ) -> Result<std::collections::BTreeMap<String, Schema>, String> {
        let Some(json) = fields.get("properties") else {
            return Ok(Default::default());
        };
        let properties = json
            .as_object()
            .ok_or("properties must be a map of schemas")?;
        properties
            .iter()
            .map(|(name, json)| {
                let schema = self.deeper().schema(json);
                Ok((name.clone(), schema.map_err(|e| within(name, &e))?))
            })
            .collect()
    }

    fn additional(&self, fields: &'a Fields) -> Result<Additional, String> {
        match fields.get("additionalProperties") {
            None => Ok(Additional::Unsaid),
            Some(Value::Bool(any)) => Ok(Additional::Any(*any)),
            Some(json) => self
                .deeper()
                .schema(json)
                .map(|schema| Additional::Schema(Box::new(schema)))
                .map_err(|e| within("*", &e)),
        }
    }

    fn optional(&self, fields: &'a Fields, name: &str) -> Result<Option<Schema>, String> {
        fields
            .get(name)
            .map(|json| self.deeper().schema(json).map_err(|e| within("[]", &e)))
            .transpose()
    }

    fn checks(&self, fields: &'a Fields) -> Result<Checks, String> {
        let text = |name| fields.get(name).and_then(Value::as_str);
        let allowed = allowed(fields)?;
        Ok(Checks {
            required: strings(fields, "required"),
            never_null: self.definition && allowed.contains(&Value::Null),
            allowed,
            format: text("format").map(Into::into),
            minimum: bound(fields, "minimum", "exclusiveMinimum"),
            maximum: bound(fields, "maximum", "exclusiveMaximum"),
            multiple_of: fields.get("multipleOf").and_then(Value::as_f64),
            length: count(fields, "minLength", "maxLength"),
            items: count(fields, "minItems", "maxItems"),
            fields: count(fields, "minProperties", "maxProperties"),
            unique_items: fields.get("uniqueItems") == Some(&Value::Bool(true)),
            pattern: text("pattern")
                .filter(|text| !text.is_empty())
                .map(Pattern::new),
            all_of: self.arms(fields, "allOf")?,
            any_of: self.arms(fields, "anyOf")?,
            one_of: self.arms(fields, "oneOf")?,
            not: fields
                .get("not")
                .map(|json| self.of_arm(fields, json).any_schema(json))
                .transpose()?,
        })
    }

    fn arms(&self, fields: &'a Fields, name: &str) -> Result<Vec<Schema>, String> {
        let read = |json| self.of_arm(fields, json).unfolded(json);
        let arms = array(fields, name)?.iter().map(read);
        arms.collect::<Result<_, String>>()
            .map_err(|e| within(name, &e))
    }
}

impl Schema {
    /// Whether the schema allows any value.
    fn says_nothing(&self) -> bool {
        self.types.is_empty()
            && !self.int_or_string
            && self.properties.is_empty()
            && self.items.is_none()
            && self.additional == Additional::Unsaid
    }

    /// Takes from `other` what is not set here.
    pub(crate) fn merge_under(&mut self, other: Self) {
        let mine = std::mem::replace(self, other);
        self.nullable |= mine.nullable;
        self.default = mine.default.or(self.default.take());
        if !mine.types.is_empty() {
            self.types = mine.types;
        }
        self.properties.extend(mine.properties);
        self.validations.extend(mine.validations);
        match (mine.checks, &mut self.checks) {
            (None, _) => {}
            (mine, None) => self.checks = mine,
            (mine, Some(theirs)) => theirs.all_of.push(Self {
                checks: mine,
                ..Self::default()
            }),
        }
    }
}

/// The schema `false`.
fn refuses_all() -> Schema {
    let checks = Checks {
        not: Some(Schema::default()),
        ..Checks::default()
    };
    Schema {
        checks: Some(Box::new(checks)),
        ..Schema::default()
    }
}

fn within(name: &str, error: &str) -> String {
    format!("{name}: {error}")
}

/// The types named, and whether null is one of them.
fn types(fields: &Fields) -> Result<(Vec<Type>, bool), String> {
    let names = match fields.get("type") {
        None => return Ok((Vec::new(), false)),
        Some(Value::Array(names)) => names.as_slice(),
        Some(name) => std::slice::from_ref(name),
    };
    let mut types = Vec::new();
    let mut null = false;
    for name in names {
        match name.as_str() {
            Some("null") => null = true,
            Some("object") => types.push(Type::Object),
            Some("array") => types.push(Type::Array),
            Some("string") => types.push(Type::String),
            Some("integer") => types.push(Type::Integer),
            Some("number") => types.push(Type::Number),
            Some("boolean") => types.push(Type::Boolean),
            Some("") => {}
            _ => return Err(format!("{name} is no type")),
        }
    }
    Ok((types, null))
}

fn list_kind(fields: &Fields) -> ListKind {
    match fields.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => ListKind::Map(strings(fields, "x-kubernetes-list-map-keys")),
        _ => ListKind::Atomic,
    }
}

/// `enum`, or `const` as an enum of one.
fn allowed(fields: &Fields) -> Result<Vec<Value>, String> {
    match fields.get("const") {
        Some(only) => Ok(vec![only.clone()]),
        None => Ok(array(fields, "enum")?.to_vec()),
    }
}

/// A bound in either notation: exclusive as a flag beside it (OpenAPI), or as a number of its own
/// (JSON Schema).
fn bound(fields: &Fields, inclusive: &str, exclusive: &str) -> Option<Bound> {
    let number = |name| fields.get(name).and_then(Value::as_f64);
    if let Some(limit) = number(exclusive) {
        return Some(Bound {
            limit,
            exclusive: true,
        });
    }
    Some(Bound {
        limit: number(inclusive)?,
        exclusive: fields.get(exclusive) == Some(&Value::Bool(true)),
    })
}

fn count(fields: &Fields, min: &str, max: &str) -> Count {
    let whole = |name| fields.get(name).and_then(Value::as_u64);
    Count {
        min: whole(min),
        max: whole(max),
    }
}

fn array<'a>(fields: &'a Fields, name: &str) -> Result<&'a [Value], String> {
    match fields.get(name) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(format!("{name} must be a list")),
    }
}

fn strings(fields: &Fields, name: &str) -> Vec<String> {
    let items = fields.get(name).and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(|item| item.as_str().map(Into::into))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::needless_pass_by_value,
        clippy::unwrap_used,
        clippy::panic,
        clippy::print_stderr
    )]

    use std::path::{Path, PathBuf};

    use serde_json::json;

    use super::*;
    use crate::{Unknown, validate};

    fn read(json: Value) -> Schema {
        Schema::from_json(&json).unwrap()
    }

    fn errors(schema: &Schema, value: Value) -> Vec<String> {
        let found = validate(schema, &value, Unknown::Reject);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn references_are_followed_and_loops_end() {
        let schema = read(json!({"type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"type": "object", "properties": {
                "n": {"type": "integer"}, "more": {"$ref": "#/$defs/A"}}}}}));
        assert_eq!(
            errors(&schema, json!({"a": {"n": 1, "more": {"x": 1}}})),
            Vec::<String>::new()
        );
        let found = errors(&schema, json!({"a": {"m": 1}}));
        assert_eq!(found, ["unknown field \"a.m\""]);
        assert!(Schema::from_json(&json!({"$ref": "#/$defs/B"})).is_err());
    }

    #[test]
    fn bounds_are_read_in_both_notations() {
        let exclusive = Some(Bound {
            limit: 3.0,
            exclusive: true,
        });
        for json in [
            json!({"type": "integer", "maximum": 3, "exclusiveMaximum": true}),
            json!({"type": "integer", "exclusiveMaximum": 3}),
        ] {
            assert_eq!(read(json).checks.unwrap().maximum, exclusive);
        }
    }

    #[test]
    fn a_schema_without_keywords_keeps_everything() {
        let schema = read(json!({"type": "object", "properties": {"any": true, "text": {}}}));
        let value = json!({"any": {"a": 1}, "text": {"b": [null]}});
        assert_eq!(errors(&schema, value), Vec::<String>::new());
    }

    #[test]
    fn an_invalid_schema_is_reported_with_its_place() {
        let fault = |json| Schema::from_json(&json).unwrap_err();
        assert_eq!(fault(json!(3)), "a schema must be a map, not 3");
        let json = json!({"properties": {"a": {"items": {"type": "text"}}}});
        assert_eq!(fault(json), "a: []: \"text\" is no type");
    }

    fn shared(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared")
            .join(name)
    }

    fn files(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "yaml") {
                found.push(path);
            }
        }
    }

    fn documents(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        serde_yaml::Deserializer::from_str(&text)
            .map(|document| serde::Deserialize::deserialize(document).unwrap())
            .collect()
    }

    /// (group, version, kind, schema) of every version of every real CRD.
    fn real_schemas() -> Vec<(String, String, String, Value)> {
        let mut paths = Vec::new();
        files(&shared("crds"), &mut paths);
        let mut schemas = Vec::new();
        for crd in paths.iter().flat_map(|path| documents(path)) {
            let text = |pointer| {
                crd.pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap()
                    .to_owned()
            };
            let (group, kind) = (text("/spec/group"), text("/spec/names/kind"));
            for version in crd
                .pointer("/spec/versions")
                .and_then(Value::as_array)
                .unwrap()
            {
                let name = version["name"].as_str().unwrap().to_owned();
                let schema = version.pointer("/schema/openAPIV3Schema").unwrap().clone();
                schemas.push((group.clone(), name, kind.clone(), schema));
            }
        }
        schemas
    }

    #[test]
    fn real_crds_are_read() {
        let schemas = real_schemas();
        if schemas.is_empty() {
            eprintln!("skipped: no real CRDs in ../shared/crds");
        }
        for (group, version, kind, json) in schemas {
            let schema = Schema::from_json(&json).unwrap_or_else(|e| panic!("{kind}: {e}"));
            let value = json!({"apiVersion": format!("{group}/{version}"), "kind": kind,
                "metadata": {"name": "a"}, "spce": {}});
            let found = errors(&schema, value);
            assert!(
                found.contains(&"unknown field \"spce\"".into()),
                "{kind}: {found:?}"
            );
        }
    }

    fn patterns<'a>(json: &'a Value, found: &mut Vec<&'a str>) {
        match json {
            Value::Object(fields) => {
                found.extend(fields.get("pattern").and_then(Value::as_str));
                fields.values().for_each(|value| patterns(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| patterns(value, found)),
            _ => {}
        }
    }

    #[test]
    fn patterns_of_real_crds_are_understood() {
        for (_, _, kind, json) in real_schemas() {
            let mut found = Vec::new();
            patterns(&json, &mut found);
            for text in found {
                assert!(crate::pattern::compile(text).is_ok(), "{kind}: {text}");
            }
        }
    }

    #[test]
    fn real_objects_fit_their_crds() {
        let schemas = real_schemas();
        let mut paths = Vec::new();
        files(&shared("samples"), &mut paths);
        if schemas.is_empty() || paths.is_empty() {
            return eprintln!("skipped: no real objects in ../shared/samples");
        }
        let mut checked = 0;
        for object in paths.iter().flat_map(|path| documents(path)) {
            let embedded = object.pointer("/spec/resources").and_then(Value::as_array);
            for object in embedded.into_iter().flatten().chain([&object]) {
                let api_version = object["apiVersion"].as_str().unwrap_or_default();
                let known = schemas.iter().filter(|(group, version, kind, _)| {
                    api_version == format!("{group}/{version}") && object["kind"] == **kind
                });
                for (_, _, kind, json) in known {
                    checked += 1;
                    let mut found = errors(&read(json.clone()), object.clone());
                    // The controller writes the key's version into the embedded cluster.
                    found.retain(|error| !error.ends_with("kms.activeKey.version: Required value"));
                    assert_eq!(found, Vec::<String>::new(), "{kind}");
                }
            }
        }
        assert!(checked > 50, "{checked} objects");
    }
}
