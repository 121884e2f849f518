//! The life of a CustomResourceDefinition after it was written: its names are accepted, it is served,
//! and when it goes its objects go first.
//!
//! In: a definition as stored. Out: its conditions, and a changed registry. Source: the naming,
//! establishing and finalizing controllers of k8s.io/apiextensions-apiserver.

use std::sync::Arc;

use serde_json::Value;

use super::address::{Address, collection};
use super::conditions::{condition, set_condition};
use super::delete::{self, CLEANUP};
use super::managers::Hand;
use super::metadata;
use super::naming;
use super::options::DeleteOptions;
use super::part::Part;
use super::resources::Resource;
use super::served;
use super::store::State;

/// Looks at the definition at `address`, which may be gone.
pub(super) fn look(state: &mut State, address: &Address, now: &str) {
    let definitions = state.registry.of_collection(&address.collection).cloned();
    let definitions = definitions.expect("definitions are in the table");
    let stored = state.get(address).map(|stored| stored.value(&definitions));
    match stored {
        None => {
            withdraw(state, address.name());
            look_again(state, address);
        }
        Some(definition) if metadata::is_deleting(&definition) => {
            finalize(state, &definitions, address, &definition, now);
        }
        Some(definition) => accept(state, &definitions, address, definition, now),
    }
}

/// Gives a definition the names that nobody else has, and serves it once it has them all.
fn accept(
    state: &mut State,
    definitions: &Resource,
    address: &Address,
    mut definition: Value,
    now: &str,
) {
    let naming = naming::name(state, &definition);
    let names = match &naming.conflict {
        None => condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => condition("NamesAccepted", "False", reason, message),
    };
    set_condition(&mut definition, names, now);
    let was_established = is_established(&definition);
    if !was_established {
        let established = match &naming.conflict {
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
        set_condition(&mut definition, established, now);
    }
    let renamed = definition["status"]["acceptedNames"] != naming.accepted;
    definition["status"]["acceptedNames"] = naming.accepted;
    if naming.conflict.is_none() || was_established {
        serve(state, &definition);
    }
    let draft = state.draft(definitions, definition);
    state.put(address, draft);
    if renamed && was_established {
        look_again(state, address);
    }
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
}

/// Has the other definitions of the group looked at: a name may have become free.
fn look_again(state: &mut State, address: &Address) {
    let group = |address: &Address| {
        let name = address.name().split_once('.');
        name.map(|(_, group)| group.to_owned())
    };
    for other in state.addresses(&address.collection, "") {
        if other != *address && group(&other) == group(address) {
            state.chores.push(other);
        }
    }
}

/// Serves the definition as it is now under its accepted names, unless that is what is served.
fn serve(state: &mut State, definition: &Value) {
    let name = metadata::text(definition, "name");
    let collection = collection_of(name);
    let served = state.registry.of_collection(&collection);
    if served.is_some_and(|served| is_served_as(definition, served)) {
        return;
    }
    let mut named = definition.clone();
    named["spec"]["names"] = definition["status"]["acceptedNames"].clone();
    // What is stored passed the same reading.
    let Ok(added) = served::resources(&named) else {
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

/// Whether the resource that is served is of this edition of its definition, under these names.
fn is_served_as(definition: &Value, served: &Resource) -> bool {
    let names = &definition["status"]["acceptedNames"];
    let short = names["shortNames"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    definition["metadata"]["generation"] == served.edition()
        && names["singular"] == served.singular
        && names["listKind"] == served.list_kind
        && short.iter().eq(served.short_names.iter())
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
    let (reason, message) = match is_established(definition) {
        true => ("InstanceDeletionCompleted", "removed all instances"),
        false => ("NeverEstablished", "resource was never established"),
    };
    delete::edit(state, hand, address, |definition| {
        let done = condition("Terminating", "False", reason, message);
        set_condition(definition, done, now);
        metadata::remove_finalizer(definition, CLEANUP);
    });
}

/// Deletes every object of a definition; returns how many wait for their finalizers.
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
