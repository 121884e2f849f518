//! JSON merge patch (RFC 7386) and JSON patch (RFC 6902).
//!
//! In: a document and a patch. Out: the patched document, or why it cannot be patched. It does not
//! know what the document is.

use serde_json::{Map, Value};

use super::status::Refusal;

/// How many operations a JSON patch may have (k8s.io/apiserver `maxJSONPatchOperations`).
const OPERATIONS_LIMIT: usize = 10_000;

/// Merges `patch` into `document`: maps deeply, nulls delete, all else replaces.
pub(super) fn merge(document: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *document = patch;
        return;
    };
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    let Some(fields) = document.as_object_mut() else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            fields.remove(&key);
        } else {
            merge(fields.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// Carries out the operations of `patch` on `document`.
///
/// # Errors
/// 400 for what is no JSON patch, 422 for an operation that cannot be carried out.
pub(super) fn operate(document: &mut Value, patch: &Value) -> Result<(), Refusal> {
    let Some(operations) = patch.as_array() else {
        return Err(Refusal::bad_request(
            "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ));
    };
    if operations.len() > OPERATIONS_LIMIT {
        return Err(Refusal::too_large(format!(
            "The allowed maximum operations in a JSON patch is {OPERATIONS_LIMIT}, got {}",
            operations.len()
        )));
    }
    for operation in operations {
        one(document, operation).map_err(Refusal::unprocessable)?;
    }
    Ok(())
}

fn one(document: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |key: &str| {
        let text = operation[key].as_str();
        text.ok_or_else(|| format!("operation without {key:?}: {operation}"))
    };
    let path = pointer(text("path")?)?;
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match text("op")? {
        "add" => add(document, &path, value()),
        "remove" => remove(document, &path).map(|_| ()),
        "replace" => {
            remove(document, &path)?;
            add(document, &path, value())
        }
        "move" => {
            let moved = remove(document, &pointer(text("from")?)?)?;
            add(document, &path, moved)
        }
        "copy" => {
            let copied = get(document, &pointer(text("from")?)?)?.clone();
            add(document, &path, copied)
        }
        "test" => match get(document, &path)? == &value() {
            true => Ok(()),
            false => Err(format!("testing value {} failed", text("path")?)),
        },
        other => Err(format!("unexpected operation {other:?}")),
    }
}

fn pointer(text: &str) -> Result<Vec<String>, String> {
    match text.strip_prefix('/') {
        None if text.is_empty() => Ok(Vec::new()),
        None => Err(format!("{text:?} is no JSON pointer")),
        Some(rest) => Ok(rest
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect()),
    }
}

fn get<'a>(document: &'a Value, path: &[String]) -> Result<&'a Value, String> {
    let step = |value: &'a Value, part: &String| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    };
    path.iter()
        .try_fold(document, step)
        .ok_or_else(|| missing(path))
}

fn missing(path: &[String]) -> String {
    format!("path /{} does not exist", path.join("/"))
}

fn parent<'a>(document: &'a mut Value, path: &[String]) -> Result<&'a mut Value, String> {
    let step = |value: &'a mut Value, part: &String| match value {
        Value::Object(fields) => fields.get_mut(part),
        Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?),
        _ => None,
    };
    path.iter()
        .try_fold(document, step)
        .ok_or_else(|| missing(path))
}

fn add(document: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    let Some((last, parents)) = path.split_last() else {
        *document = value;
        return Ok(());
    };
    match parent(document, parents)? {
        Value::Object(fields) => {
            fields.insert(last.clone(), value);
        }
        Value::Array(items) => {
            let at = match last.as_str() {
                "-" => items.len(),
                index => index.parse().map_err(|_| missing(path))?,
            };
            if at > items.len() {
                return Err(missing(path));
            }
            items.insert(at, value);
        }
        _ => return Err(missing(path)),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &[String]) -> Result<Value, String> {
    let Some((last, parents)) = path.split_last() else {
        return Ok(document.take());
    };
    let removed = match parent(document, parents)? {
        Value::Object(fields) => fields.remove(last),
        Value::Array(items) => {
            let at = last.parse().ok().filter(|at: &usize| *at < items.len());
            at.map(|at| items.remove(at))
        }
        _ => None,
    };
    removed.ok_or_else(|| missing(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_goes_deep_and_nulls_delete() {
        let mut document = json!({"a": {"b": 1, "c": 2}, "d": [1, 2], "e": "x"});
        let patch = json!({"a": {"b": null, "n": {"x": null, "y": 1}}, "d": [3], "e": {"f": 1}});
        merge(&mut document, patch);
        assert_eq!(
            document,
            json!({"a": {"c": 2, "n": {"y": 1}}, "d": [3], "e": {"f": 1}})
        );
    }

    fn operated(document: Value, patch: Value) -> Result<Value, Refusal> {
        let mut document = document;
        operate(&mut document, &patch).map(|()| document)
    }

    #[test]
    fn every_operation_is_carried_out() {
        let patch = json!([
            {"op": "test", "path": "/a/0", "value": 1},
            {"op": "add", "path": "/a/-", "value": 3},
            {"op": "add", "path": "/a/0", "value": 0},
            {"op": "remove", "path": "/a/1"},
            {"op": "replace", "path": "/b~1c", "value": "y"},
            {"op": "copy", "from": "/b~1c", "path": "/d"},
            {"op": "move", "from": "/d", "path": "/e"},
        ]);
        let document = operated(json!({"a": [1, 2], "b/c": "x"}), patch).unwrap();
        assert_eq!(document, json!({"a": [0, 2, 3], "b/c": "y", "e": "y"}));
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for operation in [
            json!({"op": "remove", "path": "/x"}),
            json!({"op": "replace", "path": "/x", "value": 1}),
            json!({"op": "test", "path": "/a", "value": 2}),
            json!({"op": "add", "path": "/l/5", "value": 2}),
            json!({"op": "add", "path": "a", "value": 2}),
            json!({"op": "dance", "path": "/a"}),
            json!({"path": "/a"}),
        ] {
            let refusal = operated(json!({"a": 1, "l": []}), json!([operation])).unwrap_err();
            assert_eq!(refusal.code, 422, "{operation}");
        }
        assert_eq!(operated(json!({}), json!({})).unwrap_err().code, 400);
    }
}
