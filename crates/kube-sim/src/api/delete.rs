//! Deletions.
//!
//! In: what to delete and how, and the state. Out: the object as it is now, gone or waiting for its
//! finalizers. It does not know what becomes of dependents; the finalizers it sets say what should.

use std::sync::Arc;

use serde_json::{Value, json};

use kube_schema::Managed;

use super::address::Address;
use super::conditions::{condition, set_condition};
use super::managers::{self, Hand};
use super::metadata::{self, FOREGROUND, ORPHAN};
use super::object::Stored;
use super::options::{DeleteOptions, Propagation};
use super::resources::Resource;
use super::status::Refusal;
use super::store::State;

/// The namespaces that are there from the start and cannot be deleted.
pub(super) const IMMORTAL: [&str; 2] = ["default", "kube-system"];

/// The finalizer of definitions: their objects go first.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What a deletion came to.
#[derive(Debug)]
pub(super) struct Deleted {
    /// The object in its last or present state.
    pub(super) object: Stored,
    /// Whether it is gone.
    pub(super) gone: bool,
}

/// DELETE of one object.
///
/// # Errors
/// 404 when it is not there, 409 when a precondition fails, 403 when it has to stay.
pub(super) fn delete(
    state: &mut State,
    resource: &Arc<Resource>,
    address: &Address,
    options: &DeleteOptions,
    now: &str,
) -> Result<Deleted, Refusal> {
    let live = state.get(address).cloned();
    let live = live.ok_or_else(|| Refusal::not_found(resource, address.name()))?;
    if is_namespace(resource) && IMMORTAL.contains(&address.name()) {
        let why = "this namespace may not be deleted";
        return Err(Refusal::forbidden(resource, address.name(), why));
    }
    check_preconditions(resource, address, &live, options)?;
    let object = marked(live.stored_value(), resource, options, now);
    let gone = !is_held(resource, &object);
    let object = match (gone, options.dry_run) {
        (true, false) => state.remove(address).unwrap_or(live),
        (true, true) => live,
        (false, true) => live.changed(&object, live.version),
        (false, false) => state.put(address, state.redraft(&live, &object)),
    };
    Ok(Deleted { object, gone })
}

fn is_namespace(resource: &Resource) -> bool {
    resource.is("", "namespaces")
}

fn check_preconditions(
    resource: &Resource,
    address: &Address,
    live: &Stored,
    options: &DeleteOptions,
) -> Result<(), Refusal> {
    let version = live.version.to_string();
    for (what, wanted, found, happened) in [
        (
            "UID",
            &options.uid,
            live.uid(),
            "deleted and then recreated",
        ),
        ("ResourceVersion", &options.version, &version, "modified"),
    ] {
        let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) else {
            continue;
        };
        return Err(match is_namespace(resource) {
            true => Refusal::conflict(
                resource,
                address.name(),
                format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                ),
            ),
            false => Refusal::conflict_of_kind(
                resource,
                address.name(),
                format!(
                    "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object might have been {happened}"
                ),
            ),
        });
    }
    Ok(())
}

/// The object with everything that marks it as being deleted, and how. If it was being deleted already,
/// the new way counts.
fn marked(mut object: Value, resource: &Resource, options: &DeleteOptions, now: &str) -> Value {
    let again = metadata::is_deleting(&object);
    if !again && resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        mark_definition(&mut object, now);
        return object;
    }
    if again && is_namespace(resource) && has_content(&object) {
        return object;
    }
    let finalizers = finalizers(&object, options);
    metadata::set_finalizers(&mut object, &finalizers);
    let generation = object["metadata"]["generation"].as_u64();
    let fields = metadata::of(&mut object);
    if !again {
        fields.insert("deletionTimestamp".into(), json!(now));
        if let Some(generation) = generation.filter(|generation| *generation > 0) {
            fields.insert("generation".into(), json!(generation + 1));
        }
    }
    if again || !is_namespace(resource) {
        fields.insert("deletionGracePeriodSeconds".into(), json!(0));
    } else {
        object["status"]["phase"] = json!("Terminating");
    }
    object
}

/// Says of a definition that it is being deleted: it waits for its objects, whatever the caller wants for
/// dependents.
fn mark_definition(definition: &mut Value, now: &str) {
    metadata::of(definition).insert("deletionTimestamp".into(), json!(now));
    let known = metadata::finalizers(definition).into_iter();
    let mut finalizers: Vec<String> = known.map(ToOwned::to_owned).collect();
    if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        finalizers.push(CLEANUP.into());
    }
    metadata::set_finalizers(definition, &finalizers);
    let message =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    let pending = condition("Terminating", "True", "InstanceDeletionPending", message);
    set_condition(definition, pending, now);
}

/// The finalizers that a deletion leaves on an object: the caller's propagation policy decides,
/// else the object's own finalizers.
fn finalizers(object: &Value, options: &DeleteOptions) -> Vec<String> {
    let mut finalizers: Vec<String> = metadata::finalizers(object)
        .into_iter()
        .map(ToOwned::to_owned)
        .collect();
    if let Some(propagation) = options.propagation {
        finalizers.retain(|finalizer| finalizer != ORPHAN && finalizer != FOREGROUND);
        match propagation {
            Propagation::Orphan => finalizers.push(ORPHAN.into()),
            Propagation::Foreground => finalizers.push(FOREGROUND.into()),
            Propagation::Background => {}
        }
    }
    finalizers
}

/// Whether a namespace has not yet been emptied.
fn has_content(namespace: &Value) -> bool {
    let content = namespace["spec"]["finalizers"].as_array();
    content.is_some_and(|list| !list.is_empty())
}

/// Whether something has to be done before the object can go: by those who put its finalizers, or, in
/// a namespace, with its content.
pub(super) fn is_held(resource: &Resource, object: &Value) -> bool {
    !metadata::finalizers(object).is_empty() || (is_namespace(resource) && has_content(object))
}

/// Changes an object on behalf of a controller, or removes it if the change takes away the last thing
/// that held it.
pub(super) fn edit(
    state: &mut State,
    hand: Hand<'_>,
    address: &Address,
    change: impl FnOnce(&mut Value),
) {
    let Some(stored) = state.get(address).cloned() else {
        return;
    };
    let old = stored.parsed_as_stored();
    let mut object = old.whole();
    change(&mut object);
    let (mut object, managers) = managers::updated(hand, Some(&old), object);
    Managed::write(&managers, &mut object);
    if metadata::is_deleting(&object) && !is_held(hand.resource, &object) {
        state.remove(address);
    } else {
        state.put(address, state.redraft(&stored, &object));
    }
}

/// DELETE of the objects of a collection that have these keys.
///
/// # Errors
/// As [`delete`]; an object that does not exist is not an error.
pub(super) fn delete_all<'a>(
    state: &mut State,
    resource: &Arc<Resource>,
    keys: impl Iterator<Item = &'a Arc<str>>,
    options: &DeleteOptions,
    now: &str,
) -> Result<(), Refusal> {
    for key in keys {
        let address = Address {
            collection: resource.collection.clone(),
            key: key.clone(),
        };
        if state.get(&address).is_some() {
            delete(state, resource, &address, options, now)?;
        }
    }
    Ok(())
}
