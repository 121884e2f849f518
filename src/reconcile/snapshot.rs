//! What is known of a cluster: the objects as they were last seen, with the indexes that controllers look them up by.
//!
//! In: objects, and what is known besides: which kinds are synced or not served, which writes were refused, the nodes of
//! workload clusters, the versions of keys. Out: a [`World`](super::world::World) to look at. It does not know where any
//! of it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::kept::Kept;
use super::parent::{GroupKind, Parent, owner_uids};
use crate::api::labels::CREDENTIAL_VERSION;
use crate::health::Live;
use crate::model::{
    AdapterError, AzureError, CredentialRequest, Frontend, FrontendRequest, KeyError, KeyRequest,
    Namespaces, ObjectId, RejectRequest, WorkloadNode,
};

/// What a vault answered about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyAnswer {
    /// The newest version, or why there is none.
    pub(crate) version: Result<String, KeyError>,
    /// When.
    pub(crate) at: Timestamp,
    /// Since when the answer, or the fault, is of this sort.
    pub(crate) since: Timestamp,
}

/// What Azure Resource Manager answered, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer<T> {
    pub(crate) found: Result<T, AzureError>,
    pub(crate) at: Timestamp,
}

/// Kinds that may not be watched, each with what to do about it.
pub(crate) type Denied = BTreeMap<GroupKind, String>;

/// The namespaces of which something is known.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    namespaces: Namespaces,
    /// Those of some kinds, which are other ones.
    of: BTreeMap<GroupKind, Namespaces>,
}

impl Watched {
    /// Of these kinds only the objects in one namespace are known.
    #[must_use]
    pub(crate) fn only_in(mut self, namespace: &str, kinds: &[GroupKind]) -> Self {
        let near = Namespaces::Some([namespace.to_owned()].into());
        let kinds = kinds.iter().map(|kind| (kind.clone(), near.clone()));
        self.of.extend(kinds);
        self
    }

    /// The namespaces in which objects of a kind are known.
    pub(crate) fn of_kind(&self, kind: &GroupKind) -> &Namespaces {
        self.of.get(kind).unwrap_or(&self.namespaces)
    }
}

impl From<Namespaces> for Watched {
    fn from(namespaces: Namespaces) -> Self {
        let of = BTreeMap::new();
        Self { namespaces, of }
    }
}

/// What is known of a cluster.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Snapshot {
    /// The namespaces of which anything is known.
    pub(crate) watched: Watched,
    /// The objects by id.
    objects: BTreeMap<Arc<ObjectId>, Kept>,
    /// Objects by the uid of each of their owners.
    pub(super) owned: BTreeMap<String, BTreeSet<Arc<ObjectId>>>,
    /// Objects by their parent.
    pub(super) below: BTreeMap<Parent, BTreeSet<Arc<ObjectId>>>,
    /// Kinds of which every object is known.
    pub(super) synced: BTreeSet<GroupKind>,
    /// Kinds that the cluster does not serve; they are synced as well.
    pub(super) unserved: BTreeSet<GroupKind>,
    /// Kinds that may not be watched. What was known of them before stays.
    pub(crate) denied: Denied,
    /// Why the last write to an object failed.
    pub(super) refusals: BTreeMap<ObjectId, AdapterError>,
    /// The nodes of the workload cluster of each Cluster.
    pub(super) nodes: BTreeMap<ObjectId, Result<Vec<WorkloadNode>, AdapterError>>,
    /// The newest answer about each key that was asked for.
    pub(super) keys: BTreeMap<KeyRequest, KeyAnswer>,
    /// Whether each credential works that was asked about, and since when that is known.
    pub(super) credentials: BTreeMap<CredentialRequest, (Result<(), AdapterError>, Timestamp)>,
    /// The newest answer about each frontend that was looked for.
    pub(super) frontends: BTreeMap<FrontendRequest, Answer<Frontend>>,
    /// The newest answer about the connections of each Private Link Service that is to be deleted.
    pub(super) connections: BTreeMap<RejectRequest, Answer<usize>>,
    /// The version at which each kind was listed.
    pub(super) versions: BTreeMap<GroupKind, String>,
    /// The version of each Secret with a credential as it was written last; as it was seen first, if not by this process.
    pub(super) written: BTreeMap<ObjectId, String>,
}

impl Snapshot {
    /// The object of this id.
    pub(crate) fn get(&self, id: &ObjectId) -> Option<Live<'_>> {
        self.objects.get(id).map(Kept::live)
    }

    /// The uid and the resource version of an object.
    pub(crate) fn version(&self, id: &ObjectId) -> Option<(&str, &str)> {
        self.objects.get(id).map(Kept::version)
    }

    /// Keeps the objects that nobody looked at since the last call as text, unless there are fewer objects than `few`.
    pub(crate) fn fold(&mut self, few: usize) {
        let is_large = self.objects.len() >= few;
        for kept in self.objects.values_mut() {
            if kept.forget() && is_large {
                kept.fold();
            }
        }
    }

    /// How many objects are kept as text.
    #[cfg(test)]
    pub(crate) fn folded(&self) -> usize {
        self.objects.values().filter(|kept| kept.is_text()).count()
    }

    /// All objects, in the order of their ids.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = Live<'_>> {
        self.objects.values().map(Kept::live)
    }

    /// The ids of all objects.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &ObjectId> {
        self.objects.keys().map(Arc::as_ref)
    }

    /// The ids of the objects of a kind.
    pub(crate) fn of_kind(&self, kind: &GroupKind) -> impl Iterator<Item = &ObjectId> {
        let first = ObjectId::new(kind.group.as_str(), kind.kind.as_str(), "", "");
        let ids = self.objects.range::<ObjectId, _>(first..);
        let ids = ids.map(|(id, _)| id.as_ref());
        ids.take_while(|id| id.is(&kind.group, &kind.kind))
    }

    /// Stores an object in place of the one that has its id.
    pub(crate) fn insert(&mut self, object: Value) {
        let live = Live(&object);
        let id = live.id();
        self.unlink(&id);
        let known = self.objects.get_key_value(&id);
        let id = known.map_or_else(|| Arc::new(id), |(known, _)| Arc::clone(known));
        for owner in owner_uids(live) {
            let owned = self.owned.entry(owner.to_owned()).or_default();
            owned.insert(Arc::clone(&id));
        }
        if id.is("", "Secret") && !live.annotation(CREDENTIAL_VERSION).is_empty() {
            let version = live.text(&["metadata", "resourceVersion"]);
            let written = self.written.entry(ObjectId::clone(&id));
            written.or_insert_with(|| version.to_owned());
        }
        for parent in Parent::all(live) {
            let below = self.below.entry(parent).or_default();
            below.insert(Arc::clone(&id));
        }
        self.objects.insert(id, Kept::new(object));
    }

    /// Forgets an object, and why it was refused.
    pub(crate) fn remove(&mut self, id: &ObjectId) -> Option<Value> {
        self.unlink(id);
        self.refusals.remove(id);
        self.written.remove(id);
        self.objects.remove(id).map(Kept::into_object)
    }

    fn unlink(&mut self, id: &ObjectId) {
        let Some(live) = self.objects.get(id).map(Kept::live) else {
            return;
        };
        for owner in owner_uids(live) {
            take(&mut self.owned, owner, id);
        }
        for parent in Parent::all(live) {
            take(&mut self.below, &parent, id);
        }
    }

    /// Every object of this kind is known now; there are none if the cluster does not serve it. Returns whether that
    /// was known before.
    pub(crate) fn sync(&mut self, kind: &GroupKind, is_served: bool) -> bool {
        let was_served = match is_served {
            true => !self.unserved.remove(kind),
            false => self.unserved.insert(kind.clone()),
        };
        !self.synced.insert(kind.clone()) && was_served == is_served
    }

    /// Whether every object of this kind is known.
    pub(crate) fn is_synced(&self, kind: &GroupKind) -> bool {
        self.synced.contains(kind)
    }

    /// Records that the last write to an object failed, or that it succeeded. Returns whether that is news.
    pub(crate) fn set_refusal(&mut self, id: &ObjectId, refusal: Option<AdapterError>) -> bool {
        match refusal {
            Some(refusal) => self.refusals.insert(id.clone(), refusal.clone()) != Some(refusal),
            None => self.refusals.remove(id).is_some(),
        }
    }

    /// Records the nodes of the workload cluster of a Cluster; `None` when they are not watched any more. Returns whether
    /// that is news.
    pub(crate) fn set_nodes(
        &mut self,
        cluster: &ObjectId,
        nodes: Option<Result<Vec<WorkloadNode>, AdapterError>>,
    ) -> bool {
        match nodes {
            Some(nodes) => self.nodes.insert(cluster.clone(), nodes.clone()) != Some(nodes),
            None => self.nodes.remove(cluster).is_some(),
        }
    }

    /// Records the newest version of a key, or why there is none.
    pub(crate) fn set_key(
        &mut self,
        request: KeyRequest,
        version: Result<String, KeyError>,
        at: Timestamp,
    ) {
        let before = self.keys.get(&request);
        let fault = |version: &Result<String, KeyError>| version.as_ref().err().map(|e| e.fault);
        let same = before.filter(|before| fault(&before.version) == fault(&version));
        let since = same.map_or(at, |same| same.since);
        self.keys.insert(request, KeyAnswer { version, at, since });
    }

    /// Records which frontend was found. One that is known stays while Azure only fails to answer. Returns whether that is
    /// news.
    pub(crate) fn set_frontend(
        &mut self,
        request: FrontendRequest,
        found: Result<Frontend, AzureError>,
        at: Timestamp,
    ) -> bool {
        let before = self.frontends.get(&request).map(|answer| &answer.found);
        let says = |error: &AzureError| error.fault.is_answer();
        if before.is_some_and(Result::is_ok) && found.as_ref().is_err_and(|error| !says(error)) {
            return false;
        }
        let is_news = before != Some(&found);
        self.frontends.insert(request, Answer { found, at });
        is_news
    }

    /// Records how many connections a Private Link Service had.
    pub(crate) fn set_connections(
        &mut self,
        request: RejectRequest,
        found: Result<usize, AzureError>,
        at: Timestamp,
    ) {
        self.connections.insert(request, Answer { found, at });
    }

    /// Records the version at which a kind is listed.
    pub(crate) fn set_version(&mut self, kind: &GroupKind, version: &str) {
        self.versions.insert(kind.clone(), version.to_owned());
    }

    /// Records whether a credential works, in place of what was known of an earlier version of it. Returns whether that is
    /// news.
    pub(crate) fn set_credential(
        &mut self,
        request: CredentialRequest,
        answer: Result<(), AdapterError>,
        now: Timestamp,
    ) -> bool {
        self.credentials.retain(|known, _| {
            known.of != request.of
                || known.environment != request.environment
                || known.version == request.version
        });
        let before = self.credentials.insert(request, (answer.clone(), now));
        before.map(|(before, _)| before) != Some(answer)
    }

    /// Records the version of a Secret with a credential as it was written.
    pub(crate) fn set_written(&mut self, secret: &ObjectId, version: &str) {
        self.written.insert(secret.clone(), version.to_owned());
    }
}

/// Takes an id out of a set, and the set away when it is empty.
fn take<K, Q>(sets: &mut BTreeMap<K, BTreeSet<Arc<ObjectId>>>, key: &Q, id: &ObjectId)
where
    K: Ord + std::borrow::Borrow<Q>,
    Q: Ord + ?Sized,
{
    if let Some(set) = sets.get_mut(key) {
        set.remove(id);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::reconcile::world::World;

    fn pool(name: &str, cluster: &str, owner: &str) -> Value {
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "metadata": {"name": name,
            "namespace": "ns", "uid": format!("uid-{name}"), "ownerReferences": [{"uid": owner}]},
            "spec": {"clusterName": cluster}})
    }

    fn names(snapshot: &Snapshot, cluster: &str) -> Vec<String> {
        let parent = Parent::new("cluster.x-k8s.io", "MachinePool", "ns", cluster);
        let pools = World::of(snapshot).below(&parent);
        pools.map(|pool| pool.name().to_owned()).collect()
    }

    #[test]
    fn an_object_is_found_below_its_newest_parent_and_owner_only() {
        let mut snapshot = Snapshot::default();
        snapshot.insert(pool("b", "one", "x"));
        snapshot.insert(pool("a", "one", "x"));
        assert_eq!(names(&snapshot, "one"), ["a", "b"]);
        snapshot.insert(pool("a", "two", "y"));
        assert_eq!(names(&snapshot, "one"), ["b"]);
        assert_eq!(names(&snapshot, "two"), ["a"]);
        let owned = |uid| World::of(&snapshot).owned(uid).count();
        assert_eq!((owned("x"), owned("y")), (1, 1));
        let id = ObjectId::new("cluster.x-k8s.io", "MachinePool", "ns", "a");
        assert!(snapshot.remove(&id).is_some());
        assert!(names(&snapshot, "two").is_empty());
        assert!(!snapshot.owned.contains_key("y") && snapshot.below.len() == 1);
    }

    #[test]
    fn it_is_known_what_is_news() {
        let mut snapshot = Snapshot::default();
        let kind = GroupKind::new("", "Secret");
        assert!(!snapshot.sync(&kind, false) && snapshot.sync(&kind, false));
        assert!(!snapshot.sync(&kind, true) && snapshot.sync(&kind, true));
        let id = ObjectId::new("", "Secret", "ns", "a");
        let refusal = AdapterError::new(crate::model::ErrorClass::Invalid, "no");
        assert!(!snapshot.set_refusal(&id, None));
        assert!(snapshot.set_refusal(&id, Some(refusal.clone())));
        assert!(!snapshot.set_refusal(&id, Some(refusal)));
        assert!(snapshot.set_refusal(&id, None));
    }
}
