//! Schemas of other systems' kinds, from lists of their fields.
//!
//! In: types with fields, `network.podCidr labels[].key tags{}`: `[]` is a list, `{}` a map. Out: the JSON
//! schema. It does not know which values are allowed.

use serde_json::{Value as Json, json};

/// The schema of a map with these fields: each line has the type and its fields, separated by blanks. The
/// types are those of JSON schemas, `A|B` for a text that is one of these, `reference` for a reference of Azure
/// Service Operator's, `key` for a key of a ConfigMap or Secret, and `open` for a map with any content. `required`
/// marks fields that another line defines as required in their map.
#[must_use]
pub fn schema<'a>(lines: impl IntoIterator<Item = (&'a str, &'a str)>) -> Json {
    let mut schema = json!({"type": "object"});
    for (of, fields) in lines {
        for field in fields.split_whitespace() {
            let path: Vec<&str> = field.split('.').collect();
            match of {
                "required" => require(&mut schema, &path),
                of => put(&mut schema, &path, leaf(of)),
            }
        }
    }
    schema
}

fn leaf(of: &str) -> Json {
    let text = json!({"type": "string"});
    match of {
        "reference" => json!({
            "type": "object",
            "properties": {"armId": text, "group": text, "kind": text, "name": text},
        }),
        "key" => json!({
            "type": "object",
            "required": ["key", "name"],
            "properties": {"key": text, "name": text},
        }),
        "open" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        "boolean" | "integer" | "number" | "string" => json!({"type": of}),
        of => json!({"type": "string", "enum": of.split('|').collect::<Vec<_>>()}),
    }
}

/// Says of a field that its map must have it.
fn require(map: &mut Json, path: &[&str]) {
    let Some((field, rest)) = path.split_first() else {
        return;
    };
    if !rest.is_empty() {
        return require(inner(map, field), rest);
    }
    match &mut map["required"] {
        Json::Array(required) => required.push((*field).into()),
        none => *none = json!([field]),
    }
}

/// Inserts the schema of a field into that of its map.
fn put(map: &mut Json, path: &[&str], leaf: Json) {
    let Some((field, rest)) = path.split_first() else {
        *map = leaf;
        return;
    };
    map["type"] = "object".into();
    put(inner(map, field), rest, leaf);
}

/// The schema of a field of a map, or of the items of a list, or of the values of a map.
fn inner<'a>(map: &'a mut Json, field: &str) -> &'a mut Json {
    let name = field.trim_end_matches("[]").trim_end_matches("{}");
    let slot = &mut map["properties"][name];
    match field {
        _ if field.ends_with("[]") => {
            slot["type"] = "array".into();
            &mut slot["items"]
        }
        _ if field.ends_with("{}") => {
            slot["type"] = "object".into();
            &mut slot["additionalProperties"]
        }
        _ => slot,
    }
}
