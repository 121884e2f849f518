#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::json;

use crate::model::{Finding, Key, Map, Node, ObjectId, Origin, Path, Span, Value};
use crate::schema::findings;
use kube_schema::Schema;

/// Reads a tiny YAML: `key: value` lines, nesting by two spaces, `- ` items on lines of their own,
/// values true, numbers, "quoted" or bare words.
fn node(text: &str) -> Node {
    let path: Arc<str> = "a.yaml".into();
    let lines: Vec<(usize, usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| {
            (
                at + 1,
                line.len() - line.trim_start().len(),
                line.trim_start(),
            )
        })
        .collect();
    block(&path, &lines)
}

fn origin(path: &Arc<str>, line: usize, column: usize, len: usize) -> Origin {
    let number = |n: usize| u32::try_from(n).unwrap();
    Origin::new(Span::new(
        path,
        number(line),
        number(column + 1),
        number(len),
    ))
}

fn block(path: &Arc<str>, lines: &[(usize, usize, &str)]) -> Node {
    let (line, indent, first) = lines[0];
    let own = origin(path, line, indent, 1);
    let starts: Vec<usize> = (0..lines.len())
        .filter(|at| lines[*at].1 == indent)
        .collect();
    let ends = starts.iter().copied().skip(1).chain([lines.len()]);
    let entries = starts.iter().zip(ends).map(|(from, to)| &lines[*from..to]);
    if first == "-" {
        let items = entries.map(|entry| block(path, &entry[1..])).collect();
        return Node::new(Value::List(items), &own);
    }
    let entry = |lines: &[(usize, usize, &str)]| {
        let (line, indent, text) = lines[0];
        let (name, value) = text.split_once(':').unwrap();
        let key = Key {
            name: name.to_owned().into(),
            origin: origin(path, line, indent, name.len()),
        };
        let at = origin(path, line, indent + name.len() + 2, value.trim().len());
        let node = match value.trim() {
            "" if lines.len() > 1 => block(path, &lines[1..]),
            text => Node::new(scalar(text), &at),
        };
        (key, node)
    };
    Node::new(Value::Map(entries.map(entry).collect::<Map>()), &own)
}

fn scalar(text: &str) -> Value {
    match text {
        "" => Value::Null,
        "true" => Value::Bool(true),
        _ if text.parse::<i64>().is_ok() => Value::Int(text.parse().unwrap()),
        _ if text.parse::<f64>().is_ok() => Value::Float(text.parse().unwrap(), text.into()),
        _ => Value::String(text.trim_matches('"').to_owned().into()),
    }
}

fn schema() -> Schema {
    Schema::from_json(&json!({"type": "object", "properties": {"spec": {
        "type": "object", "required": ["location", "visibility"], "properties": {
            "location": {"type": "string"},
            "version": {"type": "string"},
            "replicas": {"type": "integer", "format": "int32", "minimum": 1},
            "visibility": {"type": "string", "enum": ["Public", "Private"], "default": "Public"},
            "pools": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "properties": {
                    "name": {"type": "string"},
                    "autoScaling": {"type": "object", "additionalProperties": true}}}}}}}}))
    .unwrap()
}

fn messages(text: &str) -> Vec<String> {
    let found = findings(&schema(), &node(text), &Path::default(), None);
    found.iter().map(line).collect()
}

fn line(finding: &Finding) -> String {
    let help = finding.help.as_deref().unwrap_or("-");
    let span = finding.span.as_ref().unwrap();
    let at = format!("{}:{}", span.start.line, span.start.column);
    format!("{at} {} {} | {help}", finding.id, finding.message)
}

#[test]
fn an_unknown_field_points_at_its_key_and_names_the_nearest() {
    let text = "spec:\n  location: uksouth\n  pools:\n    -\n      name: a\n      autoscaling: 1";
    let expected =
        "6:7 S01 unknown field `spec.pools[0].autoscaling` | did you mean `autoScaling`?";
    assert_eq!(messages(text), [expected]);
}

#[test]
fn an_unknown_field_like_no_other_lists_the_known_ones() {
    let known = "known fields: location, pools, replicas, version, visibility";
    let text = "spec:\n  location: uksouth\n  colour: red";
    assert_eq!(
        messages(text),
        [format!("3:3 S01 unknown field `spec.colour` | {known}")]
    );
}

#[test]
fn a_wrong_type_is_reported_with_what_was_found_and_how_to_write_it() {
    let text = "spec:\n  location: uksouth\n  version: 4.20\n  replicas: \"3\"\n  pools: mp1";
    assert_eq!(
        messages(text),
        [
            "5:10 S02 `spec.pools` must be a list, not a string | write it as a list, with `- ` before each item",
            "4:13 S02 `spec.replicas` must be an integer, not a string | write it as 3, without quotes",
            "3:12 S02 `spec.version` must be a string, not a number | write it as \"4.20\", in quotes",
        ]
    );
}

#[test]
fn a_missing_field_points_at_the_key_of_its_parent() {
    let text = "spec:\n  replicas: 1";
    assert_eq!(
        messages(text),
        ["1:1 S03 `spec.location` is missing | add `location`, a string"]
    );
    let text = "spec:\n  location:\n  replicas: 1";
    assert_eq!(
        messages(text),
        ["2:3 S03 `spec.location` is missing | add `location`, a string"]
    );
}

#[test]
fn a_value_that_is_not_allowed_is_reported_without_jargon() {
    let text = "spec:\n  location: a\n  visibility: Publik\n  replicas: 0";
    assert_eq!(
        messages(text),
        [
            "4:13 S04 `spec.replicas`: invalid value: 0: should be greater than or equal to 1 | write a number of at least 1",
            "3:15 S04 `spec.visibility`: unsupported value: \"Publik\": supported values: \"Public\", \"Private\" | did you mean `Public`?",
        ]
    );
    let text = "spec:\n  location: a\n  replicas: 3000000000";
    assert_eq!(
        messages(text),
        ["3:13 S04 `spec.replicas`: invalid value: 3000000000: must fit in int32 | -"]
    );
}

#[test]
fn well_known_patterns_are_described_in_words() {
    let pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}});
    let found = findings(
        &Schema::from_json(&schema).unwrap(),
        &node("a: A_b"),
        &Path::default(),
        None,
    );
    let help = "use lower-case letters, digits and `-`; start and end with a letter or digit";
    assert_eq!(found[0].help.as_deref(), Some(help));
}

#[test]
fn other_violations_point_at_the_value() {
    let text = "spec:\n  location: a\n  pools:\n    -\n      name: a\n    -\n      name: a";
    assert_eq!(
        messages(text),
        [
            "7:7 S05 `spec.pools[1]`: duplicate value: {\"name\":\"a\"} | give each item of the list a unique `name`"
        ]
    );
}

#[test]
fn fields_of_another_place_are_reported_together_with_where_they_belong() {
    let text = "location: a\nspec:\n  autoScaling: 1\n  name: b";
    assert_eq!(
        messages(text),
        [
            "1:1 S01 unknown field `location` | `location` belongs below `spec`",
            "3:3 S01 unknown field `spec.autoScaling` | `autoScaling` and `name` belong below `spec.pools[]`",
        ]
    );
    let found = findings(&schema(), &node(text), &Path::default(), None);
    assert!(crate::schema::lacks_a_field(&found[0]) && !crate::schema::lacks_a_field(&found[1]));
}

#[test]
fn an_item_has_one_finding_for_its_key() {
    let schema = json!({"type": "object", "properties": {"pools": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name", "size"], "properties": {
            "name": {"type": "string"}, "size": {"type": "string"}}}}}});
    let schema = Schema::from_json(&schema).unwrap();
    let found = |text| {
        let found = findings(&schema, &node(text), &Path::default(), None);
        found.iter().map(line).collect::<Vec<_>>()
    };
    let twins = "pools:\n  -\n    name: a\n    size: x\n  -\n    name: a";
    let unique = "give each item of the list a unique `name`";
    let expected = format!("6:5 S05 `pools[1]`: duplicate value: {{\"name\":\"a\"}} | {unique}");
    assert_eq!(found(twins), [expected]);
    let nameless = "pools:\n  -\n    size: x\n  -\n    size: x";
    assert_eq!(
        found(nameless),
        [
            "3:5 S03 `pools[0].name` is missing | add `name`, a string",
            "5:5 S03 `pools[1].name` is missing | add `name`, a string",
        ]
    );
}

#[test]
fn the_help_names_limits_and_unexpanded_variables() {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "minLength": 3, "maxLength": 5, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9}}});
    let schema = Schema::from_json(&schema).unwrap();
    for (text, expected) in [
        ("name: abcdef", "write at most 5 characters; this has 6"),
        ("name: ab", "write at least 3 characters"),
        ("size: 10", "write a number from 1 to 9"),
        ("size: ${N}", "variables and templates are not expanded"),
        ("name: \"${N}\"", "variables and templates are not expanded"),
    ] {
        let found = findings(&schema, &node(text), &Path::default(), None);
        let help = found[0].help.as_deref().unwrap();
        assert!(help.starts_with(expected), "{text}: {help}");
    }
}

#[test]
fn a_part_of_an_object_is_reported_with_its_path_and_object() {
    let object = ObjectId::new("g", "Kind", "ns", "name");
    let at = Path::dotted("spec.resources").index(2);
    let found = findings(&schema(), &node("spec:\n  replicas: 1"), &at, Some(&object));
    assert_eq!(
        found[0].field.as_ref().unwrap().to_string(),
        "spec.resources[2].spec.location"
    );
    assert_eq!(found[0].object, Some(object));
}
