//! What the controllers know of the cluster: the newest state of every object.
//!
//! In: objects from watches and from the answers to writes. Out: a [`World`] to look at, and what an object that changed
//! was and is below. Of Secrets only kubeconfigs and the certificates of authorities are kept, and what was not looked at
//! for a while is kept as text. It does not know its readers, nor where the objects come from.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::api::azure_private_link_service::KIND;
use crate::api::managers::{CAPZ, EMBEDDED};
use crate::api::platform::HYPERSHIFT;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::Watched;
use crate::reconcile::links::NO_KEY;
use crate::reconcile::snapshot::Snapshot;
use crate::reconcile::world::{GroupKind, Parent, World};

/// What is read of Secrets: how their names end, by Cluster API's contract, and the keys. Others may end so, too.
const READ: [(&str, &[&str]); 2] = [
    ("-kubeconfig", &["value"]),
    ("-ca", &["tls.crt", "tls.key"]),
];
/// What is read of the managed fields.
const OF_ENTRY: [&str; 4] = ["manager", "operation", "subresource", "time"];
/// The private key of an authority.
const PRIVATE: &str = "tls.key";

/// What `kubectl apply` keeps of an object: all of it, the data of a Secret included.
const COPY: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// After about so many looks at objects, those that were not looked at since the last time are kept as text.
const LOOKS: usize = 2_048;
/// Of fewer objects none is kept as text. These are the objects of 70 clusters.
const FEW: usize = 2 * LOOKS;

/// Live objects, and which of them may be out of date.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// The objects, and what else is known.
    pub(super) snapshot: Snapshot,
    /// Lists in progress: what of the kind was known before and was not seen since.
    missing: BTreeMap<GroupKind, BTreeSet<ObjectId>>,
    /// Uids of deleted objects, as long as answers about them may arrive.
    deleted: BTreeSet<String>,
    /// Looks at objects since some became text.
    looks: usize,
}

impl Cache {
    /// Of these namespaces alone. Nothing is known of them yet.
    pub(super) fn of(watched: Watched) -> Self {
        let mut cache = Self::default();
        cache.snapshot.watched = watched;
        cache
    }

    /// What controllers see.
    pub(super) fn world(&self) -> World<'_> {
        World::of(&self.snapshot)
    }

    /// The object of this id.
    pub(super) fn get(&self, id: &ObjectId) -> Option<Live<'_>> {
        self.snapshot.get(id)
    }

    /// Whether every object of this kind is known.
    pub(super) fn is_synced(&self, kind: &GroupKind) -> bool {
        self.snapshot.is_synced(kind)
    }

    /// Whether an object of this uid and resource version need not be stored: this one or a newer one is here, or it was
    /// deleted.
    fn has(&self, id: &ObjectId, uid: &str, version: &str) -> bool {
        let known = self.snapshot.version(id);
        let is_old = |known: (&str, &str)| known.0 == uid && number(known.1) >= number(version);
        known.is_some_and(is_old) || self.deleted.contains(uid)
    }

    /// An object is in the list that is in progress, if one is.
    fn is_there(&mut self, id: &ObjectId) {
        if let Some(missing) = self.missing.get_mut(&GroupKind::from(id)) {
            missing.remove(id);
        }
    }

    /// Takes note that the cluster has an object. Returns whether it is worth reading: this version is not here, nor a
    /// newer one, and it was not deleted.
    pub(super) fn wants(&mut self, id: &ObjectId, uid: &str, version: &str) -> bool {
        self.is_there(id);
        !self.has(id, uid, version)
    }

    /// Stores an object. Returns what it was and is below; `None` if a newer one is here or it was deleted.
    pub(super) fn insert(&mut self, mut object: Value) -> Option<Vec<Parent>> {
        let live = Live(&object);
        let id = live.id();
        self.is_there(&id);
        if self.has(&id, live.uid(), live.text(&["metadata", "resourceVersion"])) {
            return None;
        }
        let known = self.get(&id);
        let mut parents: Vec<Parent> = known.into_iter().flat_map(Parent::all).collect();
        let is = Parent::all(live).filter(|is| !parents.contains(is));
        let is: Vec<Parent> = is.collect();
        parents.extend(is);
        drop_unused(&mut object);
        self.snapshot.insert(object);
        self.count_looks(1);
        Some(parents)
    }

    /// Takes note of about how many objects were looked at. Now and then, those that were not are kept as text.
    pub(super) fn count_looks(&mut self, count: usize) {
        self.looks += count;
        if self.looks >= LOOKS {
            self.looks = 0;
            self.snapshot.fold(FEW);
        }
    }

    /// Forgets a deleted object. Returns what it was below, if it was here.
    pub(super) fn remove(&mut self, id: &ObjectId, uid: &str) -> Option<Vec<Parent>> {
        self.deleted.insert(uid.to_owned());
        let live = self.get(id).filter(|live| live.uid() == uid)?;
        let parents = Parent::all(live).collect();
        self.snapshot.remove(id);
        Some(parents)
    }

    /// No more answers can arrive that would bring deleted objects back.
    pub(super) fn forget_deleted(&mut self) {
        self.deleted.clear();
    }

    /// A list of all objects of a kind begins.
    pub(super) fn start_list(&mut self, kind: &GroupKind) {
        let known = self.snapshot.of_kind(kind).cloned().collect();
        self.missing.insert(kind.clone(), known);
    }

    /// The list is complete. Forgets what it did not hold, and names it with what it was below.
    pub(super) fn end_list(&mut self, kind: &GroupKind) -> Vec<(ObjectId, Vec<Parent>)> {
        let missing = self.missing.remove(kind).unwrap_or_default().into_iter();
        let removed = missing.filter_map(|id| {
            let uid = self.snapshot.version(&id)?.0.to_owned();
            let parents = self.remove(&id, &uid)?;
            Some((id, parents))
        });
        removed.collect()
    }
}

/// Takes out what no controller looks at.
fn drop_unused(object: &mut Value) {
    let is_secret = object["kind"] == "Secret" && object["apiVersion"] == "v1";
    // Whoever wrote one keeps our controllers away.
    let is_connection = Live(object).kind() == KIND && Live(object).group() == HYPERSHIFT;
    let name = Live(object).name();
    let read = READ.iter().find(|(end, _)| name.ends_with(end));
    let read = read.map(|(_, keys)| *keys);
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    if is_secret {
        drop_data(fields, read);
    }
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        trim_managed_fields(metadata, |manager| {
            is_connection || [CAPZ, EMBEDDED].contains(&manager)
        });
        if let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.remove(COPY);
        }
    }
}

/// Keeps of the managed fields, which are half of an object, who applied it and when.
fn trim_managed_fields(metadata: &mut Map<String, Value>, is_kept: impl Fn(&str) -> bool) {
    let Some(Value::Array(mut entries)) = metadata.remove("managedFields") else {
        return;
    };
    entries.retain(|entry| entry["manager"].as_str().is_some_and(&is_kept));
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        entry.retain(|key, _| OF_ENTRY.contains(&key.as_str()));
    }
    if !entries.is_empty() {
        metadata.insert("managedFields".to_owned(), entries.into());
    }
}

/// Takes out the data of a Secret, but for the keys that are read.
fn drop_data(secret: &mut Map<String, Value>, read: Option<&[&str]>) {
    let (Some(read), Some(Value::Object(data))) = (read, secret.get_mut("data")) else {
        secret.remove("data");
        return;
    };
    data.retain(|key, _| read.contains(&key.as_str()));
    if let Some(key) = data.get_mut(PRIVATE).filter(|key| **key != NO_KEY) {
        *key = Value::Null;
    }
}

/// A resource version as the server's count of changes: API servers count up.
fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
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
        assert!(cache.insert(object("a", 5, "x")).is_some());
        assert!(cache.insert(object("a", 5, "y")).is_none());
        assert!(cache.insert(object("a", 4, "y")).is_none());
        assert_eq!(owned(&cache, "x"), 1);
        assert!(cache.insert(object("a", 6, "y")).is_some());
        assert_eq!((owned(&cache, "x"), owned(&cache, "y")), (0, 1));
    }

    #[test]
    fn a_late_answer_does_not_bring_back_what_was_deleted() {
        let mut cache = Cache::default();
        cache.insert(object("a", 5, "x"));
        assert!(cache.remove(&id("a"), "uid-a").is_some());
        assert!(cache.insert(object("a", 6, "x")).is_none());
        assert!(cache.get(&id("a")).is_none());
        cache.forget_deleted();
        assert!(cache.insert(object("a", 7, "x")).is_some());
    }

    #[test]
    fn a_complete_list_removes_what_it_lacks() {
        let kind = GroupKind::new("", "ConfigMap");
        let mut cache = Cache::default();
        for name in ["a", "b", "c"] {
            cache.insert(object(name, 1, "x"));
        }
        cache.start_list(&kind);
        cache.insert(object("a", 1, "x"));
        cache.insert(object("c", 2, "x"));
        assert_eq!(cache.end_list(&kind), [(id("b"), Vec::new())]);
        assert!(cache.get(&id("b")).is_none());
        assert_eq!(owned(&cache, "x"), 2);
    }

    #[test]
    fn of_many_objects_most_are_kept_as_text() {
        let count = 2 * FEW;
        let mut cache = Cache::default();
        for place in 0..count {
            cache.insert(object(&place.to_string(), 1, "x"));
            let trees = place + 1 - cache.snapshot.folded();
            assert!(trees <= FEW, "{trees} of {place}");
        }
        cache.insert(object("0", 2, "y"));
        assert!(cache.insert(object("1", 1, "y")).is_none());
        assert_eq!((owned(&cache, "x"), owned(&cache, "y")), (count - 1, 1));
        assert_eq!(cache.snapshot.folded(), 0);
    }

    #[test]
    fn of_few_objects_none_is_kept_as_text() {
        let mut cache = Cache::default();
        cache.insert(object("a", 1, "x"));
        (0..3).for_each(|_| cache.count_looks(LOOKS));
        assert_eq!(cache.snapshot.folded(), 0);
    }

    #[test]
    fn issue_15_of_secrets_only_what_is_read_is_kept() {
        let secret = |name: &str, key: &str| {
            json!({"apiVersion": "v1", "kind": "Secret",
                "data": {"value": "eA==", "clientSecret": "eA==", "tls.crt": "eA==", "tls.key": key},
                "metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"}})
        };
        let mut cache = Cache::default();
        let private = "aHVudGVyMg==";
        for (name, key, kept) in [
            ("one-kubeconfig", private, json!({"value": "eA=="})),
            (
                "one-ca",
                NO_KEY,
                json!({"tls.crt": "eA==", "tls.key": NO_KEY}),
            ),
            (
                "other-ca",
                private,
                json!({"tls.crt": "eA==", "tls.key": null}),
            ),
            ("password", private, json!(null)),
        ] {
            cache.insert(secret(name, key));
            let id = ObjectId::new("", "Secret", "ns", name);
            let live = cache.get(&id).expect("it is here");
            let data = live.at(&["data"]).cloned().unwrap_or_default();
            assert_eq!(data, kept, "{name}");
        }
    }

    #[test]
    fn issue_15_no_copy_of_the_data_stays_in_an_annotation() {
        let mut cache = Cache::default();
        cache.insert(
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "aHVudGVyMg=="},
            "metadata": {"name": "password", "namespace": "ns", "uid": "u", "resourceVersion": "1",
            "annotations": {"mine": "1", COPY: "{\"data\":{\"a\":\"aHVudGVyMg==\"}}"}}}),
        );
        let id = ObjectId::new("", "Secret", "ns", "password");
        let annotations = cache
            .get(&id)
            .and_then(|live| live.at(&["metadata", "annotations"]));
        assert_eq!(annotations, Some(&json!({"mine": "1"})));
        assert!(!format!("{cache:?}").contains("aHVudGVyMg"));
    }

    #[test]
    fn an_object_that_moves_changes_both_parents() {
        let pool = |version: u32, cluster: &str| {
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "spec": {"clusterName": cluster},
                "metadata": {"name": "p", "namespace": "ns", "uid": "p", "resourceVersion": version.to_string()}})
        };
        let parent = |name| Parent::new("cluster.x-k8s.io", "MachinePool", "ns", name);
        let mut cache = Cache::default();
        assert_eq!(cache.insert(pool(1, "one")), Some(vec![parent("one")]));
        assert_eq!(cache.insert(pool(2, "one")), Some(vec![parent("one")]));
        let both = vec![parent("one"), parent("two")];
        assert_eq!(cache.insert(pool(3, "two")), Some(both));
    }

    #[test]
    fn of_the_managed_fields_only_who_applied_embedded_resources_is_kept() {
        let entry = |manager: &str| {
            json!({"manager": manager, "operation": "Apply", "time": "2026-05-01T10:00:00Z",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}})
        };
        let mut of_others = object("a", 1, "x");
        of_others["metadata"]["managedFields"] = json!([entry("kubectl")]);
        let mut ours = object("b", 1, "x");
        ours["metadata"]["managedFields"] = json!([entry("kubectl"), entry(CAPZ)]);
        let mut cache = Cache::default();
        cache.insert(of_others);
        cache.insert(ours);
        let held = |name| cache.get(&id(name)).expect("it").0["metadata"].get("managedFields");
        assert_eq!(held("a"), None);
        let kept = json!([{"manager": CAPZ, "operation": "Apply", "time": "2026-05-01T10:00:00Z"}]);
        assert_eq!(held("b"), Some(&kept));
    }
}
