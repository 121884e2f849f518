//! Fields that a schema does not know: telling and dropping them.
//!
//! In: a schema and a whole object. Out: where its unknown fields are, or the object without them, as
//! the API server prunes. `apiVersion`, `kind` and `metadata` of the object and of embedded resources
//! stay, whatever the schema contains. It does not know types: a map where a string should be is
//! pruned of everything in it.

use serde_json::Value;

use crate::{Path, Segment};

use super::at::At;
use super::nearest::nearest;
use super::structural::{Additional, Schema};
use super::violation::{Violation, ViolationKind};

/// The fields of every object that no schema needs to name.
pub const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops the unknown fields of `object`. Says where they were.
pub fn prune(schema: &Schema, object: &mut Value) -> Vec<Path> {
    let mut paths = Vec::new();
    visit(Place::root(schema), object, &At::ROOT, &mut |at, _, _| {
        paths.push(at.path());
    });
    for path in &paths {
        remove(object, &path.0);
    }
    paths
}

fn remove(value: &mut Value, path: &[Segment]) {
    match (path, value) {
        ([Segment::Key(name)], Value::Object(fields)) => {
            fields.remove(name);
        }
        ([Segment::Key(name), rest @ ..], Value::Object(fields)) => {
            if let Some(value) = fields.get_mut(name) {
                remove(value, rest);
            }
        }
        ([Segment::Index(index), rest @ ..], Value::Array(items)) => {
            if let Some(value) = items.get_mut(*index) {
                remove(value, rest);
            }
        }
        _ => {}
    }
}

/// The unknown fields of `object` as violations, each with the most similar known field.
pub fn unknown_fields(schema: &Schema, object: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    visit(
        Place::root(schema),
        object,
        &At::ROOT,
        &mut |at, above, name| {
            let nearest = guess(above, name);
            let kind = ViolationKind::UnknownField { nearest };
            found.push(Violation::new(at, kind, "unknown field"));
        },
    );
    found
}

/// Whether `value`, a part of an object, has fields that `schema` does not know.
pub fn has_unknown_fields(schema: &Schema, value: &Value) -> bool {
    let mut found = false;
    visit(Place::of(schema), value, &At::ROOT, &mut |_, _, _| {
        found = true;
    });
    found
}

/// What is known of a place. Without a schema nothing is.
#[derive(Clone, Copy)]
struct Place<'a> {
    schema: Option<&'a Schema>,
    is_object: bool,
    keeps: bool,
}

impl<'a> Place<'a> {
    fn root(schema: &'a Schema) -> Self {
        Self {
            is_object: true,
            ..Self::of(schema)
        }
    }

    fn of(schema: &'a Schema) -> Self {
        Self {
            schema: Some(schema),
            is_object: schema.embedded_resource,
            keeps: schema.preserve_unknown,
        }
    }

    const fn unknown() -> Self {
        Self {
            schema: None,
            is_object: false,
            keeps: false,
        }
    }

    /// What is known of the field `name`; nothing when it is an unknown field.
    fn field(self, name: &str) -> Option<Self> {
        let schema = self.schema?;
        match (schema.properties.get(name), &schema.additional) {
            (Some(named), _) => Some(Self::of(named)),
            (None, Additional::Schema(other)) => Some(Self::of(other)),
            // What lies below such a field is unknown all the same.
            (None, Additional::Any(_)) => Some(Self::unknown()),
            (None, Additional::Unsaid) => None,
        }
    }

    /// Items of a list that keeps what it does not know keep it too.
    fn item(self) -> Option<Self> {
        let items = self.schema.and_then(|schema| schema.items.as_deref());
        match (items, self.keeps) {
            (Some(items), keeps) => {
                let place = Self::of(items);
                Some(Self {
                    keeps: place.keeps || keeps,
                    ..place
                })
            }
            (None, true) => None,
            (None, false) => Some(Self::unknown()),
        }
    }
}

/// Calls `see` for every unknown field: where it is, the schema of the map it is in, its name.
fn visit(
    place: Place<'_>,
    value: &Value,
    at: &At<'_>,
    see: &mut impl FnMut(&At<'_>, Option<&Schema>, &str),
) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if place.is_object && OBJECT_FIELDS.contains(&name.as_str()) {
                    continue;
                }
                let at = at.key(name);
                match place.field(name) {
                    Some(known) => visit(known, value, &at, see),
                    None if place.keeps => {}
                    None => see(&at, place.schema, name),
                }
            }
        }
        Value::Array(items) => {
            let Some(place) = place.item() else { return };
            for (index, item) in items.iter().enumerate() {
                visit(place, item, &at.index(index), see);
            }
        }
        _ => {}
    }
}

fn guess(schema: Option<&Schema>, name: &str) -> Option<String> {
    let known = schema?.properties.keys().map(String::as_str);
    nearest(name, known).map(Into::into)
}
