#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;
use crate::model::{Origin, Span};
use crate::yaml;

fn written(file: &str, json: &Json) -> Node {
    Node::from_json(json, &Origin::new(Span::top(&Arc::from(file))))
}

fn patched(base: &Json, operations: &Json) -> (Node, Vec<Finding>) {
    let mut findings = Vec::new();
    let operations = written("patch", operations);
    let node = apply(
        written("base", base),
        operations.as_list().unwrap(),
        &mut findings,
    );
    (node, findings)
}

#[track_caller]
fn check(base: Json, operations: Json, expected: Json) {
    let (node, findings) = patched(&base, &operations);
    assert_eq!((node.to_json(), findings), (expected, vec![]));
}

#[track_caller]
fn fails(base: Json, operations: Json, message: &str) {
    let (node, findings) = patched(&base, &operations);
    assert_eq!(node.to_json(), base, "nothing is changed by half");
    assert_eq!(
        (findings[0].id, findings[0].message.as_str()),
        ("O02", message)
    );
}

#[test]
fn each_operation_follows_the_rfc() {
    let base = json!({"a": 1, "l": [1, 2], "x/y": {"~": 0}});
    let with = |name: &str, value: Json| {
        let mut json = base.clone();
        json[name] = value;
        json
    };
    let one = |operation: Json| json!([operation]);
    let path = "path";
    check(
        base.clone(),
        one(json!({"op": "add", path: "/b", "value": 2})),
        with("b", json!(2)),
    );
    check(
        base.clone(),
        one(json!({"op": "add", path: "/a", "value": 2})),
        with("a", json!(2)),
    );
    check(
        base.clone(),
        one(json!({"op": "add", path: "/l/1", "value": 9})),
        with("l", json!([1, 9, 2])),
    );
    check(
        base.clone(),
        one(json!({"op": "add", path: "/l/-", "value": 9})),
        with("l", json!([1, 2, 9])),
    );
    check(
        base.clone(),
        one(json!({"op": "add", path: "", "value": []})),
        json!([]),
    );
    check(
        base.clone(),
        one(json!({"op": "remove", path: "/l/0"})),
        with("l", json!([2])),
    );
    check(
        base.clone(),
        one(json!({"op": "replace", path: "/x~1y/~0", "value": 5})),
        with("x/y", json!({"~": 5})),
    );
    check(
        base.clone(),
        one(json!({"op": "copy", "from": "/a", path: "/b"})),
        with("b", json!(1)),
    );
    check(
        json!({"a": 1}),
        one(json!({"op": "move", "from": "/a", path: "/b"})),
        json!({"b": 1}),
    );
    check(
        base.clone(),
        one(json!({"op": "test", path: "/l", "value": [1.0, 2]})),
        base,
    );
}

#[test]
fn what_cannot_be_followed_is_a_finding_and_changes_nothing() {
    let table = [
        (
            json!({"op": "remove", "path": "/b"}),
            "there is nothing at `/b`",
        ),
        (
            json!({"op": "replace", "path": "/b", "value": 1}),
            "there is nothing at `/b`",
        ),
        (
            json!({"op": "add", "path": "/b/c", "value": 1}),
            "there is nothing at `/b`",
        ),
        (
            json!({"op": "add", "path": "/l/3", "value": 1}),
            "there is nothing at `/l/3`: the list at `/l` has 2 items",
        ),
        (
            json!({"op": "add", "path": "/l/01", "value": 1}),
            "there is nothing at `/l/01`: the list at `/l` has 2 items",
        ),
        (
            json!({"op": "remove", "path": ""}),
            "the operation removes the whole value",
        ),
        (
            json!({"op": "add", "path": "/b"}),
            "the operation has no `value`",
        ),
        (
            json!({"op": "add", "path": "b", "value": 1}),
            "the operation has no `path` that begins with `/`",
        ),
        (
            json!({"op": "move", "from": "/l", "path": "/l/0"}),
            "what is at `/l` cannot be moved into itself",
        ),
        (
            json!({"op": "copy", "path": "/b"}),
            "the operation has no `from` that begins with `/`",
        ),
        (
            json!({"op": "test", "path": "/a", "value": 2}),
            "the test at `/a` fails: it holds another value",
        ),
        (
            json!({"op": "add", "path": "/a/b", "value": 2}),
            "what is at `/a` is no map and no list",
        ),
        (
            json!({"op": "remove", "path": "/x~1y/~0"}),
            "there is nothing at `/x~1y`",
        ),
        (
            json!({"op": "remove", "path": "/a~b"}),
            "`/a~b` has a `~` that is neither `~0` nor `~1`",
        ),
        (
            json!({"op": "put", "path": "/a"}),
            "`put` is not an operation",
        ),
    ];
    for (operation, message) in table {
        let first = json!({"op": "add", "path": "/z", "value": 1});
        fails(
            json!({"a": 1, "l": [1, 2]}),
            json!([first, operation]),
            message,
        );
    }
}

#[test]
fn the_field_that_is_wrong_is_pointed_at() {
    let text = "- op: add\n  path: /b/c\n  value: 1\n---\n- op: test\n  path: /a\n  value: 2\n---\n- op: copy\n  from: /l/2\n  path: /b\n---\n- {op: put, path: ''}\n";
    let path: Arc<str> = Arc::from("patch.yaml");
    let places: Vec<String> = yaml::read(&path, text.as_bytes())
        .0
        .iter()
        .map(|operations| {
            let mut findings = Vec::new();
            let base = written("base", &json!({"a": 1, "l": [1, 2]}));
            drop(apply(base, operations.as_list().unwrap(), &mut findings));
            findings[0].span.as_ref().unwrap().to_string()
        })
        .collect();
    assert_eq!(
        places,
        [
            "patch.yaml:2:9",
            "patch.yaml:7:10",
            "patch.yaml:10:9",
            "patch.yaml:13:8"
        ]
    );
}

#[test]
fn copies_cannot_grow_without_end() {
    let many = |path: &str, times| -> Json {
        vec![json!({"op": "copy", "from": "/a", "path": path}); times].into()
    };
    fails(
        json!({"a": {}}),
        many("/a/b", 70),
        "the operation nests more than 64 maps and lists",
    );
    fails(
        json!({"a": [1]}),
        many("/a/-", 60),
        "the patch copies more than 100000 values",
    );
    let wide: Vec<u32> = (0..1000).collect();
    fails(
        json!({"a": wide}),
        many("/b", 200),
        "the patch copies more than 100000 values",
    );
}

#[test]
fn what_is_changed_knows_both_places() {
    let operations = json!([
        {"op": "replace", "path": "/a", "value": 2}, {"op": "add", "path": "/b", "value": 2},
        {"op": "move", "from": "/c", "path": "/d"}
    ]);
    let (node, _) = patched(&json!({"a": 1, "c": 1}), &operations);
    let origin = |name: &str| node.get(name).unwrap().origin.clone();
    let file = |origin: &Origin| origin.span().path.to_string();
    assert_eq!(file(&origin("a")), "patch");
    assert_eq!(file(origin("a").beneath().unwrap()), "base");
    assert_eq!(
        (file(&origin("b")), origin("b").beneath()),
        ("patch".to_owned(), None)
    );
    assert_eq!(file(&origin("d")), "base");
}
