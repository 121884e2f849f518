//! `kubectl.kubernetes.io/last-applied-configuration`, for who moves from client-side to server-side
//! apply.
//!
//! In: the live object with the annotation, conflicts, the configuration. Out: the conflicts that are
//! left for the manager `kubectl`, which may take over what it applied on the client's side; the
//! object with the annotation in step. It does not know other managers: the API server does this for
//! `kubectl` alone.

use serde_json::Value;

use super::conflict::Conflict;
use super::writer::Writer;
use crate::typed::fields_of;
use crate::typed::{check, compare};
use crate::types::Types;
use kube_schema::{FieldSet, wording};

/// The manager of `kubectl apply --server-side`.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The conflicts that are not about fields which the annotation holds as they are live.
pub(super) fn without_allowed(
    conflicts: Vec<Conflict>,
    live: &Value,
    writer: &Writer<'_>,
    types: Types<'_>,
) -> Vec<Conflict> {
    let Some(allowed) = allowed(live, writer, types) else {
        return conflicts;
    };
    let left = conflicts.into_iter();
    left.filter(|conflict| !allowed.contains(&conflict.path.0))
        .collect()
}

fn allowed(live: &Value, writer: &Writer<'_>, types: Types<'_>) -> Option<FieldSet> {
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    if last["apiVersion"] != writer.api_version || !check(&last, types).is_empty() {
        return None;
    }
    let changes = compare(&last, live, types);
    let fields = fields_of(&last, types).difference(&changes.modified);
    Some(fields.difference(&changes.removed))
}

/// The annotation; none when it is empty.
fn annotation(object: &Value) -> Option<&str> {
    let text = object.pointer("/metadata/annotations")?.get(ANNOTATION)?;
    text.as_str().filter(|text| !text.is_empty())
}

/// Writes the configuration into the annotation, if there is one.
pub(super) fn keep_in_step(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    let annotations = config.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{}\n", wording::encoded(&config));
    object["metadata"]["annotations"][ANNOTATION] = text.into();
}
