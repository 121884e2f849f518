//! The platforms: the kinds that the clusters of each are made of.
//!
//! In: the id of an object. Out: its platform, and what it is of a cluster. It does not know what is done with clusters.

use super::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::model::ObjectId;

/// HyperShift: hosted clusters and their node pools.
pub const HYPERSHIFT: &str = "hypershift.openshift.io";
/// The version of HyperShift's kinds, without the group.
pub const HYPERSHIFT_VERSION: &str = "v1beta1";

/// The namespace of the control plane of a HostedCluster.
#[must_use]
pub fn control_plane_namespace(namespace: &str, name: &str) -> String {
    format!("{namespace}-{name}").replace('.', "-")
}

/// The role of an object in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The cluster: its parts are deleted with it.
    Root,
    /// A node pool.
    Pool,
    /// Another part, which stays as long as the cluster does.
    Part,
}

/// A kind that clusters are made of.
#[derive(Debug, PartialEq, Eq)]
pub struct PlatformKind {
    /// API group.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// The role of an object of this kind in its cluster.
    pub role: Role,
    /// The field with the name of the cluster; empty if only the label has it.
    pub cluster: &'static [&'static str],
}

/// A way to describe clusters by objects.
#[derive(Debug, PartialEq, Eq)]
pub struct Platform {
    /// Its kinds, in the order in which those of one cluster are applied.
    pub kinds: &'static [PlatformKind],
    /// The objects of one cluster are applied in the order of the kinds, and none waits until another is ready. Otherwise only what they name
    /// decides.
    pub is_ordered: bool,
    /// Its objects only mirror the status of the resources behind them, which take the time.
    pub mirrors: bool,
}

const fn kind(
    group: &'static str,
    kind: &'static str,
    role: Role,
    cluster: &'static [&'static str],
) -> PlatformKind {
    PlatformKind {
        group,
        kind,
        role,
        cluster,
    }
}

/// ARO HCP by the resources of Cluster API and its ARO provider.
pub static CLUSTER_API: Platform = Platform {
    kinds: &[
        kind(INFRASTRUCTURE, "AROCluster", Role::Part, &[]),
        kind(CONTROL_PLANE, "AROControlPlane", Role::Part, &[]),
        kind(INFRASTRUCTURE, "AROMachinePool", Role::Pool, &[]),
        kind(CAPI, "Cluster", Role::Root, &[]),
        kind(CAPI, "MachinePool", Role::Pool, &["spec", "clusterName"]),
    ],
    is_ordered: true,
    mirrors: true,
};

/// ARO HCP by the resources of Azure Service Operator alone.
pub static ASO: Platform = Platform {
    kinds: &[
        kind(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster", Role::Root, &[]),
        kind(
            RED_HAT_OPENSHIFT,
            "HcpOpenShiftClustersNodePool",
            Role::Pool,
            &["spec", "owner", "name"],
        ),
    ],
    is_ordered: false,
    mirrors: false,
};

/// Hosted clusters of HyperShift.
pub static HYPER_SHIFT: Platform = Platform {
    kinds: &[
        kind(HYPERSHIFT, "HostedCluster", Role::Root, &[]),
        kind(HYPERSHIFT, "NodePool", Role::Pool, &["spec", "clusterName"]),
    ],
    is_ordered: true,
    mirrors: false,
};

/// All platforms.
pub static PLATFORMS: [&Platform; 3] = [&CLUSTER_API, &ASO, &HYPER_SHIFT];

impl Platform {
    /// The platform that an object belongs to; `None` if clusters are not made of its kind.
    #[must_use]
    pub fn of(id: &ObjectId) -> Option<&'static Self> {
        PLATFORMS
            .into_iter()
            .find(|platform| platform.rank(id).is_some())
    }

    /// The position of an object in the order in which the objects of one cluster are applied; `None` if its kind is not of this platform.
    #[must_use]
    pub fn rank(&self, id: &ObjectId) -> Option<usize> {
        self.kinds.iter().position(|kind| kind.is(id))
    }

    /// The cluster of this name.
    #[must_use]
    pub fn root(&self, namespace: &str, name: &str) -> ObjectId {
        let mut roots = self.kinds.iter().filter(|kind| kind.role == Role::Root);
        let (group, kind) = roots
            .next()
            .map_or(("", ""), |root| (root.group, root.kind));
        ObjectId::new(group, kind, namespace, name)
    }
}

impl PlatformKind {
    /// The kind of an object; `None` if clusters are not made of it.
    #[must_use]
    pub fn of(id: &ObjectId) -> Option<&'static Self> {
        let mut kinds = PLATFORMS.into_iter().flat_map(|platform| platform.kinds);
        kinds.find(|kind| kind.is(id))
    }

    fn is(&self, id: &ObjectId) -> bool {
        id.is(self.group, self.kind)
    }
}

impl Role {
    /// The role of an object in its cluster; `None` if clusters are not made of its kind.
    #[must_use]
    pub fn of(id: &ObjectId) -> Option<Self> {
        PlatformKind::of(id).map(|kind| kind.role)
    }
}

/// Returns true for a cluster, whatever its platform.
#[must_use]
pub fn is_root(id: &ObjectId) -> bool {
    Role::of(id) == Some(Role::Root)
}

/// Returns true for a cluster that leads its parts: not for a resource of Azure, which stands for itself.
#[must_use]
pub fn is_leader(id: &ObjectId) -> bool {
    is_root(id) && Platform::of(id).is_some_and(|platform| platform.is_ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_platform_has_one_kind_of_cluster_and_no_kind_is_of_two() {
        let mut all: Vec<(&str, &str)> = Vec::new();
        for platform in PLATFORMS {
            let roots = platform.kinds.iter();
            let roots = roots.filter(|kind| kind.role == Role::Root);
            assert_eq!(roots.count(), 1, "{platform:?}");
            let root = platform.root("ns", "c");
            assert_eq!(root.to_string().split('/').nth(1), Some("ns"));
            assert!(is_root(&root) && Platform::of(&root) == Some(platform));
            all.extend(platform.kinds.iter().map(|kind| (kind.group, kind.kind)));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        let other = ObjectId::new("x.io", "Cluster", "ns", "c");
        assert!(Platform::of(&other).is_none() && Role::of(&other).is_none());
    }
}
