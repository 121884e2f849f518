//! Cluster API: the conditions, reasons, phases and finalizers of contract v1beta2, and references of both contracts.
//!
//! In: objects with references. Out: constants, and what a reference names. It does not know how to react to any of
//! them.

use crate::model::{Node, Object, ObjectId, Path};

/// The previous contract and version. Its references have `apiVersion` instead of `apiGroup`.
pub const V1BETA1: &str = "v1beta1";

/// Cluster: everything in it is available.
pub const AVAILABLE: &str = "Available";
/// Cluster: the infrastructure object is provisioned.
pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
/// Cluster: the control plane has responded at least once.
pub const CONTROL_PLANE_INITIALIZED: &str = "ControlPlaneInitialized";
/// Cluster: the control plane responds.
pub const CONTROL_PLANE_AVAILABLE: &str = "ControlPlaneAvailable";
/// Cluster, contract v1beta1: the control plane is ready.
pub const CONTROL_PLANE_READY: &str = "ControlPlaneReady";
/// Cluster, contract v1beta1: the summary.
pub const READY: &str = "Ready";
/// Cluster: the machine pools have their nodes.
pub const WORKERS_AVAILABLE: &str = "WorkersAvailable";
/// Cluster: it is being deleted.
pub const DELETING: &str = "Deleting";

/// The finalizer of a Cluster.
pub const CLUSTER_FINALIZER: &str = "cluster.cluster.x-k8s.io";
/// The finalizer of a MachinePool.
pub const MACHINE_POOL_FINALIZER: &str = "machinepool.cluster.x-k8s.io";
/// Pauses the controllers of one object.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// `clusterctl move` deletes the object, whose copy lives in another cluster now.
pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
/// Blocks `clusterctl move` until the object's controller has released it.
pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";

/// The group in a reference: `apiGroup`, or the part of `apiVersion` before the slash.
#[must_use]
pub fn group<'a>(api_group: Option<&'a str>, api_version: Option<&'a str>) -> Option<&'a str> {
    let of_version = |version: &'a str| Some(version.split_once('/')?.0);
    let given = api_group.filter(|group| !group.is_empty());
    given.or_else(|| api_version.and_then(of_version))
}

/// What a reference of `{apiGroup, kind, name}` or `{apiVersion, kind, name}` names in a namespace.
#[must_use]
pub fn named(reference: &Node, namespace: &str) -> Option<ObjectId> {
    let text = |name: &str| reference.text(&[name]);
    let group = group(text("apiGroup"), text("apiVersion"))?;
    Some(ObjectId::new(
        group,
        text("kind")?,
        namespace,
        text("name")?,
    ))
}

/// Whether a reference is of contract v1beta1.
#[must_use]
pub fn is_v1beta1(api_group: Option<&str>, api_version: Option<&str>) -> bool {
    api_group.is_none_or(str::is_empty) && api_version.is_some()
}

/// What the reference at a dotted path of an object names.
#[must_use]
pub fn target(object: &Object, field: &str) -> Option<ObjectId> {
    let reference = object.node.lookup(&Path::dotted(field))?;
    named(reference, &object.id.namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_a_group_or_a_version() {
        assert_eq!(group(Some("g"), None), Some("g"));
        assert_eq!(group(None, Some("g/v1beta2")), Some("g"));
        assert_eq!(group(Some(""), Some("g/v1")), Some("g"));
        assert_eq!(
            group(None, Some("v1")),
            None,
            "no kind of the core group is named"
        );
        assert_eq!(group(None, None), None);
    }
}
