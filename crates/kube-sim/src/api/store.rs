//! All objects, by collection and key.
//!
//! In: finished objects. Out: objects, the history of each collection, and the chores that a change
//! leaves behind (who has to be looked at again because of it). It does not know rules: whether a
//! write is allowed, and what a chore means, is decided elsewhere.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;

use super::address::{Address, Chores, DEFINITIONS, definition_address, namespace_address};
use super::history::{Event, History};
use super::object::{Fresh, Owner, Stored};
use super::resources::{Registry, Resource};
use kube_schema::Managed;

/// Of so many of the last writes, the objects have their values beside their texts.
const FRESH: usize = 1024;

/// The objects of one resource and what happened to them.
#[derive(Debug)]
pub(super) struct Collection {
    objects: BTreeMap<Arc<str>, Stored>,
    pub(super) history: History,
    /// Whether its resource is no longer served.
    pub(super) closed: bool,
}

/// Everything the server knows.
#[derive(Debug)]
pub(super) struct State {
    /// The version of the last change.
    pub(super) version: u64,
    uids: u64,
    pub(super) registry: Registry,
    collections: BTreeMap<Arc<str>, Collection>,
    /// Objects by the uids of their owners.
    dependents: BTreeMap<Box<str>, BTreeSet<Address>>,
    /// Who has to be looked at because of what changed.
    pub(super) chores: Chores,
    /// The objects that were written last, oldest first.
    fresh: VecDeque<Fresh>,
}

impl State {
    /// No objects, the table's resources.
    pub(super) fn new() -> Self {
        let mut state = Self {
            version: 1,
            uids: 0,
            registry: Registry::new(),
            collections: BTreeMap::new(),
            dependents: BTreeMap::new(),
            chores: Chores::default(),
            fresh: VecDeque::new(),
        };
        let names: Vec<Arc<str>> = state.registry.all().map(|r| r.collection.clone()).collect();
        for name in names {
            state.open(&name);
        }
        state
    }

    /// The same objects, without their history.
    pub(super) fn copy(&self) -> Self {
        let collections = self.collections.iter().map(|(name, collection)| {
            let copy = Collection {
                objects: collection.objects.clone(),
                history: History::after(self.version),
                closed: collection.closed,
            };
            (name.clone(), copy)
        });
        Self {
            version: self.version,
            uids: self.uids,
            registry: self.registry.clone(),
            collections: collections.collect(),
            dependents: self.dependents.clone(),
            chores: Chores::default(),
            fresh: VecDeque::new(),
        }
    }

    /// Adds a collection if it does not exist, or replaces a closed one with an empty one.
    pub(super) fn open(&mut self, collection: &Arc<str>) {
        let known = self.collections.get(collection);
        if known.is_none_or(|known| known.closed) {
            let fresh = Collection {
                objects: BTreeMap::new(),
                history: History::after(self.version),
                closed: false,
            };
            self.collections.insert(collection.clone(), fresh);
        }
    }

    /// Closes an empty collection: its watches end once they have sent everything.
    pub(super) fn close(&mut self, collection: &str) {
        if let Some(closing) = self.collections.get_mut(collection) {
            closing.closed = true;
            closing.history.wake();
        }
    }

    /// A collection; none when its resource was never served.
    pub(super) fn collection(&self, name: &str) -> Option<&Collection> {
        self.collections.get(name)
    }

    /// Every object with its address.
    pub(super) fn all(&self) -> impl Iterator<Item = (Address, &Stored)> {
        self.collections.iter().flat_map(|(collection, kept)| {
            kept.objects.iter().map(|(key, stored)| {
                let address = Address {
                    collection: collection.clone(),
                    key: key.clone(),
                };
                (address, stored)
            })
        })
    }

    /// Forgets what happened up to now.
    pub(super) fn forget(&mut self) {
        for collection in self.collections.values_mut() {
            collection.history.forget(self.version);
        }
    }

    /// The object at an address.
    pub(super) fn get(&self, address: &Address) -> Option<&Stored> {
        self.collections
            .get(&address.collection)?
            .objects
            .get(&address.key)
    }

    /// The addresses of all objects of a collection in a namespace, or of all.
    pub(super) fn addresses(&self, collection: &Arc<str>, namespace: &str) -> Vec<Address> {
        let prefix = match namespace {
            "" => String::new(),
            namespace => format!("{namespace}/"),
        };
        let Some(kept) = self.collections.get(collection) else {
            return Vec::new();
        };
        let address = |(key, _): (&Arc<str>, &Stored)| Address {
            collection: collection.clone(),
            key: key.clone(),
        };
        kept.from(&prefix, "").map(address).collect()
    }

    /// A uid that no object had.
    pub(super) fn next_uid(&mut self) -> String {
        self.uids += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.uids)
    }

    /// An address for a Service, which no other was given.
    pub(super) fn next_address(&mut self) -> String {
        self.uids += 1;
        let number = self.uids % 65_534 + 1;
        format!("10.96.{}.{}", number / 256, number % 256)
    }

    /// Leaves out a uid that was given to an object of a dry run.
    pub(super) fn skip_uid(&mut self) {
        self.uids += 1;
    }

    /// Five characters that the next generated name ends in.
    pub(super) fn next_suffix(&mut self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        self.uids += 1;
        // A prime step, so that neighbours do not look alike.
        let mut rest = self.uids.wrapping_mul(7_368_787);
        let mut next = || {
            let letter = ALPHABET[(rest % ALPHABET.len() as u64) as usize];
            rest /= ALPHABET.len() as u64;
            char::from(letter)
        };
        (0..5).map(|_| next()).collect()
    }

    /// An object as it would be stored by the next write.
    pub(super) fn draft(&self, resource: &Resource, object: Value) -> Stored {
        let object = resource.to_storage(object);
        Stored::new(&object, self.version + 1, resource.edition())
    }

    /// As [`Self::draft`], of an object without `managedFields`.
    pub(super) fn managed_draft(
        &self,
        resource: &Resource,
        object: Value,
        managers: Vec<Managed>,
    ) -> Stored {
        let object = resource.to_storage(object);
        Stored::managed(object, managers, self.version + 1, resource.edition())
    }

    /// As [`Self::draft`], for a stored object that the server itself changed: whatever version of its
    /// resource it was written as, it stays that.
    pub(super) fn redraft(&self, stored: &Stored, object: &Value) -> Stored {
        stored.changed(object, self.version + 1)
    }

    /// Stores what [`Self::draft`] made. An object equal to the stored one is not written.
    pub(super) fn put(&mut self, address: &Address, after: Stored) -> Stored {
        let before = self.get(address).cloned();
        if let Some(before) = before.as_ref().filter(|b| b.has_same_content_as(&after)) {
            return before.clone();
        }
        self.version = after.version;
        self.keep_fresh(before.as_ref(), &after);
        self.reindex(address, before.as_ref(), Some(&after));
        let kept = self.collections.get_mut(&address.collection);
        let kept = kept.expect("a resource that is served has its collection");
        kept.objects.insert(address.key.clone(), after.clone());
        kept.history.push(Event {
            key: address.key.clone(),
            before,
            after: after.clone(),
            deleted: false,
        });
        after
    }

    /// Keeps the value of a written object, and drops that of the object it replaced.
    fn keep_fresh(&mut self, before: Option<&Stored>, after: &Stored) {
        if let Some(before) = before {
            before.fresh().forget();
        }
        self.fresh.push_back(after.fresh());
        if self.fresh.len() > FRESH
            && let Some(oldest) = self.fresh.pop_front()
        {
            oldest.forget();
        }
    }

    /// Removes an object and gives its last state, at the version of its removal.
    pub(super) fn remove(&mut self, address: &Address) -> Option<Stored> {
        let kept = self.collections.get_mut(&address.collection)?;
        let before = kept.objects.remove(&address.key)?;
        self.version += 1;
        let last = before.at(self.version);
        kept.history.push(Event {
            key: address.key.clone(),
            after: last.clone(),
            before: Some(before.clone()),
            deleted: true,
        });
        self.reindex(address, Some(&before), None);
        Some(last)
    }

    /// Keeps the index of owners, and notes who has to be looked at because of the change.
    fn reindex(&mut self, address: &Address, before: Option<&Stored>, after: Option<&Stored>) {
        let old = before.map_or(&[][..], Stored::owners);
        let new = after.map_or(&[][..], Stored::owners);
        for owner in old.iter().filter(|owner| !new.contains(owner)) {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(address);
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
            if let Some(owner) = self.owner_address(address, owner) {
                self.chores.push(owner);
            }
        }
        for owner in new {
            let dependents = self.dependents.entry(owner.uid.clone()).or_default();
            dependents.insert(address.clone());
        }
        match (before, after) {
            (Some(gone), None) => self.chores_of_removal(address, gone),
            (_, Some(after)) if is_chore(address, old, after) => {
                self.chores.push(address.clone());
            }
            _ => {}
        }
    }

    fn chores_of_removal(&mut self, address: &Address, gone: &Stored) {
        for dependent in self.dependents(gone.uid()) {
            self.chores.push(dependent);
        }
        let namespace = address.namespace();
        if !namespace.is_empty() {
            self.chores.push(namespace_address(namespace));
        }
        let resource = self.registry.of_collection(&address.collection);
        if let Some(custom) = resource.filter(|resource| !resource.is_builtin()) {
            // A definition that is going waits for its last object.
            let definition = definition_address(&custom.qualified());
            if self.get(&definition).is_some_and(Stored::is_deleting) {
                self.chores.push(definition);
            }
        }
        if *address.collection == *DEFINITIONS {
            self.chores.push(address.clone());
        }
    }

    /// The objects that name `uid` as an owner.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Address> {
        let dependents = self.dependents.get(uid);
        dependents.into_iter().flatten().cloned().collect()
    }

    /// Where the owner of the object at `dependent` is: in the same namespace or in none. None when
    /// its kind is not served, or lies in a namespace and the dependent does not.
    pub(super) fn owner_address(&self, dependent: &Address, owner: &Owner) -> Option<Address> {
        let resource = self.registry.of_kind(&owner.group, &owner.kind)?;
        let namespace = match (resource.namespaced, dependent.namespace()) {
            (true, "") => return None,
            (true, namespace) => namespace,
            (false, _) => "",
        };
        Some(resource.address(namespace, &owner.name))
    }
}

/// Whether an object that was written has to be looked at: it got owners, it is going, or it is a
/// definition.
fn is_chore(address: &Address, old_owners: &[Owner], after: &Stored) -> bool {
    after.is_deleting()
        || (!after.owners().is_empty() && after.owners() != old_owners)
        || *address.collection == *DEFINITIONS
}

impl Collection {
    /// The objects whose keys start with `prefix`, those after the key `after` only, by key.
    pub(super) fn from<'a>(
        &'a self,
        prefix: &'a str,
        after: &str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Stored)> {
        let start = match after {
            "" => Bound::Included(prefix),
            after => Bound::Excluded(after),
        };
        self.objects
            .range::<str, _>((start, Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The object with a key.
    pub(super) fn get(&self, key: &str) -> Option<&Stored> {
        self.objects.get(key)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]
    use serde_json::json;

    use super::*;
    use crate::api::address::{collection, key};

    fn put(state: &mut State, name: &str, metadata: Value) -> Stored {
        let resource = state.registry.find("", "v1", "configmaps").unwrap();
        let mut object = json!({"metadata": {"name": name, "uid": state.next_uid()}});
        for (key, value) in metadata.as_object().unwrap() {
            object["metadata"][key] = value.clone();
        }
        let draft = state.draft(&resource, object);
        state.put(&resource.address("ns", name), draft)
    }

    fn owned_by(name: &str, uid: &str) -> Value {
        json!({"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}]})
    }

    #[test]
    fn each_change_has_its_version_and_what_changes_nothing_has_none() {
        let mut state = State::new();
        let first = put(&mut state, "a", json!({"uid": "u"}));
        let again = put(&mut state, "a", json!({"uid": "u"}));
        assert_eq!(first.version, again.version);
        let changed = put(&mut state, "a", json!({"uid": "u", "labels": {"a": "b"}}));
        assert_eq!(changed.version, first.version + 1);
    }

    #[test]
    fn uids_count_objects() {
        let mut state = State::new();
        let a = put(&mut state, "a", json!({})).uid().to_owned();
        let b = put(&mut state, "b", json!({})).uid().to_owned();
        assert_eq!(a, "00000000-0000-4000-8000-000000000001");
        assert_ne!(a, b);
    }

    #[test]
    fn a_copy_goes_its_own_way() {
        let mut state = State::new();
        let owner = put(&mut state, "owner", json!({}));
        put(&mut state, "a", owned_by("owner", owner.uid()));
        let mut copy = state.copy();
        let changed = put(&mut copy, "a", json!({"uid": "u", "labels": {"a": "b"}}));
        let address = |state: &State| {
            state
                .registry
                .find("", "v1", "configmaps")
                .unwrap()
                .address("ns", "a")
        };
        assert_eq!(copy.get(&address(&copy)).unwrap().version, changed.version);
        assert_eq!(changed.version, state.version + 1);
        assert_eq!(state.get(&address(&state)).unwrap().version, state.version);
        assert_eq!(
            (
                state.dependents(owner.uid()).len(),
                copy.dependents(owner.uid()).len()
            ),
            (1, 0)
        );
    }

    #[test]
    fn owned_objects_are_chores_when_made_and_when_their_owner_goes() {
        let mut state = State::new();
        let owner = put(&mut state, "owner", json!({}));
        put(&mut state, "owned", owned_by("owner", owner.uid()));
        let owned = state.chores.pop().unwrap();
        assert_eq!(owned.name(), "owned");
        assert_eq!(state.chores.pop(), None);
        let resource = state.registry.find("", "v1", "configmaps").unwrap();
        state.remove(&resource.address("ns", "owner"));
        assert_eq!(state.chores.pop().unwrap().name(), "owned");
        state.remove(&owned);
        assert!(state.dependents(owner.uid()).is_empty());
    }

    #[test]
    fn keys_sort_as_they_would_in_etcd() {
        assert!(key("a-b", "x") < key("a", "x"));
        let mut state = State::new();
        put(&mut state, "b", json!({}));
        put(&mut state, "a", json!({}));
        let collection = collection("", "configmaps");
        let names: Vec<String> = state
            .addresses(&collection, "ns")
            .iter()
            .map(|address| address.name().to_owned())
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert!(state.addresses(&collection, "n").is_empty());
    }
}
