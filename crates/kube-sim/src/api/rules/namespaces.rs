//! Namespaces: their finalizers, and what their subresources refuse.

use serde_json::{Value, json};

use crate::api::metadata::{self, KUBERNETES};
use crate::api::names;
use crate::api::status::Cause;

/// Gives a new namespace its finalizer.
pub(crate) fn add_finalizer(namespace: &mut Value) {
    let mut wanted: Vec<Value> = finalizers(namespace).cloned().collect();
    if !wanted.contains(&json!(KUBERNETES)) {
        wanted.push(json!(KUBERNETES));
    }
    set_finalizers(namespace, &wanted);
}

/// Who has to have done with the content of a namespace.
pub(crate) fn finalizers(namespace: &Value) -> impl Iterator<Item = &Value> {
    let list = namespace["spec"]["finalizers"].as_array();
    list.into_iter().flatten()
}

/// Sets the finalizers; without any, the list is left out.
pub(crate) fn set_finalizers(namespace: &mut Value, finalizers: &[Value]) {
    let spec = &mut namespace["spec"];
    match (finalizers, spec.as_object_mut()) {
        ([], Some(spec)) => {
            spec.remove("finalizers");
        }
        _ => spec["finalizers"] = json!(finalizers),
    }
}

/// A namespace is in the phase Terminating if and only if it is being deleted.
pub(super) fn check_status(object: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let phase = &object["status"]["phase"];
    let (wanted, when) = match metadata::is_deleting(object) {
        true => ("Terminating", "is not empty"),
        false => ("Active", "is empty"),
    };
    if *phase != wanted {
        let detail = format!("may only be '{wanted}' if `deletionTimestamp` {when}");
        causes.push(Cause::invalid("status.Phase", phase, &detail));
    }
}

/// Whoever finalizes a namespace has a name that nobody else has.
pub(super) fn check_finalizers(object: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    for (at, finalizer) in finalizers(object).enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        let field = format!("spec.finalizers[{at}]");
        for complaint in names::qualified(name) {
            causes.push(Cause::invalid(field.clone(), finalizer, &complaint));
        }
        if metadata::is_unqualified(name) {
            let detail = metadata::UNQUALIFIED;
            causes.push(Cause::invalid(field, finalizer, detail));
        }
    }
}
