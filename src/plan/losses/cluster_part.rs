//! What objects say of clusters and node pools.
//!
//! In: objects as they are sent. Out: of each a [`ClusterPart`], which is small enough to be kept for each object of a large fleet;
//! and the clusters and pools that these make together. It does not know what becomes of them.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use super::pool::{Pool, version};
use super::unit::{Unit, cluster_of, references};
use crate::api::labels::DELETION_POLICY;
use crate::api::platform::Role;
use crate::health::Live;
use crate::model::ObjectId;

/// The cluster or the node pool that an object is, or belongs to, as the object states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPart {
    /// The name of its cluster; empty if it states none.
    pub cluster: Box<str>,
    /// The kinds and names of the objects that a Cluster or a MachinePool refers to.
    pub references: Box<[(Box<str>, Box<str>)]>,
    /// Its nodes, if it says anything of them.
    pub pool: Option<Box<Pool>>,
    /// The version of OpenShift of a control plane; empty for other objects.
    pub version: Box<str>,
    /// True if it says that what it stands for is deleted with it.
    pub is_deleted: bool,
}

impl ClusterPart {
    /// Reads an object; `None` if objects of its kind belong to no cluster.
    #[must_use]
    pub fn of(id: &ObjectId, object: &Json) -> Option<Self> {
        Role::of(id)?;
        let pool = Pool::of(object);
        Some(Self {
            cluster: cluster_of(id, object).into(),
            references: references(object).collect(),
            pool: (pool != Pool::default()).then(|| pool.into()),
            version: version(object).into(),
            is_deleted: Live(object).annotation(DELETION_POLICY) == "Delete",
        })
    }
}

/// The cluster or pool of each object that belongs to one. An object without the name of its cluster is what a Cluster or a
/// MachinePool among them refers to.
#[must_use]
pub fn units<'a>(
    parts: impl Iterator<Item = (&'a ObjectId, &'a ClusterPart)>,
) -> BTreeMap<ObjectId, Unit> {
    let (mut units, mut referred) = (BTreeMap::new(), HashMap::new());
    for (id, part) in parts {
        let Some(unit) = Unit::of(id, &part.cluster) else {
            continue;
        };
        for (kind, name) in &part.references {
            let place = (&*id.namespace, &**kind, &**name);
            referred.insert(place, unit.cluster.clone());
        }
        units.insert(id.clone(), unit);
    }
    for (id, unit) in &mut units {
        let place = (&*id.namespace, &*id.kind, &*id.name);
        if let Some(cluster) = referred.get(&place).filter(|_| unit.cluster.is_empty()) {
            *unit = Unit::of(id, cluster).unwrap_or_else(|| unit.clone());
        }
    }
    units.retain(|_, unit| !unit.cluster.is_empty());
    units
}

/// The same for objects as they are sent, or as a cluster has them.
#[must_use]
pub fn units_of<'a>(objects: impl Iterator<Item = &'a Json>) -> BTreeMap<ObjectId, Unit> {
    let parts = objects.filter_map(|object| {
        let id = Live(object).id();
        let part = ClusterPart::of(&id, object)?;
        Some((id, part))
    });
    let parts: Vec<(ObjectId, ClusterPart)> = parts.collect();
    units(parts.iter().map(|(id, part)| (id, part)))
}

/// The pools that objects carry.
#[must_use]
pub fn pools<'a>(
    parts: impl Iterator<Item = (&'a ObjectId, &'a ClusterPart)> + Clone,
) -> BTreeMap<Unit, Pool> {
    let units = units(parts.clone());
    let mut pools: BTreeMap<Unit, Pool> = BTreeMap::new();
    for (id, part) in parts {
        if let Some(unit) = units.get(id).filter(|unit| unit.pool.is_some()) {
            let known = pools.entry(unit.clone()).or_default();
            // A MachinePool says nothing of its nodes that its AROMachinePool does not.
            if let Some(pool) = &part.pool {
                known.clone_from(pool);
            }
        }
    }
    pools
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE, RED_HAT_OPENSHIFT};

    fn named(object: &Json) -> Option<String> {
        let units = units_of(std::iter::once(object)).into_values();
        units.map(|unit| unit.to_string()).next()
    }

    #[test]
    fn a_unit_is_named_as_people_name_it() {
        let metadata = |name: &str| json!({"name": name, "namespace": "ns", "labels": {"cluster.x-k8s.io/cluster-name": "c"}});
        let object = |group: &str, kind: &str, name: &str| json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": metadata(name)});
        for (object, expected) in [
            (object(CAPI, "Cluster", "c"), Some("ns/c")),
            (
                object(CONTROL_PLANE, "AROControlPlane", "plane"),
                Some("ns/c"),
            ),
            (object(CAPI, "MachinePool", "c-mp1"), Some("ns/c/mp1")),
            (
                object(INFRASTRUCTURE, "AROMachinePool", "workers"),
                Some("ns/c/workers"),
            ),
            (
                object(INFRASTRUCTURE, "AROMachinePool", "c-"),
                Some("ns/c/c-"),
            ),
            (
                object(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster", "raw"),
                Some("ns/raw"),
            ),
            (object("x.io", "Cluster", "c"), None),
        ] {
            assert_eq!(named(&object).as_deref(), expected, "{object}");
        }
        let raw = json!({"apiVersion": "redhatopenshift.azure.com/v1", "kind": "HcpOpenShiftClustersNodePool", "metadata": {"name": "p", "namespace": "ns"}, "spec": {"owner": {"name": "raw"}}});
        assert_eq!(named(&raw).as_deref(), Some("ns/raw/p"));
        let pool = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "metadata": {"name": "c-p", "namespace": "ns"}, "spec": {"clusterName": "c"}});
        assert_eq!(named(&pool).as_deref(), Some("ns/c/p"));
    }

    #[test]
    fn what_does_not_name_its_cluster_is_what_others_refer_to() {
        let object = |kind: &str, name: &str, spec: Json| json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name, "namespace": "ns"}, "spec": spec});
        let reference = json!({"kind": "AROMachinePool", "name": "workers"});
        let mut pool = object(
            "MachinePool",
            "c-p",
            json!({"clusterName": "c", "template": {"spec": {"infrastructureRef": reference}}}),
        );
        pool["apiVersion"] = json!("cluster.x-k8s.io/v1beta2");
        let objects = [
            object("AROMachinePool", "workers", json!({})),
            object("AROMachinePool", "stray", json!({})),
            pool,
        ];
        let units = units_of(objects.iter());
        let units: Vec<String> = units.values().map(Unit::to_string).collect();
        assert_eq!(units, ["ns/c/p", "ns/c/workers"]);
    }
}
