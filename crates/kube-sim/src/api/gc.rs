//! What a change sets off: dependents follow their owners, namespaces take their content along, and
//! definitions start and stop to be served.
//!
//! In: the addresses that the store noted as chores. Out: further changes, until there are no chores
//! left. Each chore looks at one object as it is now, so that the order of chores decides nothing but
//! the order of changes. The rules for owners are those of Kubernetes' garbage collector.

use std::sync::Arc;

use serde_json::{Value, json};

use super::address::{Address, DEFINITIONS, namespace_address};
use super::definitions;
use super::delete;
use super::managers::{CONTROLLERS, Hand};
use super::metadata::{self, FOREGROUND, ORPHAN};
use super::namespaces;
use super::object::{Owner, Stored};
use super::options::{DeleteOptions, Propagation};
use super::part::Part;
use super::resources::Resource;
use super::store::State;

/// Does every chore there is.
pub(super) fn settle(state: &mut State, now: &str) {
    while let Some(address) = state.chores.pop() {
        look(state, &address, now);
    }
}

fn look(state: &mut State, address: &Address, now: &str) {
    if *address.collection == *DEFINITIONS {
        definitions::look(state, address, now);
    }
    let resource = state.registry.of_collection(&address.collection).cloned();
    let (Some(resource), Some(stored)) = (resource, state.get(address).cloned()) else {
        return;
    };
    if !stored.is_deleting() {
        if !stored.owners().is_empty() {
            judge(state, &resource, address, now);
        }
        return;
    }
    let object = stored.stored_value();
    let finalizers = metadata::finalizers(&object);
    if finalizers.contains(&ORPHAN) {
        orphan(state, stored.uid(), now);
        delete::edit(state, hand(&resource, now), address, |object| {
            metadata::remove_finalizer(object, ORPHAN);
        });
    } else if finalizers.contains(&FOREGROUND) {
        wait_for_dependents(state, hand(&resource, now), address, stored.uid());
    } else if *address == namespace_address(address.name()) {
        namespaces::terminate(state, &resource, address, now);
    }
}

/// The garbage collector's hand.
fn hand<'a>(resource: &'a Resource, now: &'a str) -> Hand<'a> {
    Hand {
        resource,
        part: Part::Main,
        manager: CONTROLLERS,
        now,
    }
}

/// How the owners of an object are.
#[derive(Default)]
struct Owners {
    /// There and staying.
    solid: Vec<Owner>,
    /// Not there, or another object of that name.
    dangling: Vec<Owner>,
    /// Going once this object is gone.
    waiting: Vec<Owner>,
}

/// How the owners of an object are; none when that is not known of one of them.
fn owners(state: &State, address: &Address) -> Option<Owners> {
    let mut found = Owners::default();
    for owner in state.get(address)?.owners() {
        let place = state.owner_address(address, owner)?;
        let live = state.get(&place);
        match live.filter(|live| live.uid() == &*owner.uid) {
            None => found.dangling.push(owner.clone()),
            Some(live) if waits_for_dependents(live) => found.waiting.push(owner.clone()),
            Some(_) => found.solid.push(owner.clone()),
        }
    }
    Some(found)
}

/// Whether an object goes once its dependents are gone.
fn waits_for_dependents(stored: &Stored) -> bool {
    let finalizers = |object: &Value| metadata::finalizers(object).contains(&FOREGROUND);
    stored.is_deleting() && finalizers(&stored.stored_value())
}

/// Decides whether an object that has owners goes with them.
fn judge(state: &mut State, resource: &Arc<Resource>, address: &Address, now: &str) {
    let Some(owners) = owners(state, address) else {
        return;
    };
    let released: Vec<&Owner> = owners.dangling.iter().chain(&owners.waiting).collect();
    if !owners.solid.is_empty() {
        if !released.is_empty() {
            let uids: Vec<&str> = released.iter().map(|owner| &*owner.uid).collect();
            release(state, hand(resource, now), address, &uids);
        }
        return;
    }
    let Some(stored) = state.get(address).cloned() else {
        return;
    };
    let dependents = state.dependents(stored.uid());
    let waits = |dependent: &Address| state.get(dependent).is_some_and(waits_for_dependents);
    if !owners.waiting.is_empty() && dependents.iter().any(waits) {
        // Owners in a circle would wait for each other.
        unblock(state, hand(resource, now), address);
    }
    let propagation = match owners.waiting.is_empty() || dependents.is_empty() {
        false => Some(Propagation::Foreground),
        true => None,
    };
    let options = DeleteOptions {
        propagation,
        uid: Some(stored.uid().to_owned()),
        ..DeleteOptions::default()
    };
    // It was there a moment ago and nobody else writes in between.
    let _ = delete::delete(state, resource, address, &options, now);
}

/// Takes the owners with these uids off an object.
fn release(state: &mut State, hand: Hand<'_>, address: &Address, uids: &[&str]) {
    delete::edit(state, hand, address, |object| {
        let owners = &mut object["metadata"]["ownerReferences"];
        let Some(list) = owners.as_array_mut() else {
            return;
        };
        list.retain(|owner| !uids.contains(&owner["uid"].as_str().unwrap_or_default()));
        if list.is_empty() {
            metadata::of(object).remove("ownerReferences");
        }
    });
}

/// Lets the owners of an object go before it.
fn unblock(state: &mut State, hand: Hand<'_>, address: &Address) {
    delete::edit(state, hand, address, |object| {
        let owners = object["metadata"]["ownerReferences"].as_array_mut();
        for owner in owners.into_iter().flatten() {
            owner["blockOwnerDeletion"] = json!(false);
        }
    });
}

fn orphan(state: &mut State, uid: &str, now: &str) {
    for dependent in state.dependents(uid) {
        let resource = state.registry.of_collection(&dependent.collection).cloned();
        if let Some(resource) = resource {
            release(state, hand(&resource, now), &dependent, &[uid]);
        }
    }
}

/// A foreground deletion is over when no dependent blocks it; those that do are looked at.
fn wait_for_dependents(state: &mut State, hand: Hand<'_>, address: &Address, uid: &str) {
    let blocks = |dependent: &Address| {
        let owners = state.get(dependent).map(|stored| stored.owners().to_vec());
        let mut owners = owners.into_iter().flatten();
        owners.any(|owner| &*owner.uid == uid && owner.blocks)
    };
    let blocking: Vec<Address> = state.dependents(uid).into_iter().filter(blocks).collect();
    if blocking.is_empty() {
        delete::edit(state, hand, address, |object| {
            metadata::remove_finalizer(object, FOREGROUND);
        });
    }
    for dependent in blocking {
        let going = state
            .get(&dependent)
            .is_some_and(|stored| stored.is_deleting());
        if !going {
            state.chores.push(dependent);
        }
    }
}
