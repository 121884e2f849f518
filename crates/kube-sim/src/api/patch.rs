//! JSON merge patch (RFC 7386) and JSON patch (RFC 6902).
//!
//! In: a document and a patch. Out: the patched document, or why it cannot be patched. It does not
//! know what the document is.
//!
//! The API server patches as `evanphx/json-patch` does, not as the RFC: a copy or a test of a field that
//! is not there works with null, a replacement makes the field, and an index may be negative. Crates that
//! follow the RFC refuse these.

use serde_json::Value;

use super::status::Refusal;

/// How many operations a JSON patch may have (k8s.io/apiserver `maxJSONPatchOperations`).
const OPERATIONS_LIMIT: usize = 10_000;

/// Merges `patch` into `document`: maps deeply, nulls delete, all else replaces. Of what is put in as a
/// whole, lists included, the fields that are null are left out.
pub(super) fn merge(document: &mut Value, patch: Value) {
    match (document, patch) {
        (Value::Object(fields), Value::Object(patch)) => {
            for (key, value) in patch {
                if value.is_null() {
                    fields.remove(&key);
                } else {
                    merge(fields.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        // The API server takes a list as it is when it comes in the place of a map.
        (document @ Value::Object(_), patch) => *document = patch,
        (document, mut patch) => {
            drop_nulls(&mut patch);
            *document = patch;
        }
    }
}

/// Takes out the fields that are null; items of lists stay.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
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
    let done = operations
        .iter()
        .try_for_each(|one| carry_out(document, one));
    done.ok_or_else(Refusal::unprocessable)
}

/// None when it cannot be done: the API server does not say why.
fn carry_out(document: &mut Value, operation: &Value) -> Option<()> {
    let path = |key: &str| Pointer::parse(operation.get(key)?.as_str()?);
    let value = || operation.get("value").cloned().unwrap_or_default();
    match operation.get("op")?.as_str()? {
        "add" => path("path")?.add(document, value()),
        "remove" => path("path")?.remove(document).map(|_| ()),
        "replace" if operation.get("path")? == "" => {
            // The whole can only be another map or list; else nothing happens.
            if value().is_object() || value().is_array() {
                *document = value();
            }
            Some(())
        }
        "replace" => path("path")?.set(document, value()),
        "move" => {
            let moved = path("from")?.remove(document)?;
            path("path")?.add(document, moved)
        }
        "copy" => {
            // What is not there is copied as null.
            let copied = path("from")?.get(document)?.cloned().unwrap_or_default();
            path("path")?.add(document, copied)
        }
        "test" if operation.get("path")? == "" => (*document == value()).then_some(()),
        "test" => {
            let found = path("path")?.get(document)?.cloned().unwrap_or_default();
            (found == value()).then_some(())
        }
        _ => None,
    }
}

/// A JSON pointer to a place below the root, as the API server follows it: an index may count from
/// the end of its list, as -1 does.
struct Pointer {
    parents: Vec<String>,
    key: String,
}

impl Pointer {
    /// What comes before the first slash does not count.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once('/')?;
        let mut parts: Vec<String> = rest
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect();
        let key = parts.pop()?;
        Some(Self {
            parents: parts,
            key,
        })
    }

    fn parent<'a>(&self, document: &'a mut Value) -> Option<&'a mut Value> {
        let step = |value: &'a mut Value, part: &String| match value {
            Value::Object(fields) => fields.get_mut(part),
            Value::Array(items) => {
                let at = index(part, items.len())?;
                items.get_mut(at)
            }
            _ => None,
        };
        self.parents.iter().try_fold(document, step)
    }

    /// What is there: nothing where a map has no such field, but a list has to have the item.
    fn get<'a>(&self, document: &'a mut Value) -> Option<Option<&'a Value>> {
        match self.parent(document)? {
            Value::Object(fields) => Some(fields.get(&self.key)),
            Value::Array(items) => {
                let at = index(&self.key, items.len())?;
                Some(Some(items.get(at)?))
            }
            _ => None,
        }
    }

    fn add(&self, document: &mut Value, value: Value) -> Option<()> {
        match self.parent(document)? {
            Value::Object(fields) => drop(fields.insert(self.key.clone(), value)),
            Value::Array(items) if self.key == "-" => items.push(value),
            Value::Array(items) => {
                let at = index(&self.key, items.len() + 1)?;
                (at <= items.len()).then(|| items.insert(at, value))?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Unlike in a list, in a map it need not be there before.
    fn set(&self, document: &mut Value, value: Value) -> Option<()> {
        match self.parent(document)? {
            Value::Object(fields) => drop(fields.insert(self.key.clone(), value)),
            Value::Array(items) => {
                let at = index(&self.key, items.len())?;
                *items.get_mut(at)? = value;
            }
            _ => return None,
        }
        Some(())
    }

    fn remove(&self, document: &mut Value) -> Option<Value> {
        match self.parent(document)? {
            Value::Object(fields) => fields.remove(&self.key),
            Value::Array(items) => {
                let at = index(&self.key, items.len())?;
                (at < items.len()).then(|| items.remove(at))
            }
            _ => None,
        }
    }
}

/// The index that `text` means in a list of `length`, which may lie behind its end.
fn index(text: &str, length: usize) -> Option<usize> {
    let at: i64 = text.parse().ok()?;
    match usize::try_from(at) {
        Ok(at) => Some(at),
        Err(_) => length.checked_sub(usize::try_from(at.unsigned_abs()).ok()?),
    }
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
    fn nulls_are_left_out_of_what_is_put_in() {
        let mut document = json!({"l": [1], "m": {}, "s": "x"});
        let patch = json!({
            "l": [{"a": null}, null], "m": [{"a": null}], "s": {"a": null}, "n": [{"a": null}],
        });
        merge(&mut document, patch);
        assert_eq!(
            document,
            json!({"l": [{}, null], "m": [{"a": null}], "s": {}, "n": [{}]})
        );
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
            {"op": "replace", "path": "/a/-1", "value": 4},
            {"op": "replace", "path": "/new", "value": 5},
            {"op": "copy", "from": "/gone", "path": "/null"},
            {"op": "test", "path": "/gone", "value": null},
        ]);
        let document = operated(json!({"a": [1, 2], "b/c": "x"}), patch).unwrap();
        assert_eq!(
            document,
            json!({"a": [0, 2, 4], "b/c": "y", "e": "y", "new": 5, "null": null})
        );
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for operation in [
            json!({"op": "remove", "path": "/x"}),
            json!({"op": "replace", "path": "/l/0", "value": 1}),
            json!({"op": "add", "path": "/l/-2", "value": 1}),
            json!({"op": "copy", "from": "/l/0", "path": "/x"}),
            json!({"op": "test", "path": "/x/y", "value": null}),
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
