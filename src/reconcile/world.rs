//! What a controller sees of the cluster: a read-only view of the objects as they were last seen.
//!
//! In: the objects, who owns whom, and which kinds are synced. Out: look-ups. It does not know
//! who keeps the objects, or who reads them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::health::Live;
use crate::model::ObjectId;

/// A kind of a group, at whatever version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
}

impl GroupKind {
    /// The kind `kind` of `group`.
    pub(crate) fn new(group: &str, kind: &str) -> Self {
        let (group, kind) = (group.to_owned(), kind.to_owned());
        Self { group, kind }
    }
}

impl From<&ObjectId> for GroupKind {
    fn from(id: &ObjectId) -> Self {
        Self::new(&id.group, &id.kind)
    }
}

/// What is known of one object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lookup<'a> {
    /// It exists.
    Present(Live<'a>),
    /// It does not exist.
    Absent,
    /// It is not known yet: its kind has not been fully listed.
    NotSynced,
}

impl<'a> Lookup<'a> {
    /// The object, if it is known to exist.
    pub(crate) const fn present(self) -> Option<Live<'a>> {
        match self {
            Self::Present(live) => Some(live),
            Self::Absent | Self::NotSynced => None,
        }
    }

    /// Whether it is known not to exist.
    pub(crate) const fn is_absent(self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// A view of the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World<'a> {
    /// The objects by id.
    pub(crate) objects: &'a BTreeMap<ObjectId, Value>,
    /// The objects by the uid of each of their owners.
    pub(crate) owned: &'a BTreeMap<String, BTreeSet<ObjectId>>,
    /// The kinds of which every object is known.
    pub(crate) synced: &'a BTreeSet<GroupKind>,
}

impl<'a> World<'a> {
    /// What is known of the object `id`.
    pub(crate) fn get(self, id: &ObjectId) -> Lookup<'a> {
        match self.objects.get(id) {
            Some(object) => Lookup::Present(Live(object)),
            None if self.is_synced(&GroupKind::from(id)) => Lookup::Absent,
            None => Lookup::NotSynced,
        }
    }

    /// The objects of a kind in a namespace, by name; empty until they are synced.
    pub(crate) fn list(
        self,
        group: &'a str,
        kind: &'a str,
        namespace: &'a str,
    ) -> Option<impl Iterator<Item = Live<'a>>> {
        let first = ObjectId::new(group, kind, namespace, "");
        let same = move |id: &ObjectId| id.is(group, kind) && id.namespace == namespace;
        self.is_synced(&GroupKind::new(group, kind)).then(|| {
            let from = self.objects.range(first..);
            from.take_while(move |(id, _)| same(id))
                .map(|(_, object)| Live(object))
        })
    }

    /// The objects, of synced kinds or not, that name this uid as an owner.
    pub(crate) fn owned(self, uid: &str) -> impl Iterator<Item = Live<'a>> {
        let ids = self.owned.get(uid).into_iter().flatten();
        ids.filter_map(move |id| self.objects.get(id)).map(Live)
    }

    fn is_synced(self, kind: &GroupKind) -> bool {
        self.synced.contains(kind)
    }
}

/// The uids of an object's owners.
pub(crate) fn owner_uids(live: Live<'_>) -> impl Iterator<Item = &str> {
    let references = live.list(&["metadata", "ownerReferences"]).iter();
    references.map(|owner| Live(owner).text(&["uid"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_look_up_knows_what_it_does_not_know() {
        let id = |kind: &str, name: &str| ObjectId::new("", kind, "ns", name);
        let objects = ["Secret", "ConfigMap"].map(|kind| {
            (
                id(kind, "a"),
                json!({"kind": kind, "metadata": {"name": "a"}}),
            )
        });
        let (objects, owned) = (BTreeMap::from(objects), BTreeMap::new());
        let synced = BTreeSet::from([GroupKind::new("", "ConfigMap")]);
        let world = World {
            objects: &objects,
            owned: &owned,
            synced: &synced,
        };
        assert!(world.get(&id("ConfigMap", "b")).is_absent());
        assert!(matches!(world.get(&id("Secret", "b")), Lookup::NotSynced));
        for kind in ["Secret", "ConfigMap"] {
            let found = world.get(&id(kind, "a")).present();
            assert_eq!(found.map(Live::kind), Some(kind));
        }
        let names = |kind| Some(world.list("", kind, "ns")?.map(Live::name).collect());
        assert_eq!(names("ConfigMap"), Some(vec!["a"]));
        assert_eq!(names("Secret"), None::<Vec<&str>>);
    }
}
