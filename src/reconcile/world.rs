//! What a controller sees of the cluster: a read-only view of what is known of it.
//!
//! In: a snapshot. Out: look-ups. It does not know who keeps the snapshot, or who looks.

use std::sync::Arc;

use jiff::Timestamp;

pub(crate) use super::parent::GroupKind;
pub(crate) use super::parent::Parent;
use super::snapshot::{Answer, KeyAnswer, Snapshot};
use crate::health::Live;
use crate::model::{
    AdapterError, CredentialRequest, Frontend, FrontendRequest, KeyRequest, ObjectId,
    RejectRequest, WorkloadNode,
};

/// What is known of one object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lookup<'a> {
    /// It exists.
    Present(Live<'a>),
    /// It does not exist.
    Absent,
    /// It is not known: its kind has not been fully listed yet, or its namespace is not watched.
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
pub(crate) struct World<'a>(&'a Snapshot);

impl<'a> World<'a> {
    /// The view of what is known.
    pub(crate) const fn of(snapshot: &'a Snapshot) -> Self {
        Self(snapshot)
    }

    /// What is known of the object `id`.
    pub(crate) fn get(self, id: &ObjectId) -> Lookup<'a> {
        match self.0.get(id) {
            Some(live) => Lookup::Present(live),
            None if self.is_outside(id) => Lookup::NotSynced,
            None if self.0.is_synced(&GroupKind::from(id)) => Lookup::Absent,
            None => Lookup::NotSynced,
        }
    }

    /// Returns true if the object is in a namespace that is not watched, so that nobody knows if it exists.
    pub(crate) fn is_outside(self, id: &ObjectId) -> bool {
        let watched = self.0.watched.of_kind(&GroupKind::from(id));
        !id.namespace.is_empty() && !watched.has(&id.namespace)
    }

    /// The objects below a parent, by name, of synced kinds or not.
    pub(crate) fn below(self, parent: &Parent) -> impl Iterator<Item = Live<'a>> + use<'a> {
        let ids = self.0.below.get(parent).into_iter().flatten();
        ids.filter_map(move |id| self.0.get(id))
    }

    /// The objects, of synced kinds or not, that name this uid as an owner.
    pub(crate) fn owned(self, uid: &str) -> impl Iterator<Item = Live<'a>> + use<'a> {
        let ids = self.0.owned.get(uid).into_iter().flatten();
        ids.filter_map(move |id| self.0.get(id))
    }

    /// The ids of the same objects.
    pub(crate) fn owned_ids(self, uid: &str) -> impl Iterator<Item = &'a ObjectId> + use<'a> {
        let ids = self.0.owned.get(uid).into_iter().flatten();
        ids.map(Arc::as_ref)
    }

    /// Whether every object of the kind is known.
    pub(crate) fn is_synced(self, kind: &GroupKind) -> bool {
        self.0.is_synced(kind)
    }

    /// Whether the cluster is known not to serve the kind.
    pub(crate) fn is_unserved(self, kind: &GroupKind) -> bool {
        self.0.unserved.contains(kind)
    }

    /// Whether the kind may not be watched.
    pub(crate) fn is_denied(self, kind: &GroupKind) -> bool {
        self.0.denied.contains_key(kind)
    }

    /// What to do so that the kind may be watched, if it may not.
    pub(crate) fn denied(self, kind: &GroupKind) -> Option<&'a str> {
        self.0.denied.get(kind).map(String::as_str)
    }

    /// Why the last write to the object failed, if it did.
    pub(crate) fn refusal(self, id: &ObjectId) -> Option<&'a AdapterError> {
        self.0.refusals.get(id)
    }

    /// The nodes of the workload cluster of `cluster`, or why they are not known; `None` while nothing was heard of it.
    pub(crate) fn nodes(
        self,
        cluster: &ObjectId,
    ) -> Option<Result<&'a [WorkloadNode], &'a AdapterError>> {
        let nodes = self.0.nodes.get(cluster)?;
        Some(nodes.as_ref().map(Vec::as_slice))
    }

    /// What a vault answered about a key; `None` while there is no answer.
    pub(crate) fn key(self, request: &KeyRequest) -> Option<&'a KeyAnswer> {
        self.0.keys.get(request)
    }

    /// Whether a credential works, and since when that is known; `None` while there is no answer.
    pub(crate) fn credential(
        self,
        request: &CredentialRequest,
    ) -> Option<(Result<(), &'a AdapterError>, Timestamp)> {
        let (answer, at) = self.0.credentials.get(request)?;
        Some((answer.as_ref().copied(), *at))
    }

    /// Which frontend has an address; `None` while there is no answer.
    pub(crate) fn frontend(self, request: &FrontendRequest) -> Option<&'a Answer<Frontend>> {
        self.0.frontends.get(request)
    }

    /// How many connections of others a Private Link Service had; `None` while there is no answer.
    pub(crate) fn connections(self, request: &RejectRequest) -> Option<&'a Answer<usize>> {
        self.0.connections.get(request)
    }

    /// The version at which the objects of a kind are read; `None` while none of them was.
    pub(crate) fn version(self, kind: &GroupKind) -> Option<&'a str> {
        self.0.versions.get(kind).map(String::as_str)
    }

    /// The version of a Secret with a credential as it was written last; as it was seen first, if another process wrote it.
    pub(crate) fn written(self, secret: &ObjectId) -> Option<&'a str> {
        self.0.written.get(secret).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Namespaces;

    #[test]
    fn nothing_is_absent_where_nobody_looks() {
        let mut snapshot = Snapshot::default();
        snapshot.watched = Namespaces::of_text("a").into();
        for kind in ["Secret", "Namespace"] {
            snapshot.sync(&GroupKind::new("", kind), true);
        }
        let world = World::of(&snapshot);
        let get = |kind, namespace| world.get(&ObjectId::new("", kind, namespace, "one"));
        assert!(get("Secret", "a").is_absent() && get("Namespace", "").is_absent());
        assert!(matches!(get("Secret", "b"), Lookup::NotSynced));
    }

    #[test]
    fn a_look_up_knows_what_it_does_not_know() {
        let id = |kind: &str, name: &str| ObjectId::new("", kind, "ns", name);
        let mut snapshot = Snapshot::default();
        for kind in ["Secret", "ConfigMap"] {
            let metadata = json!({"name": "a", "namespace": "ns"});
            snapshot.insert(json!({"apiVersion": "v1", "kind": kind, "metadata": metadata}));
        }
        snapshot.sync(&GroupKind::new("", "ConfigMap"), true);
        let world = World::of(&snapshot);
        assert!(world.get(&id("ConfigMap", "b")).is_absent());
        assert!(matches!(world.get(&id("Secret", "b")), Lookup::NotSynced));
        for kind in ["Secret", "ConfigMap"] {
            let found = world.get(&id(kind, "a")).present();
            assert_eq!(found.map(Live::kind), Some(kind));
        }
    }
}
