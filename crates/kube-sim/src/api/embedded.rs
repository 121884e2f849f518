//! Whole objects within custom objects (`x-kubernetes-embedded-resource`) on their way in.
//!
//! In: a schema and an object. Out: the object whose embedded metadata is as its type holds it, and the
//! names and labels in it that are wrong. The rest is validated by the schema elsewhere.

use serde_json::Value;

use super::metadata;
use super::status::Cause;
use kube_schema::{Additional, Schema, object_meta};
use kube_schema::{Path, Segment};

/// Whether there is a place for embedded objects in what `schema` describes.
pub(super) fn has_place(schema: &Schema) -> bool {
    let additional = match &schema.additional {
        Additional::Schema(schema) => Some(&**schema),
        Additional::Any(_) | Additional::Unsaid => None,
    };
    let below = schema.properties.values().chain(schema.items.as_deref());
    schema.embedded_resource || below.chain(additional).any(has_place)
}

/// Passes the metadata of every embedded object through its type. Says where it had unknown fields.
///
/// # Errors
/// Names the first value of a wrong type.
pub(super) fn coerce(schema: &Schema, object: &mut Value) -> Result<Vec<Path>, String> {
    let mut unknown = Vec::new();
    for at in places(schema, object) {
        let Some(embedded) = object.pointer_mut(&pointer(&at)) else {
            continue;
        };
        for key in ["apiVersion", "kind"] {
            if let Some(value) = embedded.get(key).filter(|value| !value.is_string()) {
                let at = at.key(key);
                return Err(format!("{at}: Invalid value: {value}: must be a string"));
            }
        }
        if let Some(metadata) = embedded.get_mut("metadata") {
            let at = at.key("metadata");
            let read = object_meta(metadata);
            let (known, lost) =
                read.map_err(|why| format!("{at}: Invalid value: {metadata}: {why}"))?;
            *metadata = known;
            let below = |path: Path| Path(at.0.iter().cloned().chain(path.0).collect());
            unknown.extend(lost.into_iter().map(below));
        }
    }
    Ok(unknown)
}

/// What is wrong with the metadata of embedded objects.
pub(super) fn check(schema: &Schema, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for at in places(schema, object) {
        let embedded = object
            .pointer(&pointer(&at))
            .filter(|e| e["metadata"].is_object());
        for cause in embedded.map(metadata::check_embedded).unwrap_or_default() {
            let field = format!("{at}.{}", cause.field);
            causes.push(Cause { field, ..cause });
        }
    }
    causes
}

/// Where the embedded objects are, outer ones first.
fn places(schema: &Schema, object: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    visit(schema, object, &Path::default(), &mut found);
    found
}

fn visit(schema: &Schema, value: &Value, at: &Path, found: &mut Vec<Path>) {
    if schema.embedded_resource && value.is_object() {
        found.push(at.clone());
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema.field(name) {
                    visit(schema, value, &at.key(name.as_str()), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                if let Some(schema) = &schema.items {
                    visit(schema, value, &at.index(index), found);
                }
            }
        }
        _ => {}
    }
}

/// The JSON pointer for a path.
fn pointer(path: &Path) -> String {
    let step = |segment: &Segment| match segment {
        Segment::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        Segment::Index(index) => format!("/{index}"),
    };
    path.0.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        let inner = json!({
            "type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
        });
        let map =
            json!({"type": "object", "additionalProperties": {"type": "array", "items": inner}});
        Schema::from_json(&json!({"type": "object", "properties": {"map": map}})).unwrap()
    }

    fn object(metadata: &Value) -> Value {
        let inner = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
        json!({"map": {"a/b": [inner]}})
    }

    #[test]
    fn embedded_metadata_loses_what_its_type_does_not_know() {
        assert!(has_place(&schema()));
        let mut found = object(&json!({"name": "a", "colour": "red", "creationTimestamp": null}));
        let unknown = coerce(&schema(), &mut found).unwrap();
        assert_eq!(unknown[0].to_string(), "map[a/b][0].metadata.colour");
        assert_eq!(found, object(&json!({"name": "a"})));
        let refused = coerce(&schema(), &mut object(&json!({"name": 5})));
        assert!(refused.unwrap_err().starts_with(
            "map[a/b][0].metadata: Invalid value: {\"name\":5}: json: cannot unmarshal number"
        ));
    }

    #[test]
    fn embedded_metadata_is_checked() {
        assert!(check(&schema(), &object(&json!({"name": "A B"}))).is_empty());
        let causes = check(&schema(), &object(&json!({"labels": {"a b": ""}})));
        assert_eq!(causes[0].field, "map[a/b][0].metadata.labels");
    }
}
