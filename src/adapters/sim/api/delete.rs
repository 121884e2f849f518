//! Deletions.
//!
//! In: what to delete and how, and the state. Out: the object as it is now, gone or waiting for its
//! finalizers. It does not know what becomes of dependents; the finalizers it sets say what should.

use std::sync::Arc;

use serde_json::{Value, json};

use super::address::Address;
use super::definitions;
use super::metadata::{self, FOREGROUND, ORPHAN};
use super::object::Stored;
use super::options::{DeleteOptions, Propagation};
use super::resources::Resource;
use super::status::Refusal;
use super::store::State;

/// The namespaces that are there from the start and cannot be deleted.
pub(super) const IMMORTAL: [&str; 2] = ["default", "kube-system"];

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
/// 404 when it is not there, 409 when it is not the one that was meant, 403 when it has to stay.
pub(super) fn delete(
    state: &mut State,
    resource: &Arc<Resource>,
    address: &Address,
    options: &DeleteOptions,
    now: &str,
) -> Result<Deleted, Refusal> {
    let live = state.get(address).cloned();
    let live = live.ok_or_else(|| Refusal::not_found(resource, address.name()))?;
    if resource.is("", "namespaces") && IMMORTAL.contains(&address.name()) {
        let why = "this namespace may not be deleted";
        return Err(Refusal::forbidden(resource, address.name(), why));
    }
    check_preconditions(resource, address, &live, options)?;
    if live.is_deleting() {
        let gone = false;
        return Ok(Deleted { object: live, gone });
    }
    let object = marked(live.stored_value(), resource, options.propagation, now);
    let gone = !is_held(resource, &object);
    let object = match (gone, options.dry_run) {
        (true, false) => state.remove(address).unwrap_or(live),
        (true, true) => live,
        (false, true) => live.changed(&object, live.version),
        (false, false) => state.put(address, state.redraft(&live, &object)),
    };
    Ok(Deleted { object, gone })
}

fn check_preconditions(
    resource: &Resource,
    address: &Address,
    live: &Stored,
    options: &DeleteOptions,
) -> Result<(), Refusal> {
    let version = live.version.to_string();
    for (what, wanted, found) in [
        ("UID", &options.uid, live.uid()),
        ("ResourceVersion", &options.version, &version),
    ] {
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
            return Err(Refusal::precondition(
                resource,
                address,
                what,
                (wanted, found),
            ));
        }
    }
    Ok(())
}

/// The object with everything that says that it is being deleted, and how.
fn marked(
    mut object: Value,
    resource: &Resource,
    propagation: Option<Propagation>,
    now: &str,
) -> Value {
    if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        definitions::mark(&mut object, now);
        return object;
    }
    let mut finalizers: Vec<String> = metadata::finalizers(&object)
        .into_iter()
        .map(ToOwned::to_owned)
        .collect();
    if let Some(propagation) = propagation {
        finalizers.retain(|finalizer| finalizer != ORPHAN && finalizer != FOREGROUND);
        match propagation {
            Propagation::Orphan => finalizers.push(ORPHAN.into()),
            Propagation::Foreground => finalizers.push(FOREGROUND.into()),
            Propagation::Background => {}
        }
    }
    metadata::set_finalizers(&mut object, &finalizers);
    let generation = object["metadata"]["generation"].as_u64();
    let fields = metadata::of(&mut object);
    fields.insert("deletionTimestamp".into(), json!(now));
    fields.insert("deletionGracePeriodSeconds".into(), json!(0));
    if let Some(generation) = generation.filter(|generation| *generation > 0) {
        fields.insert("generation".into(), json!(generation + 1));
    }
    if resource.is("", "namespaces") {
        object["status"]["phase"] = json!("Terminating");
        // A namespace says nothing of a grace period.
        metadata::of(&mut object).remove("deletionGracePeriodSeconds");
    }
    object
}

/// Whether something has to be done before the object can go: by those who put its finalizers, or, in
/// a namespace, with its content.
pub(super) fn is_held(resource: &Resource, object: &Value) -> bool {
    let content = object["spec"]["finalizers"].as_array();
    let content = content.is_some_and(|list| !list.is_empty());
    !metadata::finalizers(object).is_empty() || (resource.is("", "namespaces") && content)
}

/// Changes an object on behalf of the server itself, or removes it if the change takes away the last
/// thing that held it.
pub(super) fn edit(
    state: &mut State,
    resource: &Resource,
    address: &Address,
    change: impl FnOnce(&mut Value),
) {
    let Some(stored) = state.get(address).cloned() else {
        return;
    };
    let mut object = stored.stored_value();
    change(&mut object);
    if metadata::is_deleting(&object) && !is_held(resource, &object) {
        state.remove(address);
    } else {
        state.put(address, state.redraft(&stored, &object));
    }
}

/// DELETE of the objects of a collection that have these keys.
///
/// # Errors
/// As [`delete`]; an object that is gone already is no error.
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
