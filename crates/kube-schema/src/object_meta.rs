//! `metadata` as the API server's own type holds it.
//!
//! In: the `metadata` of a custom object. Out: the same without what the type does not know and without
//! what is empty, or the first value of a wrong type. Nulls count as what is empty, in lists and maps
//! too. The type is there as a schema too, for what people write. It does not know which names and
//! labels are allowed.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::structural::Schema;
use super::wording::{self, quoted};
use crate::{Path, Segment};

/// A type of the API server.
enum Kind {
    Text(&'static str),
    Whole,
    Flag,
    Time,
    /// A map with text for values.
    Texts,
    List(&'static str, &'static Self),
    Struct(&'static str, &'static [(&'static str, Self, Keep)]),
    /// JSON that is not looked into.
    Any,
}

/// When a field is written out.
enum Keep {
    Always,
    /// Unless it is empty or 0.
    Filled,
    /// Unless it was not there.
    Said,
}

use Keep::{Always, Filled, Said};
use Kind::{Any, Flag, List, Struct, Text, Texts, Time, Whole};

const STRING: Kind = Text("string");
const UID: Kind = Text("types.UID");

static OBJECT_META: Kind = Struct(
    "ObjectMeta",
    &[
        ("annotations", Texts, Filled),
        ("creationTimestamp", Time, Said),
        ("deletionGracePeriodSeconds", Whole, Said),
        ("deletionTimestamp", Time, Said),
        ("finalizers", List("[]string", &STRING), Filled),
        ("generateName", STRING, Filled),
        ("generation", Whole, Filled),
        ("labels", Texts, Filled),
        (
            "managedFields",
            List("[]v1.ManagedFieldsEntry", &MANAGED_FIELDS_ENTRY),
            Filled,
        ),
        ("name", STRING, Filled),
        ("namespace", STRING, Filled),
        (
            "ownerReferences",
            List("[]v1.OwnerReference", &OWNER_REFERENCE),
            Filled,
        ),
        ("resourceVersion", STRING, Filled),
        ("selfLink", STRING, Filled),
        ("uid", UID, Filled),
    ],
);
static OWNER_REFERENCE: Kind = Struct(
    "OwnerReference",
    &[
        ("apiVersion", STRING, Always),
        ("blockOwnerDeletion", Flag, Said),
        ("controller", Flag, Said),
        ("kind", STRING, Always),
        ("name", STRING, Always),
        ("uid", UID, Always),
    ],
);
static MANAGED_FIELDS_ENTRY: Kind = Struct(
    "ManagedFieldsEntry",
    &[
        ("apiVersion", STRING, Filled),
        ("fieldsType", STRING, Filled),
        ("fieldsV1", Any, Said),
        ("manager", STRING, Filled),
        ("operation", Text("v1.ManagedFieldsOperationType"), Filled),
        ("subresource", STRING, Filled),
        ("time", Time, Said),
    ],
);

/// `metadata` as its type holds it, and where it had unknown fields, seen from the metadata.
///
/// # Errors
/// Names the first value of a wrong type, in the API server's words.
pub fn object_meta(metadata: &Value) -> Result<(Value, Vec<Path>), String> {
    let mut reading = Reading::default();
    let known = reading.read(&OBJECT_META, metadata);
    match reading.fault {
        Some(fault) => Err(fault),
        None => Ok((known.unwrap_or_else(|| Map::new().into()), reading.unknown)),
    }
}

/// The type as a schema: every field may be null, which is as good as empty.
pub static OBJECT_META_SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::from_json(&schema(&OBJECT_META)).expect("a schema of ours is one"));

fn schema(kind: &Kind) -> Value {
    let mut schema = match kind {
        Text(_) => json!({"type": "string"}),
        Whole => json!({"type": "integer"}),
        Flag => json!({"type": "boolean"}),
        Time => json!({"type": "string", "format": "date-time"}),
        Texts => json!({"type": "object", "additionalProperties": schema(&STRING)}),
        List(_, item) => json!({"type": "array", "items": schema(item)}),
        Struct(_, fields) => {
            let fields = fields.iter().map(|(name, kind, _)| (*name, schema(kind)));
            json!({"type": "object", "properties": fields.collect::<Value>()})
        }
        Any => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    };
    schema["nullable"] = true.into();
    schema
}

#[derive(Default)]
struct Reading {
    at: Vec<Segment>,
    /// The type of the struct that is being read.
    within: &'static str,
    unknown: Vec<Path>,
    fault: Option<String>,
}

impl Reading {
    /// The value as `kind` holds it; none for null and for what does not fit.
    fn read(&mut self, kind: &'static Kind, value: &Value) -> Option<Value> {
        match (kind, value) {
            (_, Value::Null) => None,
            (Text(_), Value::String(_)) | (Flag, Value::Bool(_)) | (Any, _) => Some(value.clone()),
            (Whole, Value::Number(number)) if number.is_i64() => Some(value.clone()),
            (Time, Value::String(text)) => self.time(text),
            (Texts, Value::Object(fields)) => {
                let entries = fields.iter().map(|(key, value)| {
                    let read = self.read(&STRING, value);
                    (key.clone(), read.unwrap_or_else(|| "".into()))
                });
                Some(entries.collect())
            }
            (List(_, item), Value::Array(items)) => Some(self.items(item, items)),
            (Struct(name, known), Value::Object(fields)) => {
                let outside = std::mem::replace(&mut self.within, name);
                let read = self.fields(known, fields);
                self.within = outside;
                Some(read)
            }
            _ => {
                self.misfit(kind, value);
                None
            }
        }
    }

    fn fields(
        &mut self,
        known: &'static [(&'static str, Kind, Keep)],
        fields: &Map<String, Value>,
    ) -> Value {
        let mut read = Map::new();
        for (name, value) in fields {
            self.at.push(Segment::Key(name.clone()));
            match known.iter().find(|(known, ..)| known == name) {
                Some((_, kind, keep)) => {
                    let value = self.read(kind, value);
                    let value = value.filter(|value| !matches!(keep, Filled) || !is_empty(value));
                    read.extend(value.map(|value| (name.clone(), value)));
                }
                None => self.unknown.push(Path(self.at.clone())),
            }
            self.at.pop();
        }
        for (name, ..) in known.iter().filter(|(.., keep)| matches!(keep, Always)) {
            read.entry(*name).or_insert_with(|| "".into());
        }
        read.into()
    }

    fn items(&mut self, kind: &'static Kind, items: &[Value]) -> Value {
        let mut read = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.at.push(Segment::Index(index));
            let nothing = match (kind, item) {
                (Struct(_, known), _) => self.fields(known, &Map::new()),
                _ => "".into(),
            };
            read.push(self.read(kind, item).unwrap_or(nothing));
            self.at.pop();
        }
        read.into()
    }

    fn time(&mut self, text: &str) -> Option<Value> {
        match text.parse::<jiff::Timestamp>() {
            Ok(time) => Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()),
            Err(_) => {
                let text = quoted(text);
                let layout = "\"2006-01-02T15:04:05Z07:00\"";
                self.fail(format!(
                    "parsing time {text} as {layout}: cannot parse {text} as \"2006\""
                ));
                None
            }
        }
    }

    fn misfit(&mut self, kind: &Kind, value: &Value) {
        let found = match value {
            Value::Null => "null".into(),
            Value::Bool(_) => "bool".into(),
            Value::Number(number) if matches!(kind, Whole) => {
                format!("number {}", wording::value(&number.clone().into()))
            }
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".into(),
            Value::Array(_) => "array".into(),
            Value::Object(_) => "object".into(),
        };
        let keys = self.at.iter().filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        });
        let place = keys.collect::<Vec<_>>().join(".");
        let into = match kind {
            Time => "value of type string".to_owned(),
            _ if self.within.is_empty() => "value of type v1.ObjectMeta".to_owned(),
            Text(name) | List(name, _) => self.field(&place, name),
            Texts => self.field(&place, "map[string]string"),
            Whole => self.field(&place, "int64"),
            Flag => self.field(&place, "bool"),
            Struct(name, _) => self.field(&place, &format!("v1.{name}")),
            Any => return,
        };
        self.fail(format!("json: cannot unmarshal {found} into Go {into}"));
    }

    fn field(&self, place: &str, kind: &str) -> String {
        format!("struct field {}.{place} of type {kind}", self.within)
    }

    fn fail(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Null | Value::Bool(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_empty_or_unknown_is_left_out() {
        let metadata = json!({
            "name": "a", "namespace": "", "generation": 0, "deletionGracePeriodSeconds": 0,
            "labels": {"a": null}, "annotations": {}, "finalizers": [null], "colour": "red",
            "creationTimestamp": null, "deletionTimestamp": "2024-01-01T01:00:00.5+01:00",
            "ownerReferences": [null, {"uid": "u", "controller": false, "extra": 1}],
            "managedFields": [{}, {"manager": "m", "fieldsV1": {"f:a": {}}, "time": null}],
        });
        let owner = |uid: &str| json!({"apiVersion": "", "kind": "", "name": "", "uid": uid});
        let mut second = owner("u");
        second["controller"] = json!(false);
        let (known, unknown) = object_meta(&metadata).unwrap_or_default();
        assert_eq!(
            known,
            json!({
                "name": "a", "deletionGracePeriodSeconds": 0,
                "labels": {"a": ""}, "finalizers": [""], "deletionTimestamp": "2024-01-01T00:00:00Z",
                "ownerReferences": [owner(""), second],
                "managedFields": [{}, {"manager": "m", "fieldsV1": {"f:a": {}}}],
            })
        );
        let unknown: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        assert_eq!(unknown, ["colour", "ownerReferences[1].extra"]);
        assert_eq!(
            object_meta(&Value::Null).map(|(known, _)| known),
            Ok(json!({}))
        );
    }

    #[test]
    fn the_first_value_of_a_wrong_type_is_told() {
        let refusal = |metadata: Value| object_meta(&metadata).expect_err("it is refused");
        for (metadata, expected) in [
            (json!([]), "array into Go value of type v1.ObjectMeta"),
            (
                json!({"labels": {"a": 1}, "name": 1}),
                "number into Go struct field ObjectMeta.labels of type string",
            ),
            (
                json!({"annotations": []}),
                "array into Go struct field ObjectMeta.annotations of type map[string]string",
            ),
            (
                json!({"ownerReferences": [{"uid": true}]}),
                "bool into Go struct field OwnerReference.ownerReferences.uid of type types.UID",
            ),
            (
                json!({"generation": 1.5}),
                "number 1.5 into Go struct field ObjectMeta.generation of type int64",
            ),
        ] {
            assert_eq!(
                refusal(metadata),
                format!("json: cannot unmarshal {expected}")
            );
        }
        assert_eq!(
            refusal(json!({"creationTimestamp": "soon"})),
            "parsing time \"soon\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"soon\" as \"2006\""
        );
    }
}
