//! What a step may not say, since the real server would not answer it the same way each time.
//!
//! A write that changes nothing that is stored, but something on its way there, makes a new version
//! if the second in which its manager last wrote is over. So such a write changes something that is
//! stored as well: the step's own mark. And JSON patches spare the places where the server panics.

use serde_json::{Value as Json, json};

use super::kind::Kind;
use crate::differential::run;
use crate::differential::sequence::{Step, Verb};

/// Makes the step one that is answered the same each time. `at` is its place in the sequence.
pub(super) fn make(step: &mut Step, kind: &Kind, at: usize) {
    let to_status = step.path.ends_with("/status");
    let mark = (kind.mark)(at);
    let body = &mut step.body;
    match step.verb {
        Verb::Patch => {
            let operations = body.as_array_mut().expect("a JSON patch is a list");
            operations.iter_mut().for_each(spare);
            if to_status {
                operations.push(json!({"op": "add", "path": "/status", "value": mark}));
            }
        }
        Verb::Apply => {
            drop_empty(&mut body["metadata"]);
            if let Some(metadata) = body.pointer_mut("/spec/inner/metadata") {
                drop_empty(metadata);
            }
            if let Some(Json::Object(known)) = body.pointer_mut("/spec/typed/known") {
                known.retain(|key, _| key == "a");
            }
            if to_status {
                set(body, "status", mark);
            } else if !body["status"].is_null() {
                set(
                    &mut body["metadata"],
                    "annotations",
                    json!({"step": format!("s{at}")}),
                );
            }
        }
        Verb::Replace | Verb::Merge | Verb::Strategic if to_status => set(body, "status", mark),
        _ => {}
    }
}

/// Metadata is stored without what is empty, and without what the server decides; below what keeps
/// unknown fields, what does not is stored without them.
fn drop_empty(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            fields.values_mut().for_each(drop_empty);
            fields.retain(|key, value| {
                let is_empty = [json!(null), json!({}), json!([]), json!("")].contains(value);
                !is_empty && key != "generation"
            });
        }
        Json::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

/// Leaves values alone that are no maps: those are refused anyway.
fn set(value: &mut Json, map: &str, mark: Json) {
    if value.is_object() && (value[map].is_null() || value[map].is_object()) {
        run::merge(&mut value[map], mark);
    }
}

/// Changes what makes the real server panic (evanphx/json-patch 4.12): to walk through a null that an
/// operation has put there, and to compare nulls in lists.
fn spare(operation: &mut Json) {
    if operation["value"].is_null() && operation["op"] != "remove" {
        operation["value"] = json!({});
    }
    // Its number is another one on each server.
    if operation["from"] == "/metadata/resourceVersion" {
        operation["from"] = json!("/metadata/name");
    }
    let path = operation["path"].as_str().unwrap_or_default();
    if operation["op"] == "test" && (path.contains("free") || path == "/spec") {
        operation["op"] = json!("add");
    }
}
