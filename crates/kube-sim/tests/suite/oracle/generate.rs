//! Schemas that a CRD may have, and values that nearly fit them: one seed, one schema.
//!
//! Numbers, lengths and names are few and small, so that values meet limits.

use serde_json::{Map, Value as Json, json};

use crate::random::Random;

/// What both syntaxes of patterns share.
const PATTERNS: &[&str] = &[
    "^a",
    "b$",
    "^[a-c]+$",
    "^(a|b0)*$",
    "a?b",
    "^.{2,3}$",
    "[0-9]{2}",
    "^[^a]*$",
    "é",
    "^$|^a",
    "a.*b",
];
const LETTERS: &[char] = &['a', 'b', 'c', '0', '1', 'é'];
const NAMES: &[&str] = &["a", "b", "c", "d"];
/// No schema knows it.
const UNKNOWN: &str = "x";

/// How deep schemas nest.
const DEPTH: usize = 3;

/// How often a value that fits is looked for.
const TRIES: usize = 20;

#[derive(Clone, Copy)]
enum Kind {
    Object,
    Map,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    IntOrString,
}

/// The schema of a whole object.
pub(super) fn root(random: &mut Random) -> Json {
    of_kind(random, Kind::Object, DEPTH)
}

fn schema(random: &mut Random, depth: usize) -> Json {
    let kinds = [
        (2, Kind::Object),
        (2, Kind::Map),
        (3, Kind::Array),
        (4, Kind::String),
        (3, Kind::Integer),
        (2, Kind::Number),
        (1, Kind::Boolean),
        (1, Kind::IntOrString),
    ];
    let shallow = &kinds[3..];
    let kind = *random.weighed(if depth == 0 { shallow } else { &kinds });
    of_kind(random, kind, depth)
}

fn of_kind(random: &mut Random, kind: Kind, depth: usize) -> Json {
    let mut made = match kind {
        Kind::Object => {
            let names = &NAMES[..1 + random.below(NAMES.len())];
            let below = names.iter().map(|name| (*name, schema(random, depth - 1)));
            let properties: Map<_, _> = below.map(|(name, below)| (name.into(), below)).collect();
            json!({"type": "object", "properties": properties})
        }
        Kind::Map => json!({"type": "object", "additionalProperties": schema(random, depth - 1)}),
        Kind::Array => json!({"type": "array", "items": schema(random, depth - 1)}),
        Kind::String => json!({"type": "string"}),
        Kind::Integer => json!({"type": "integer"}),
        Kind::Number => json!({"type": "number"}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::IntOrString => json!({"x-kubernetes-int-or-string": true}),
    };
    if matches!(kind, Kind::Object) && random.chance(10) {
        made["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    if random.chance(15) && depth < DEPTH {
        made["nullable"] = json!(true);
    }
    let shape = made.clone();
    let fields = made.as_object_mut().expect("a map");
    limits(random, &shape, fields);
    combine(random, &shape, fields, 2);
    made
}

/// Adds some of the keywords that say something of values of this shape.
fn limits(random: &mut Random, shape: &Json, to: &mut Map<String, Json>) {
    match kind(shape) {
        Kind::Object | Kind::Map => {
            counts(random, "Properties", to);
            let known = |name: &&str| {
                shape["properties"].is_null() || shape["properties"].get(name).is_some()
            };
            let names = NAMES.iter().copied().filter(known);
            let names: Vec<&str> = names.filter(|_| random.chance(20)).collect();
            if !names.is_empty() {
                to.insert("required".into(), json!(names));
            }
        }
        Kind::Array => counts(random, "Items", to),
        Kind::String => texts(random, to),
        Kind::Integer | Kind::Number => numbers(random, to),
        Kind::IntOrString => {
            texts(random, to);
            numbers(random, to);
        }
        Kind::Boolean => {}
    }
    if random.chance(10) {
        let mut values: Vec<Json> = (0..1 + random.below(4))
            .map(|_| fitting(random, shape))
            .collect();
        values.dedup();
        to.insert("enum".into(), json!(values));
    }
}

/// The least and the most of what is counted.
fn counts(random: &mut Random, what: &str, to: &mut Map<String, Json>) {
    if random.chance(15) {
        to.insert(format!("min{what}"), json!(random.below(3)));
    }
    if random.chance(15) {
        to.insert(format!("max{what}"), json!(1 + random.below(4)));
    }
}

fn texts(random: &mut Random, to: &mut Map<String, Json>) {
    counts(random, "Length", to);
    if random.chance(20) {
        to.insert("pattern".into(), json!(random.pick(PATTERNS)));
    }
}

fn numbers(random: &mut Random, to: &mut Map<String, Json>) {
    for (bound, exclusive, lowest) in [
        ("minimum", "exclusiveMinimum", -2),
        ("maximum", "exclusiveMaximum", 2),
    ] {
        if random.chance(25) {
            to.insert(bound.into(), json!(lowest + random.below(5) as i64));
            if random.chance(30) {
                to.insert(exclusive.into(), json!(random.chance(80)));
            }
        }
    }
    if random.chance(15) {
        to.insert("multipleOf".into(), json!(1 + random.below(3)));
    }
}

/// Adds `allOf` and the like, with the keywords allowed there: none that describe the shape.
fn combine(random: &mut Random, shape: &Json, to: &mut Map<String, Json>, depth: usize) {
    if depth == 0 || !random.chance(25) {
        return;
    }
    match *random.pick(&["allOf", "anyOf", "oneOf", "not"]) {
        "not" => drop(to.insert("not".into(), arm(random, shape, depth - 1))),
        several => {
            let arms: Vec<Json> = (0..1 + random.below(3))
                .map(|_| arm(random, shape, depth - 1))
                .collect();
            to.insert(several.into(), json!(arms));
        }
    }
}

fn arm(random: &mut Random, shape: &Json, depth: usize) -> Json {
    let mut made = Map::new();
    limits(random, shape, &mut made);
    if let Some(properties) = shape["properties"].as_object() {
        let chosen: Vec<_> = properties.iter().filter(|_| random.chance(50)).collect();
        let arms: Map<_, _> = chosen
            .into_iter()
            .map(|(name, below)| (name.clone(), arm(random, below, depth)))
            .collect();
        made.insert("properties".into(), Json::Object(arms));
    }
    if shape["items"].is_object() && random.chance(50) {
        made.insert("items".into(), arm(random, &shape["items"], depth));
    }
    combine(random, shape, &mut made, depth);
    Json::Object(made)
}

fn kind(schema: &Json) -> Kind {
    match schema["type"].as_str() {
        Some("object") if schema["additionalProperties"].is_object() => Kind::Map,
        Some("object") => Kind::Object,
        Some("array") => Kind::Array,
        Some("string") => Kind::String,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        _ => Kind::IntOrString,
    }
}

/// A value that fits the schema, if one is soon found, and half the time spoilt a little: the line between
/// what fits and what does not is where opinions part.
pub(super) fn value(random: &mut Random, schema: &Json, fits: impl Fn(&Json) -> bool) -> Json {
    let mut made = fitting(random, schema);
    for _ in 0..TRIES {
        if fits(&made) {
            break;
        }
        made = fitting(random, schema);
    }
    if random.chance(50) {
        spoil(random, &mut made);
    }
    made
}

/// A value of the schema's types. Limits are met at random.
fn fitting(random: &mut Random, schema: &Json) -> Json {
    if schema["nullable"] == true && random.chance(20) {
        return Json::Null;
    }
    if let Some(values) = schema["enum"].as_array().filter(|_| random.chance(80)) {
        return random.pick(values).clone();
    }
    match kind(schema) {
        Kind::Object => {
            let properties = schema["properties"].as_object().expect("it has some");
            let required = schema["required"].as_array();
            let is_required =
                |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
            let mut made = Map::new();
            for (name, below) in properties {
                if random.chance(if is_required(name) { 97 } else { 60 }) {
                    made.insert(name.clone(), fitting(random, below));
                }
            }
            Json::Object(made)
        }
        Kind::Map => {
            let names: Vec<&&str> = NAMES.iter().filter(|_| random.chance(40)).collect();
            let below = &schema["additionalProperties"];
            names
                .into_iter()
                .map(|name| ((*name).to_owned(), fitting(random, below)))
                .collect()
        }
        Kind::Array => {
            let count = random.below(4);
            (0..count)
                .map(|_| fitting(random, &schema["items"]))
                .collect()
        }
        Kind::Integer => integer(random),
        Kind::Number if random.chance(30) => json!(random.below(20) as f64 / 2.0 - 3.0),
        Kind::Number => integer(random),
        Kind::Boolean => json!(random.chance(50)),
        Kind::String => text(random),
        Kind::IntOrString if random.chance(50) => integer(random),
        Kind::IntOrString => text(random),
    }
}

fn integer(random: &mut Random) -> Json {
    json!(random.below(12) as i64 - 3)
}

fn text(random: &mut Random) -> Json {
    let count = random.below(5);
    let text: String = (0..count).map(|_| *random.pick(LETTERS)).collect();
    json!(text)
}

/// Changes something somewhere in `value`.
fn spoil(random: &mut Random, value: &mut Json) {
    let deeper = random.chance(75);
    match value {
        Json::Object(fields) if deeper && !fields.is_empty() => {
            let at = random.below(fields.len());
            spoil(random, fields.values_mut().nth(at).expect("it is within"));
        }
        Json::Array(items) if deeper && !items.is_empty() => {
            let at = random.below(items.len());
            spoil(random, &mut items[at]);
        }
        _ if random.chance(20) => *value = anything(random),
        Json::Object(fields) => match fields.keys().next().cloned() {
            Some(name) if random.chance(50) => drop(fields.remove(&name)),
            _ => drop(fields.insert(
                random.pick(&["a", "b", UNKNOWN]).to_string(),
                integer(random),
            )),
        },
        Json::Array(items) => match random.chance(50) {
            true => drop(items.pop()),
            false => items.push(items.first().cloned().unwrap_or_default()),
        },
        Json::String(text) => match random.chance(50) {
            true => drop(text.pop()),
            false => text.push(*random.pick(LETTERS)),
        },
        Json::Number(number) => {
            let by = *random.pick(&[-1.0, -0.5, 1.0, 1.0]);
            let moved = number.as_f64().expect("a small number") + by;
            // As a whole number, and as a float that is one.
            *value = match moved.fract() == 0.0 && random.chance(80) {
                true => json!(moved as i64),
                false => json!(moved),
            };
        }
        Json::Bool(_) | Json::Null => *value = anything(random),
    }
}

fn anything(random: &mut Random) -> Json {
    match random.below(7) {
        0 => Json::Null,
        1 => json!(random.chance(50)),
        2 => integer(random),
        3 => text(random),
        4 => json!([]),
        5 => json!({}),
        _ => json!({"a": integer(random), "b": [text(random)]}),
    }
}
