//! What each keyword of a schema refuses, and in which words.

use serde_json::{Value as Json, json};

use super::{behaviours, widget, with_spec};
use crate::session::{Ask, Session};

/// Tries to create a `Widget` of each spec, whose fields have these schemas.
async fn tried(s: &Session, fields: &Json, specs: &[Json]) {
    s.install(&widget(s, &with_spec(fields))).await;
    for spec in specs {
        s.note(&spec.to_string());
        let object = json!({
            "apiVersion": format!("{}/v1", s.group()), "kind": "Widget",
            "metadata": {"name": "a"}, "spec": spec,
        });
        let ask = Ask::new("POST", "widgets?dryRun=All").json(&object);
        if s.send(ask.clone().silent()).await.status == 201 {
            s.note("is taken");
            continue;
        }
        s.send(ask.sorted()).await;
    }
}

async fn a_combination_tells_which_part_came_closest(s: &Session) {
    let fields =
        json!({"a": {"type": "string"}, "b": {"type": "string"}, "n": {"type": "integer"}});
    let with = |key: &str, value: Json| {
        let mut schema = json!({"type": "object", "properties": fields});
        schema[key] = value;
        schema
    };
    let either = json!([{"required": ["a"]}, {"required": ["b"]}]);
    let arms = json!([
        {"required": ["a"], "properties": {"n": {"minimum": 5}}},
        {"required": ["b"], "properties": {"a": {"maxLength": 1}}},
    ]);
    let fields = json!({
        "any": with("anyOf", either.clone()),
        "one": with("oneOf", either.clone()),
        "all": with("allOf", either),
        "arms": with("oneOf", arms.clone()),
        "some": with("anyOf", arms),
        "not": with("not", json!({"required": ["a"]})),
        "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+%$", "maximum": 100},
        "size": {"type": "string", "allOf": [{"minLength": 2}, {"pattern": "^x"}]},
        "name": {"type": "string", "oneOf": [{"pattern": "^a"}, {"pattern": "z$"}, {"maxLength": 1}]},
    });
    tried(
        s,
        &fields,
        &[
            json!({"any": {}}),
            json!({"any": {"b": "x"}}),
            json!({"one": {}}),
            json!({"one": {"a": "x", "b": "y"}}),
            json!({"all": {}}),
            json!({"all": {"a": "x"}}),
            json!({"arms": {"a": "xx", "n": 1}}),
            json!({"arms": {"a": "xx", "b": "x", "n": 1}}),
            json!({"some": {"a": "xx", "n": 1}}),
            json!({"not": {"a": "x"}}),
            json!({"port": "5"}),
            json!({"port": 101}),
            json!({"port": true}),
            json!({"port": "5%"}),
            json!({"size": "a"}),
            json!({"size": "ab"}),
            json!({"name": "az"}),
            json!({"name": "bb"}),
            json!({"name": "ab"}),
        ],
    )
    .await;
}

/// Format, texts that have it, texts that do not.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const FORMATS: &[Row] = &[
    (
        "bsonobjectid",
        &["507f1f77bcf86cd799439011"],
        &["507f1f77", "507f1f77bcf86cd79943901g"],
    ),
    ("byte", &["YWJj", "YQ=="], &["YWJ", "a b", ""]),
    (
        "cidr",
        &["10.0.0.0/16", "fe80::/10"],
        &["10.0.0.0/33", "10.0.0.0", "a/8"],
    ),
    ("creditcard", &["4111-1111-1111-1111"], &[]),
    (
        "date",
        &["2024-02-29"],
        &["2023-02-29", "2024-2-1", "today"],
    ),
    (
        "date-time",
        &["2024-02-29T10:00:00Z"],
        &["2024-02-29T25:00:00Z", "now"],
    ),
    (
        "duration",
        &["1h30m", "22 ns", "3 days", "0"],
        &["soon", "5 parsecs"],
    ),
    (
        "email",
        &["a@example.com", "A <a@b>"],
        &["a.example.com", "@b"],
    ),
    ("hexcolor", &["#fff", "A0B0C0"], &["#ff", "red"]),
    (
        "hostname",
        &["a-b.example.com", "localhost"],
        &["-a.com", "a b", "a..b"],
    ),
    ("ipv4", &["10.0.0.1"], &["10.0.0.256", "10.0.0", "::1"]),
    (
        "ipv6",
        &["fe80::1", "::ffff:10.0.0.1"],
        &["fe80::1::2", "10.0.0.1"],
    ),
    ("isbn", &["0321751043", "978-0321751041"], &[]),
    ("isbn10", &["0321751043", "0-321-75104-3"], &[]),
    ("isbn13", &["978-0321751041"], &[]),
    (
        "mac",
        &["00:1a:2b:3c:4d:5e", "001a.2b3c.4d5e"],
        &["00:1a:2b:3c:4d", "xx"],
    ),
    ("password", &["anything"], &[]),
    (
        "rgbcolor",
        &["rgb(255,0,1)", "rgb( 1 , 2 , 3 )"],
        &["rgb(1,256,0)", "255,0,0"],
    ),
    ("ssn", &["111-22-3333", "111 22 3333"], &[]),
    (
        "uri",
        &["https://example.com/x", "/x", "urn:a:b"],
        &["example.com", "http://a b", ""],
    ),
    (
        "uuid",
        &[
            "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10",
            "3F0C7D3E52A44B6B9A512F1F0D9C7A10",
        ],
        &["3f0c7d3e"],
    ),
    (
        "uuid3",
        &["a987fbc9-4bed-3078-cf07-9141ba07c9f3"],
        &["3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10"],
    ),
    (
        "uuid4",
        &["3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10"],
        &["a987fbc9-4bed-3078-cf07-9141ba07c9f3"],
    ),
    (
        "uuid5",
        &["987fbc97-4bed-5078-9f07-9141ba07c9f3"],
        &["3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10"],
    ),
    ("k8s-short-name", &["my-name", "My Name"], &[]),
    ("colour", &["red"], &[]),
];

async fn a_text_has_its_format(s: &Session) {
    let mut fields = json!({});
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (format, fine, wrong) in FORMATS {
        fields[format] = json!({"type": "string", "format": format});
        good.extend(fine.iter().map(|text| json!({*format: text})));
        bad.extend(wrong.iter().map(|text| json!({*format: text})));
    }
    good.extend(bad);
    tried(s, &fields, &good).await;
}

async fn enums_are_of_any_type(s: &Session) {
    let fields = json!({
        "number": {"type": "integer", "enum": [1, 2]},
        "fraction": {"type": "number", "enum": [1, 2.5]},
        "flag": {"type": "boolean", "enum": [true]},
        "text": {"type": "string", "enum": ["a b", "\"c\""]},
        "list": {"type": "array", "items": {"type": "string"}, "enum": [["a"], []]},
        "map": {"type": "object", "additionalProperties": {"type": "string"}, "enum": [{"a": "b"}]},
        "nullable": {"type": "string", "nullable": true, "enum": ["a"]},
    });
    tried(
        s,
        &fields,
        &[
            json!({"number": 3}),
            json!({"number": 1}),
            json!({"number": 1.0}),
            json!({"fraction": 1}),
            json!({"fraction": 2.5}),
            json!({"fraction": 2.25}),
            json!({"flag": false}),
            json!({"text": "d"}),
            json!({"text": "\"c\""}),
            json!({"list": ["b"]}),
            json!({"list": ["a"]}),
            json!({"map": {"a": "c"}}),
            json!({"map": {"a": "b"}}),
            json!({"nullable": null}),
        ],
    )
    .await;
}

async fn every_keyword_has_its_words(s: &Session) {
    let text = json!({"type": "string"});
    let fields = json!({
        "short": {"type": "string", "maxLength": 1},
        "long": {"type": "string", "minLength": 3},
        "even": {"type": "integer", "multipleOf": 2},
        "quarter": {"type": "number", "multipleOf": 0.25},
        "between": {"type": "number", "minimum": 0.5, "maximum": 1.5, "exclusiveMinimum": true, "exclusiveMaximum": true},
        "open": {"type": "integer", "minimum": 1, "maximum": 3, "exclusiveMinimum": true, "exclusiveMaximum": true},
        "few": {"type": "array", "items": text, "minItems": 2, "maxItems": 3},
        "one": {"type": "array", "items": text, "maxItems": 1},
        "pair": {"type": "object", "additionalProperties": text, "minProperties": 2, "maxProperties": 3},
        "single": {"type": "object", "additionalProperties": text, "maxProperties": 1},
        "closed": {"type": "object", "additionalProperties": false},
        "needs": {"type": "object", "required": ["a", "b"], "properties": {"a": text, "b": text}},
    });
    tried(
        s,
        &fields,
        &[
            json!({"short": "ab"}),
            json!({"long": "ab"}),
            json!({"even": 3}),
            json!({"quarter": 0.3}),
            json!({"quarter": 0.75}),
            json!({"between": 0.5}),
            json!({"between": 1.5}),
            json!({"between": 2}),
            json!({"open": 1}),
            json!({"open": 3}),
            json!({"few": ["a"]}),
            json!({"few": ["a", "b", "c", "d"]}),
            json!({"one": ["a", "b"]}),
            json!({"pair": {"a": "b"}}),
            json!({"pair": {"a": "b", "c": "d", "e": "f", "g": "h"}}),
            json!({"single": {"a": "b", "c": "d"}}),
            json!({"closed": {"a": "b"}}),
            json!({"needs": {}}),
            json!({"short": "", "long": "abc", "even": 4, "between": 1, "few": ["a", "b"]}),
        ],
    )
    .await;
}

behaviours! { Api:
    a_combination_tells_which_part_came_closest,
    a_text_has_its_format,
    enums_are_of_any_type,
    every_keyword_has_its_words,
}
