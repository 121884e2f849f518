//! JSON patches (RFC 6902) on values that know where they came from.
//!
//! In: a value and operations. Out: the changed value, in which every part says where it is written
//! and what it replaced; or the value as it was and a finding (O02). It does not know what the value
//! is.

use crate::model::{Finding, Key, Node, Value};

/// Follows the operations in order. If one cannot be followed none is, and a finding says which.
#[must_use]
pub fn apply(node: Node, operations: &[Node], findings: &mut Vec<Finding>) -> Node {
    let mut patched = node.clone();
    let mut copies = 0;
    for operation in operations {
        if let Err(fault) = follow(&mut patched, operation, &mut copies) {
            let finding = Finding::error("O02", fault.0).at(operation.span());
            findings.push(finding.help(fault.1));
            return node;
        }
    }
    patched
}

/// Why an operation cannot be followed, and what to do about it.
struct Fault(String, &'static str);

fn follow(root: &mut Node, operation: &Node, copies: &mut usize) -> Result<(), Fault> {
    let path = pointer(operation, "path")?;
    match operation.text(&["op"]) {
        Some("add") => add(root, &path, value(operation)?),
        Some("remove") => remove(root, &path).map(drop),
        Some("replace") => {
            let old = find(root, &path).ok_or_else(|| nothing(operation, "path"))?;
            let new = value(operation)?;
            deep_enough(&path, &new)?;
            *old = over(new, old);
            Ok(())
        }
        Some("move") => {
            let from = pointer(operation, "from")?;
            let node = remove(root, &from)?;
            add(root, &path, node)
        }
        Some("copy") => {
            let from = pointer(operation, "from")?;
            let node = find(root, &from).ok_or_else(|| nothing(operation, "from"))?;
            *copies += node.measure().0;
            if *copies > Node::MAX_COPIES {
                return Err(too_many());
            }
            let node = node.clone();
            add(root, &path, node)
        }
        Some("test") => test(root, &path, operation),
        _ => Err(unknown(operation)),
    }
}

fn test(root: &mut Node, path: &[String], operation: &Node) -> Result<(), Fault> {
    let found = find(root, path).ok_or_else(|| nothing(operation, "path"))?;
    if found.to_json() == value(operation)?.to_json() {
        return Ok(());
    }
    let at = operation.text(&["path"]).unwrap_or_default();
    let message = format!("the test at `{at}` fails: it holds {}", found.to_json());
    Err(Fault(
        message,
        "make the patch fit what it meets, or narrow its target",
    ))
}

fn value(operation: &Node) -> Result<Node, Fault> {
    operation.get("value").cloned().ok_or_else(|| {
        let message = "the operation has no `value`".to_owned();
        Fault(message, "`add`, `replace` and `test` need one")
    })
}

/// The steps of a JSON pointer (RFC 6901).
fn pointer(operation: &Node, field: &str) -> Result<Vec<String>, Fault> {
    let text = operation.text(&[field]);
    let steps = match text {
        Some("") => Some(Vec::new()),
        Some(text) => text.strip_prefix('/').map(|text| {
            let steps = text.split('/');
            steps
                .map(|step| step.replace("~1", "/").replace("~0", "~"))
                .collect()
        }),
        None => None,
    };
    steps.ok_or_else(|| {
        let message = format!("the operation has no `{field}` that begins with `/`");
        Fault(
            message,
            "write a JSON pointer, such as /spec/template; a `/` in a key is `~1`",
        )
    })
}

fn find<'n>(root: &'n mut Node, path: &[String]) -> Option<&'n mut Node> {
    path.iter()
        .try_fold(root, |node, step| match &mut node.value {
            Value::Map(map) => map.get_mut(step),
            Value::List(items) => {
                let at = index(step)?;
                items.get_mut(at)
            }
            _ => None,
        })
}

fn index(step: &str) -> Option<usize> {
    let is_plain = step == "0" || !step.starts_with(['0', '+']);
    step.parse().ok().filter(|_| is_plain)
}

fn add(root: &mut Node, path: &[String], node: Node) -> Result<(), Fault> {
    deep_enough(path, &node)?;
    let Some((last, parents)) = path.split_last() else {
        *root = over(node, root);
        return Ok(());
    };
    match find(root, parents).map(|parent| &mut parent.value) {
        Some(Value::Map(map)) => match map.get_mut(last) {
            Some(old) => *old = over(node, old),
            None => {
                let key = Key {
                    name: last.clone().into(),
                    origin: node.origin.clone(),
                };
                map.insert(key, node);
            }
        },
        Some(Value::List(items)) => {
            let at = if last == "-" {
                Some(items.len())
            } else {
                index(last)
            };
            let at = at.filter(|at| *at <= items.len());
            items.insert(at.ok_or_else(|| absent(path))?, node);
        }
        _ => return Err(absent(parents)),
    }
    Ok(())
}

fn remove(root: &mut Node, path: &[String]) -> Result<Node, Fault> {
    let Some((last, parents)) = path.split_last() else {
        let message = "the operation removes the whole value".to_owned();
        return Err(Fault(message, "leave the object out of the tree instead"));
    };
    let removed = match find(root, parents).map(|parent| &mut parent.value) {
        Some(Value::Map(map)) => map.remove(last),
        Some(Value::List(items)) => {
            let at = index(last).filter(|at| *at < items.len());
            at.map(|at| items.remove(at))
        }
        _ => None,
    };
    removed.ok_or_else(|| absent(path))
}

fn over(new: Node, old: &Node) -> Node {
    let origin = new.origin.over(&old.origin);
    Node { origin, ..new }
}

fn deep_enough(path: &[String], node: &Node) -> Result<(), Fault> {
    if path.len() + node.measure().1 <= Node::MAX_DEPTH {
        return Ok(());
    }
    let message = format!(
        "the operation nests more than {} maps and lists",
        Node::MAX_DEPTH
    );
    Err(Fault(message, "no Kubernetes object nests this deep"))
}

fn too_many() -> Fault {
    let message = format!("the patch copies more than {} values", Node::MAX_COPIES);
    Fault(message, "write the values out")
}

fn nothing(operation: &Node, field: &str) -> Fault {
    let at = operation.text(&[field]).unwrap_or_default();
    Fault(format!("there is nothing at `{at}`"), FIRST)
}

fn absent(path: &[String]) -> Fault {
    Fault(format!("there is nothing at `/{}`", path.join("/")), FIRST)
}

const FIRST: &str = "look at the object before the patch with `capstan render`; `add` needs the map or list above to be there";

fn unknown(operation: &Node) -> Fault {
    let message = match operation.text(&["op"]) {
        Some(name) => format!("`{name}` is not an operation"),
        None => "the operation has no `op`".to_owned(),
    };
    Fault(
        message,
        "it is one of add, remove, replace, move, copy and test",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

    use std::sync::Arc;

    use serde_json::{Value as Json, json};

    use super::*;
    use crate::model::{Origin, Span};

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
    fn each_operation_does_what_the_rfc_says() {
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
            one(json!({"op": "test", path: "/l", "value": [1, 2]})),
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
                "there is nothing at `/l/3`",
            ),
            (
                json!({"op": "add", "path": "/l/01", "value": 1}),
                "there is nothing at `/l/01`",
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
                "there is nothing at `/l`",
            ),
            (
                json!({"op": "copy", "path": "/b"}),
                "the operation has no `from` that begins with `/`",
            ),
            (
                json!({"op": "test", "path": "/a", "value": 2}),
                "the test at `/a` fails: it holds 1",
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
}
