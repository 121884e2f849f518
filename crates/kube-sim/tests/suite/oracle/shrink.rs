//! Makes a schema and a value as small as they can be made by leaving things out.

use serde_json::Value as Json;

/// A part of `case` that still `differs`, and from which nothing more can be left out.
pub(super) fn shrink(
    mut case: (Json, Json),
    differs: impl Fn(&(Json, Json)) -> bool,
) -> (Json, Json) {
    loop {
        let (schema, value) = &case;
        let schemas = smaller(schema).map(|less| (less, value.clone()));
        let values = smaller(value).map(|less| (schema.clone(), less));
        let less = schemas.chain(values).find(|less| differs(less));
        let Some(less) = less else {
            return case;
        };
        case = less;
    }
}

/// `value` with one thing less. Types stay: a schema without one is another matter.
fn smaller(value: &Json) -> Box<dyn Iterator<Item = Json> + '_> {
    match value {
        Json::Object(fields) => {
            let without = fields.keys().filter(|key| *key != "type").map(|key| {
                let mut fields = fields.clone();
                fields.remove(key);
                Json::Object(fields)
            });
            let less = fields.iter().flat_map(move |(key, below)| {
                smaller(below).map(move |below| {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), below);
                    Json::Object(fields)
                })
            });
            Box::new(without.chain(less))
        }
        // A list of no schemas and an enum of nothing are none.
        Json::Array(items) => {
            let kept = if items.len() > 1 { items.len() } else { 0 };
            let without = (0..kept).map(|at| {
                let mut items = items.clone();
                items.remove(at);
                Json::Array(items)
            });
            let less = items.iter().enumerate().flat_map(move |(at, below)| {
                smaller(below).map(move |below| {
                    let mut items = items.clone();
                    items[at] = below;
                    Json::Array(items)
                })
            });
            Box::new(without.chain(less))
        }
        _ => Box::new(std::iter::empty()),
    }
}

#[test]
fn what_does_not_matter_is_left_out() {
    use serde_json::json;

    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}});
    let value = json!({"a": "text", "b": [1, {"c": 2}]});
    let small = shrink((schema, value), |(schema, value)| {
        schema["properties"]["a"]["maxLength"] == 3 && value["b"][0] == 1
    });
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}});
    assert_eq!(small, (schema, json!({"b": [1]})));
}
