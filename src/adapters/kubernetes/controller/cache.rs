//! What the controllers know of the cluster: the live objects, in order.
//!
//! In: objects from watches and from the answers to writes. Out: a [`World`] to look at, and whether
//! something changed. It does not know who looks, nor where the objects come from.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::world::{GroupKind, World, owner_uids};

/// Live objects by id, and who owns whom.
#[derive(Debug, Default)]
pub(super) struct Cache {
    objects: BTreeMap<ObjectId, Value>,
    /// Objects by the uid of each of their owners.
    owned: BTreeMap<String, BTreeSet<ObjectId>>,
    /// Kinds of which every object is known.
    synced: BTreeSet<GroupKind>,
    /// Lists in progress: what of the kind was known before and was not seen since.
    missing: BTreeMap<GroupKind, BTreeSet<ObjectId>>,
    /// Uids of deleted objects, as long as answers about them may arrive.
    deleted: BTreeSet<String>,
}

impl Cache {
    /// What controllers see.
    pub(super) fn world(&self) -> World<'_> {
        World {
            objects: &self.objects,
            owned: &self.owned,
            synced: &self.synced,
        }
    }

    /// The object of this id.
    pub(super) fn get(&self, id: &ObjectId) -> Option<Live<'_>> {
        self.objects.get(id).map(Live)
    }

    /// Whether every object of this kind is known.
    pub(super) fn is_synced(&self, kind: &GroupKind) -> bool {
        self.synced.contains(kind)
    }

    /// Stores an object unless a newer one is here or it was deleted. Returns whether it was new.
    pub(super) fn insert(&mut self, mut object: Value) -> bool {
        let live = Live(&object);
        let (id, version) = (live.id(), version(live));
        for missing in self.missing.values_mut() {
            missing.remove(&id);
        }
        let known = self.objects.get(&id).map(Live);
        let old = known.is_some_and(|known| self::version(known) >= version);
        let stale = old && known.map(Live::uid) == Some(live.uid());
        if stale || self.deleted.contains(live.uid()) {
            return false;
        }
        self.disown(&id);
        for owner in owner_uids(live) {
            let owned = self.owned.entry(owner.to_owned()).or_default();
            owned.insert(id.clone());
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        self.objects.insert(id, object);
        true
    }

    /// Forgets a deleted object. Says whether it was here.
    pub(super) fn remove(&mut self, id: &ObjectId, uid: &str) -> bool {
        self.deleted.insert(uid.to_owned());
        let here = self.get(id).is_some_and(|live| live.uid() == uid);
        if here {
            self.disown(id);
            self.objects.remove(id);
        }
        here
    }

    /// No more answers can arrive that would bring deleted objects back.
    pub(super) fn forget_deleted(&mut self) {
        self.deleted.clear();
    }

    /// A list of all objects of a kind begins.
    pub(super) fn start_list(&mut self, kind: &GroupKind) {
        let first = ObjectId::new(kind.group.as_str(), kind.kind.as_str(), "", "");
        let known = self.objects.range(first..).map(|(id, _)| id);
        let known = known.take_while(|id| id.is(&kind.group, &kind.kind));
        let known = known.cloned().collect();
        self.missing.insert(kind.clone(), known);
    }

    /// The list is complete, so that the kind is synced. Forgets what it did not hold, and names it.
    pub(super) fn end_list(&mut self, kind: &GroupKind) -> Vec<ObjectId> {
        self.synced.insert(kind.clone());
        let missing = self.missing.remove(kind).unwrap_or_default().into_iter();
        let removed = missing.filter(|id| {
            let uid = self.get(id).map(|live| live.uid().to_owned());
            self.remove(id, &uid.unwrap_or_default())
        });
        removed.collect()
    }

    fn disown(&mut self, id: &ObjectId) {
        let Some(object) = self.objects.get(id) else {
            return;
        };
        for owner in owner_uids(Live(object)) {
            if let Some(children) = self.owned.get_mut(owner) {
                children.remove(id);
                if children.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
    }
}

/// The server's count of changes when this object was written. API servers count up.
fn version(live: Live<'_>) -> u64 {
    let text = live.text(&["metadata", "resourceVersion"]);
    text.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: u32, owner: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns",
            "uid": format!("uid-{name}"), "resourceVersion": version.to_string(),
            "ownerReferences": [{"uid": owner}]}})
    }

    fn id(name: &str) -> ObjectId {
        ObjectId::new("", "ConfigMap", "ns", name)
    }

    fn owned(cache: &Cache, uid: &str) -> usize {
        cache.world().owned(uid).count()
    }

    #[test]
    fn only_newer_objects_are_cached() {
        let mut cache = Cache::default();
        assert!(cache.insert(object("a", 5, "x")));
        assert!(!cache.insert(object("a", 5, "y")));
        assert!(!cache.insert(object("a", 4, "y")));
        assert_eq!(owned(&cache, "x"), 1);
        assert!(cache.insert(object("a", 6, "y")));
        assert_eq!((owned(&cache, "x"), owned(&cache, "y")), (0, 1));
    }

    #[test]
    fn a_late_answer_does_not_bring_back_what_was_deleted() {
        let mut cache = Cache::default();
        cache.insert(object("a", 5, "x"));
        assert!(cache.remove(&id("a"), "uid-a"));
        assert!(!cache.insert(object("a", 6, "x")));
        assert!(cache.get(&id("a")).is_none());
        cache.forget_deleted();
        assert!(cache.insert(object("a", 7, "x")));
    }

    #[test]
    fn a_complete_list_syncs_its_kind_and_removes_what_it_lacks() {
        let kind = GroupKind::new("", "ConfigMap");
        let mut cache = Cache::default();
        for name in ["a", "b", "c"] {
            cache.insert(object(name, 1, "x"));
        }
        cache.start_list(&kind);
        assert!(!cache.is_synced(&kind));
        cache.insert(object("a", 1, "x"));
        cache.insert(object("c", 2, "x"));
        assert_eq!(cache.end_list(&kind), [id("b")]);
        assert!(cache.is_synced(&kind) && cache.world().get(&id("b")).is_absent());
        assert_eq!(owned(&cache, "x"), 2);
    }

    #[test]
    fn a_kind_is_listed_within_its_namespace() {
        let mut cache = Cache::default();
        for name in ["b", "a"] {
            cache.insert(object(name, 1, "x"));
        }
        let mut other = object("c", 1, "x");
        other["metadata"]["namespace"] = json!("other");
        cache.insert(other);
        assert!(cache.world().list("", "ConfigMap", "ns").is_none());
        cache.end_list(&GroupKind::new("", "ConfigMap"));
        let found = cache.world().list("", "ConfigMap", "ns").into_iter();
        let names: Vec<&str> = found.flatten().map(Live::name).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
