//! What the actors know of the cluster: the live objects, in order.
//!
//! In: objects from watches and from the answers to writes. Out: look-ups, and whether something
//! changed. It does not know who looks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::health::Live;
use crate::model::ObjectId;

/// Live objects by id, and who owns whom.
#[derive(Debug, Default)]
pub(crate) struct World {
    objects: BTreeMap<ObjectId, Value>,
    /// Objects by the uid of each of their owners.
    owned: BTreeMap<String, BTreeSet<ObjectId>>,
    /// Uids of objects that are gone while answers about them may still be under way.
    buried: BTreeSet<String>,
}

impl World {
    /// The object of this id.
    pub(crate) fn get(&self, id: &ObjectId) -> Option<Live<'_>> {
        self.objects.get(id).map(Live)
    }

    /// Every object of a kind in a namespace, by name.
    pub(crate) fn every<'a>(
        &'a self,
        group: &'a str,
        kind: &'a str,
        namespace: &'a str,
    ) -> impl Iterator<Item = Live<'a>> {
        let first = ObjectId::new(group, kind, namespace, "");
        let same = move |id: &ObjectId| id.is(group, kind) && id.namespace == namespace;
        let from = self.objects.range(first..);
        from.take_while(move |(id, _)| same(id))
            .map(|(_, object)| Live(object))
    }

    /// Ids of every object of a kind, in all namespaces.
    pub(crate) fn ids(&self, group: &str, kind: &str) -> BTreeSet<ObjectId> {
        let from = self.objects.range(ObjectId::new(group, kind, "", "")..);
        from.map(|(id, _)| id)
            .take_while(|id| id.is(group, kind))
            .cloned()
            .collect()
    }

    /// The objects that name this uid as an owner.
    pub(crate) fn owned(&self, uid: &str) -> impl Iterator<Item = Live<'_>> {
        let ids = self.owned.get(uid).into_iter().flatten();
        ids.filter_map(|id| self.get(id))
    }

    /// Takes in an object unless a newer one is here or it is gone already. Says whether it was news.
    pub(crate) fn insert(&mut self, mut object: Value) -> bool {
        let live = Live(&object);
        let (id, version) = (live.id(), version(live));
        let known = self.objects.get(&id).map(Live);
        let old = known.is_some_and(|known| self::version(known) >= version);
        let stale = old && known.map(Live::uid) == Some(live.uid());
        if stale || self.buried.contains(live.uid()) {
            return false;
        }
        self.disown(&id);
        for owner in owners(live) {
            self.owned.entry(owner).or_default().insert(id.clone());
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        self.objects.insert(id, object);
        true
    }

    /// Forgets an object. Says whether it was here.
    pub(crate) fn remove(&mut self, id: &ObjectId, uid: &str) -> bool {
        self.buried.insert(uid.to_owned());
        let here = self.get(id).is_some_and(|live| live.uid() == uid);
        if here {
            self.disown(id);
            self.objects.remove(id);
        }
        here
    }

    /// No answers are under way any more that could bring back what is gone.
    pub(crate) fn forget_buried(&mut self) {
        self.buried.clear();
    }

    fn disown(&mut self, id: &ObjectId) {
        let Some(object) = self.objects.get(id) else {
            return;
        };
        for owner in owners(Live(object)) {
            if let Some(children) = self.owned.get_mut(&owner) {
                children.remove(id);
                if children.is_empty() {
                    self.owned.remove(&owner);
                }
            }
        }
    }
}

/// The uids of an object's owners.
fn owners(live: Live<'_>) -> Vec<String> {
    let references = live.list(&["metadata", "ownerReferences"]).iter();
    references
        .map(|owner| Live(owner).text(&["uid"]).to_owned())
        .collect()
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

    #[test]
    fn only_newer_objects_are_taken() {
        let mut world = World::default();
        assert!(world.insert(object("a", 5, "x")));
        assert!(!world.insert(object("a", 5, "y")));
        assert!(!world.insert(object("a", 4, "y")));
        assert_eq!(world.owned("x").count(), 1);
        assert!(world.insert(object("a", 6, "y")));
        assert_eq!((world.owned("x").count(), world.owned("y").count()), (0, 1));
    }

    #[test]
    fn what_is_gone_does_not_come_back_by_a_late_answer() {
        let mut world = World::default();
        world.insert(object("a", 5, "x"));
        assert!(world.remove(&id("a"), "uid-a"));
        assert!(!world.insert(object("a", 6, "x")));
        assert!(world.get(&id("a")).is_none());
        world.forget_buried();
        assert!(world.insert(object("a", 7, "x")));
    }

    #[test]
    fn a_kind_is_listed_within_its_namespace() {
        let mut world = World::default();
        for name in ["b", "a"] {
            world.insert(object(name, 1, "x"));
        }
        let mut other = object("c", 1, "x");
        other["metadata"]["namespace"] = json!("other");
        world.insert(other);
        let names: Vec<&str> = world.every("", "ConfigMap", "ns").map(Live::name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(world.ids("", "ConfigMap").len(), 3);
    }
}
