//! Schemas of other systems' kinds, from lists of their fields.
//!
//! In: types with fields, `network.podCidr labels[].key tags{}`: `[]` is a list, `{}` a map. Out: the JSON
//! schema. It does not know what a field is for.

use serde_json::{Value as Json, json};

/// The schema of a map with these fields: each line has the type and its fields, separated by blanks.
///
/// The types are those of JSON schemas, `int32` and `int64` for integers of that size, `quantity` for an integer or a
/// text, `A|B` for a text that is one of these, `reference` for a reference of Azure Service Operator's, `key` for a key
/// of a ConfigMap or Secret, and `open` for a map with any content. `list`, `set` and `map` say more of fields whose parts
/// another line defines. After the type, `2..5`, `2..` or `..5` limits a number, the length of a text, or the number of
/// items or entries; a pattern begins with `^`.
///
/// `required` marks fields that another line defines as required in their map, and `defaulted` those that the API server
/// sets: there, `null` means that it does.
#[must_use]
pub fn schema<'a>(lines: impl IntoIterator<Item = (&'a str, &'a str)>) -> Json {
    let mut schema = json!({"type": "object"});
    for (of, fields) in lines {
        for field in fields.split_whitespace() {
            let path: Vec<&str> = field.split('.').collect();
            match of {
                "required" => require(&mut schema, &path),
                "defaulted" => put(&mut schema, &path, &json!({"nullable": true})),
                of => put(&mut schema, &path, &leaf(of)),
            }
        }
    }
    schema
}

/// The schema of a type with its limits.
fn leaf(of: &str) -> Json {
    let mut words = of.split_whitespace();
    let mut schema = of_type(words.next().unwrap_or_default());
    for word in words {
        match word.split_once("..").filter(|_| !word.starts_with('^')) {
            Some(bounds) => limit(&mut schema, bounds),
            None => schema["pattern"] = word.into(),
        }
    }
    schema
}

fn of_type(name: &str) -> Json {
    let text = json!({"type": "string"});
    match name {
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
        "quantity" => json!({"x-kubernetes-int-or-string": true}),
        "list" => json!({"type": "array"}),
        "set" => json!({"type": "array", "x-kubernetes-list-type": "set"}),
        "map" => json!({"type": "object"}),
        "int32" | "int64" => json!({"type": "integer", "format": name}),
        "boolean" | "integer" | "number" | "string" => json!({"type": name}),
        one_of => json!({"type": "string", "enum": one_of.split('|').collect::<Vec<_>>()}),
    }
}

/// Sets the limits of a type, as texts: an empty one is none.
fn limit(schema: &mut Json, (least, most): (&str, &str)) {
    let keywords = match schema["type"].as_str() {
        Some("array") => ["minItems", "maxItems"],
        Some("object") => ["minProperties", "maxProperties"],
        Some("string") => ["minLength", "maxLength"],
        _ => ["minimum", "maximum"],
    };
    for (keyword, bound) in keywords.into_iter().zip([least, most]) {
        if let Ok(bound) = bound.parse::<i64>() {
            schema[keyword] = bound.into();
        }
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

/// Adds the schema of a field to what is known of it in that of its map.
fn put(map: &mut Json, path: &[&str], leaf: &Json) {
    let Some((field, rest)) = path.split_first() else {
        for (keyword, value) in leaf.as_object().into_iter().flatten() {
            map[keyword] = value.clone();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_patterns_follow_the_type() {
        let lines = [
            ("string 1..63 ^[a-z]+$", "name"),
            ("int32 0..", "ports[]"),
            ("set ..2", "ports"),
            ("map 1..", "labels"),
            ("string", "labels{}"),
            ("quantity ^a..b$", "size"),
            ("defaulted", "size"),
            ("On|Off|", "mode"),
        ];
        let expected = json!({"type": "object", "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z]+$"},
            "ports": {
                "type": "array", "x-kubernetes-list-type": "set", "maxItems": 2,
                "items": {"type": "integer", "format": "int32", "minimum": 0},
            },
            "labels": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
            "size": {"x-kubernetes-int-or-string": true, "pattern": "^a..b$", "nullable": true},
            "mode": {"type": "string", "enum": ["On", "Off", ""]},
        }});
        assert_eq!(schema(lines), expected);
    }
}
