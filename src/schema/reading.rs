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
        let reader = Reader {
            root: json,
            open: Vec::new(),
            depth: 0,
        };
        reader.schema(json)
    }
}

/// Where the reading stands: the whole document for `$ref`, the references that are being followed.
#[derive(Clone)]
struct Reader<'a> {
    root: &'a Value,
    open: Vec<&'a str>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn deeper(&self) -> Self {
        let mut reader = self.clone();
        reader.depth += 1;
        reader
    }

    /// A schema in a place that describes values (not one that only checks them).
    fn schema(&self, json: &'a Value) -> Result<Schema, String> {
        let mut schema = self.any_schema(json)?;
        unions::unfold(&mut schema);
        if schema.says_nothing() {
            schema.preserve_unknown = true;
        }
        Ok(schema)
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
        if schema.int_or_string && schema.types.is_empty() {
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
        Ok(Checks {
            required: strings(fields, "required"),
            allowed: allowed(fields)?,
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
                .map(|json| self.deeper().any_schema(json))
                .transpose()?,
        })
    }

    fn arms(&self, fields: &'a Fields, name: &str) -> Result<Vec<Schema>, String> {
        array(fields, name)?
            .iter()
            .map(|json| self.deeper().any_schema(json).map_err(|e| within(name, &e)))
            .collect()
    }
}

impl Schema {
    /// Whether nothing at all is said about what stands here.
    fn says_nothing(&self) -> bool {
        self.types.is_empty()
            && !self.int_or_string
            && self.properties.is_empty()
            && self.items.is_none()
            && self.additional == Additional::Unsaid
    }

    /// Takes over from `other` what is not said here.
    pub(super) fn merge_under(&mut self, other: Self) {
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
