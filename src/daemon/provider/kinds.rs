//! The kinds of the hub that the provider reads and writes.

use crate::adapters::kubernetes::HubKind;

/// Hosted clusters.
pub(super) const HOSTED_CLUSTER: HubKind = hyper_shift("HostedCluster", "hostedclusters");
/// Their node pools.
pub(super) const NODE_POOL: HubKind = hyper_shift("NodePool", "nodepools");
/// The releases that clusters can have.
pub(super) const CLUSTER_IMAGE_SET: HubKind = HubKind {
    group: "hive.openshift.io",
    version: "v1",
    kind: "ClusterImageSet",
    plural: "clusterimagesets",
};
/// Machines that the assisted installer has found.
pub(super) const AGENT: HubKind = HubKind {
    group: "agent-install.openshift.io",
    version: "v1beta1",
    kind: "Agent",
    plural: "agents",
};
/// Virtual machines of OpenShift Virtualization.
pub(super) const VIRTUAL_MACHINE: HubKind = HubKind {
    group: "kubevirt.io",
    version: "v1",
    kind: "VirtualMachineInstance",
    plural: "virtualmachineinstances",
};
/// ACM's object for a cluster.
pub(super) const MANAGED_CLUSTER: HubKind = HubKind {
    group: "cluster.open-cluster-management.io",
    version: "v1",
    kind: "ManagedCluster",
    plural: "managedclusters",
};
/// Secrets.
pub(super) const SECRET: HubKind = core("Secret", "secrets");
/// ConfigMaps.
pub(super) const CONFIG_MAP: HubKind = core("ConfigMap", "configmaps");

const fn hyper_shift(kind: &'static str, plural: &'static str) -> HubKind {
    HubKind {
        group: "hypershift.openshift.io",
        version: "v1beta1",
        kind,
        plural,
    }
}

const fn core(kind: &'static str, plural: &'static str) -> HubKind {
    HubKind {
        group: "",
        version: "v1",
        kind,
        plural,
    }
}
