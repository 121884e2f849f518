//! The names that HyperShift gives to things.

use sha2::{Digest as _, Sha256};

use crate::api::kinds::{AGENT_INSTALL, Kind};
use crate::api::platform::{self, HYPERSHIFT};
use crate::health::Live;
use crate::model::{ObjectId, hex};

/// The field manager of HyperShift's operator.
pub(super) const OPERATOR: &str = "hypershift-operator";
/// The field manager of the operator beside each control plane.
pub(super) const CONTROL_PLANE_OPERATOR: &str = "control-plane-operator";
/// The field manager of the lab.
pub(super) const LAB: &str = "agent-lab";
/// Keeps a HostedCluster or a NodePool until what belongs to it is gone.
pub(super) const FINALIZER: &str = "hypershift.openshift.io/finalizer";
/// The label of the namespaces of control planes.
pub(super) const CONTROL_PLANE: &str = "hypershift.openshift.io/hosted-control-plane";
/// On what is made for a HostedCluster in another namespace: `NAMESPACE/NAME` of it.
pub(super) const CLUSTER: &str = "hypershift.openshift.io/cluster";
/// On an Agent: `NAMESPACE/NAME` of the NodePool that it is bound to.
pub(super) const NODE_POOL: &str = "hypershift.openshift.io/nodePool";
/// The version that everything is served at.
const VERSION: &str = "v1beta1";
/// The kinds, as far as they are defined by custom resources.
pub(crate) const KINDS: [Kind; 4] = [
    Kind {
        group: HYPERSHIFT,
        kind: "HostedCluster",
        plural: "hostedclusters",
        versions: &[VERSION],
    },
    Kind {
        group: HYPERSHIFT,
        kind: "HostedControlPlane",
        plural: "hostedcontrolplanes",
        versions: &[VERSION],
    },
    Kind {
        group: HYPERSHIFT,
        kind: "NodePool",
        plural: "nodepools",
        versions: &[VERSION],
    },
    Kind {
        group: AGENT_INSTALL,
        kind: "Agent",
        plural: "agents",
        versions: &[VERSION],
    },
];

/// The `apiVersion` of kinds of a group.
pub(super) fn api_version(group: &str) -> String {
    format!("{group}/{VERSION}")
}

/// The namespace of the control plane of a HostedCluster.
pub(super) fn control_plane_namespace(cluster: Live<'_>) -> String {
    platform::control_plane_namespace(cluster.namespace(), cluster.name())
}

/// The control plane of a HostedCluster.
pub(super) fn control_plane(cluster: Live<'_>) -> ObjectId {
    let namespace = control_plane_namespace(cluster);
    ObjectId::new(HYPERSHIFT, "HostedControlPlane", namespace, cluster.name())
}

/// A namespace.
pub(super) fn namespace(name: &str) -> ObjectId {
    ObjectId::new("", "Namespace", "", name)
}

/// `NAMESPACE/NAME` of an object.
pub(super) fn path(live: Live<'_>) -> String {
    format!("{}/{}", live.namespace(), live.name())
}

/// The name of a cluster in its infrastructure.
pub(super) fn infra_id(cluster: Live<'_>) -> String {
    match cluster.text(&["spec", "infraID"]) {
        "" => {
            let digest = Sha256::digest(path(cluster));
            format!("{}-{:02x}{:02x}", cluster.name(), digest[0], digest[1])
        }
        chosen => chosen.to_owned(),
    }
}

/// The ID of a cluster: the one that it has, or one of its own.
pub(super) fn cluster_id(cluster: Live<'_>) -> String {
    match cluster.text(&["spec", "clusterID"]) {
        "" => {
            let digest = Sha256::digest(format!("{} {}", path(cluster), cluster.uid()));
            let parts = [0..4, 4..6, 6..8, 8..10, 10..16];
            parts.map(|part| hex(&digest[part])).join("-")
        }
        chosen => chosen.to_owned(),
    }
}

/// A private address, the same for the same text.
pub(super) fn address(of: &str) -> String {
    let digest = Sha256::digest(of);
    format!("10.{}.{}.4", digest[0], digest[1])
}
