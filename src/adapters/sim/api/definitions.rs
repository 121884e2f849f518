//! The life of a CustomResourceDefinition after it was written: its names are accepted, it is served,
//! and when it goes its objects go first.
//!
//! In: a definition as stored. Out: its conditions, and a changed registry. Source: the naming,
//! establishing and finalizing controllers of k8s.io/apiextensions-apiserver.

use std::sync::Arc;

use serde_json::{Value, json};

use super::address::Address;
use super::conditions::{condition, set_condition};
use super::custom;
use super::delete::{self, CLEANUP};
use super::managers::Hand;
use super::metadata;
use super::options::DeleteOptions;
use super::resources::{Resource, collection};
use super::store::State;
use super::strategy::Part;

/// Looks at the definition at `address`, which may be gone.
pub(super) fn look(state: &mut State, address: &Address, now: &str) {
    let definitions = state.registry.of_collection(&address.collection).cloned();
    let definitions = definitions.expect("definitions are in the table");
    let stored = state.get(address).map(|stored| stored.value(&definitions));
    match stored {
        None => withdraw(state, address.name()),
        Some(definition) if metadata::is_deleting(&definition) => {
            finalize(state, &definitions, address, &definition, now);
        }
        Some(definition) => accept(state, &definitions, address, definition, now),
    }
}

/// Serves a definition whose names nobody else has.
fn accept(
    state: &mut State,
    definitions: &Resource,
    address: &Address,
    mut definition: Value,
    now: &str,
) {
    let rival = rival(state, &definition);
    let names = match &rival {
        None => condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        Some((reason, name)) => {
            let message = format!("{name:?} is already in use");
            condition("NamesAccepted", "False", reason, &message)
        }
    };
    let established = match &rival {
        None => condition(
            "Established",
            "True",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
        Some(_) => condition(
            "Established",
            "False",
            "NotAccepted",
            "not all names are accepted",
        ),
    };
    set_condition(&mut definition, names, now);
    set_condition(&mut definition, established, now);
    if rival.is_none() {
        definition["status"]["acceptedNames"] = definition["spec"]["names"].clone();
        serve(state, &definition);
    } else {
        definition["status"]["acceptedNames"] = json!({"kind": "", "plural": ""});
    }
    let draft = state.draft(definitions, definition);
    state.put(address, draft);
}

/// Serves the definition as it is now, unless that is what is served.
fn serve(state: &mut State, definition: &Value) {
    let name = metadata::text(definition, "name");
    let collection = collection_of(name);
    let served = state.registry.of_collection(&collection);
    let edition = definition["metadata"]["generation"].as_u64();
    if served.is_some_and(|served| Some(u64::from(served.edition())) == edition) {
        return;
    }
    // What is stored passed the same reading.
    let Ok(added) = custom::resources(definition) else {
        return;
    };
    if let Some((plural, group)) = name.split_once('.') {
        state.registry.remove(group, plural);
    }
    state.open(&collection);
    for resource in added.resources {
        state.registry.add(resource);
    }
}

/// The name that another resource of the group has, and which name it is.
fn rival(state: &State, definition: &Value) -> Option<(&'static str, String)> {
    let spec = &definition["spec"];
    let others = state
        .registry
        .all()
        .filter(|other| spec["group"] == *other.group && spec["names"]["plural"] != *other.plural);
    for other in others {
        for (key, reason, theirs) in [
            ("singular", "SingularConflict", &other.singular),
            ("kind", "KindConflict", &other.kind),
            ("listKind", "ListKindConflict", &other.list_kind),
        ] {
            if spec["names"][key] == **theirs {
                return Some((reason, theirs.clone()));
            }
        }
    }
    None
}

/// Deletes the objects of a definition that is going, then lets it go.
fn finalize(
    state: &mut State,
    definitions: &Resource,
    address: &Address,
    definition: &Value,
    now: &str,
) {
    if !metadata::finalizers(definition).contains(&CLEANUP) {
        return;
    }
    let hand = Hand {
        resource: definitions,
        part: Part::Status,
        manager: "kube-apiserver",
        now,
    };
    delete::edit(state, hand, address, |definition| {
        let message = "CustomResource deletion is in progress";
        let going = condition("Terminating", "True", "InstanceDeletionInProgress", message);
        set_condition(definition, going, now);
    });
    if delete_objects(state, address.name(), now) > 0 {
        return;
    }
    delete::edit(state, hand, address, |definition| {
        let message = "removed all instances";
        let done = condition("Terminating", "False", "InstanceDeletionCompleted", message);
        set_condition(definition, done, now);
        metadata::remove_finalizer(definition, CLEANUP);
    });
}

/// Deletes every object of a definition; says how many wait for their finalizers.
fn delete_objects(state: &mut State, name: &str, now: &str) -> usize {
    let collection = collection_of(name);
    let Some(resource) = state.registry.of_collection(&collection).cloned() else {
        return 0;
    };
    let mut left = 0;
    for object in state.addresses(&collection, "") {
        let options = DeleteOptions::default();
        let deleted = delete::delete(state, &resource, &object, &options, now);
        left += usize::from(deleted.is_ok_and(|deleted| !deleted.gone));
    }
    left
}

/// Stops serving what a definition that is gone added.
fn withdraw(state: &mut State, name: &str) {
    let collection = collection_of(name);
    for object in state.addresses(&collection, "") {
        state.remove(&object);
    }
    if let Some((plural, group)) = name.split_once('.') {
        state.registry.remove(group, plural);
    }
    state.close(&collection);
}

/// The collection of the definition `plural.group`.
fn collection_of(name: &str) -> Arc<str> {
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    collection(group, plural)
}
