//! A CRD's schema in the words of JSON Schema (draft 7).
//!
//! Only what differs is translated: bounds that are exclusive by a flag, `nullable`, a number or a
//! string in one, and unknown fields.

use kube_schema::Unknown;
use serde_json::{Map, Value as Json, json};

/// Translates the schema of a value.
pub(super) fn schema(json: &Json, unknown: Unknown) -> Json {
    part(json, unknown == Unknown::Reject)
}

/// Translates one schema; `closed` forbids unknown fields.
fn part(json: &Json, closed: bool) -> Json {
    let Some(fields) = json.as_object() else {
        return json.clone();
    };
    let flag = |name: &str| fields.get(name) == Some(&json!(true));
    let open = flag("x-kubernetes-preserve-unknown-fields");
    let mut out = Map::new();
    for (key, keyword) in fields {
        let keyword = match key.as_str() {
            "nullable" | "exclusiveMinimum" | "exclusiveMaximum" => continue,
            "properties" => {
                let properties = keyword.as_object().expect("a map").iter();
                properties
                    .map(|(name, below)| (name.clone(), part(below, closed)))
                    .collect()
            }
            "items" | "additionalProperties" => part(keyword, closed),
            // Fields mentioned in there do not become known, nor others unknown.
            "allOf" | "anyOf" | "oneOf" => {
                let arms = keyword.as_array().expect("a list").iter();
                arms.map(|arm| part(arm, false)).collect()
            }
            "not" => part(keyword, false),
            "enum" => {
                let values = keyword.as_array().expect("a list").iter();
                values.filter(|value| !value.is_null()).cloned().collect()
            }
            _ => keyword.clone(),
        };
        out.insert(key.clone(), keyword);
    }
    for (bound, exclusive) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        if flag(exclusive)
            && let Some(limit) = out.remove(bound)
        {
            out.insert(exclusive.into(), limit);
        }
    }
    if flag("x-kubernetes-int-or-string") {
        out.insert("type".into(), json!(["integer", "string"]));
    }
    let is_map = fields.get("type") == Some(&json!("object"));
    if closed && is_map && !open && !fields.contains_key("additionalProperties") {
        out.insert("additionalProperties".into(), json!(false));
    }
    match takes_null(fields) {
        true => json!({"anyOf": [{"type": "null"}, out]}),
        false => Json::Object(out),
    }
}

/// Null is looked at by nothing but `nullable` and `enum`, of whose values it never is one. Where no type is given, within `anyOf` and the
/// like, it is no fault.
fn takes_null(fields: &Map<String, Json>) -> bool {
    let flag = |name: &str| fields.get(name) == Some(&json!(true));
    let typed = fields.contains_key("type") || flag("x-kubernetes-int-or-string");
    (flag("nullable") || !typed) && !fields.contains_key("enum")
}
