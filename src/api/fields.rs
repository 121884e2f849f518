//! Schemas of other systems' kinds, from lists of their fields.
//!
//! In: types with fields, `network.podCidr labels[].key tags{}`: `[]` is a list, `{}` a map. Out: the JSON
//! schema. It does not know which values are allowed.

use serde_json::{Value as Json, json};

/// The schema of a map with these fields: each line has the type and its fields, separated by blanks. The
/// types are those of JSON schemas, `reference` for a reference of Azure Service Operator's, and `open` for a
/// map with any content.
#[must_use]
pub fn schema<'a>(lines: impl IntoIterator<Item = (&'a str, &'a str)>) -> Json {
    let mut schema = json!({"type": "object"});
    for (of, fields) in lines {
        for field in fields.split_whitespace() {
            let path: Vec<&str> = field.split('.').collect();
            put(&mut schema, &path, leaf(of));
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
        "open" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        of => json!({"type": of}),
    }
}

/// Inserts the schema of a field into that of its map.
fn put(map: &mut Json, path: &[&str], leaf: Json) {
    let Some((field, rest)) = path.split_first() else {
        *map = leaf;
        return;
    };
    map["type"] = "object".into();
    let name = field.trim_end_matches("[]").trim_end_matches("{}");
    let slot = &mut map["properties"][name];
    let inner = match field {
        _ if field.ends_with("[]") => {
            slot["type"] = "array".into();
            &mut slot["items"]
        }
        _ if field.ends_with("{}") => {
            slot["type"] = "object".into();
            &mut slot["additionalProperties"]
        }
        _ => slot,
    };
    put(inner, rest, leaf);
}
