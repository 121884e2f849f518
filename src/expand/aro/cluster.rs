//! `Cluster`: the root that Cluster API's objects hang on.

use super::blueprint::Blueprint;
use super::write::top;
use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE};
use crate::api::labels::DELETION_POLICY;
use crate::expand::node::node;
use crate::model::Object;

pub(super) fn object(b: &Blueprint) -> Object {
    let name = &b.names.cluster;
    let spec = node!(b.origin(), {
        "clusterNetwork": {
            "pods": {"cidrBlocks": [b.value("network.podCIDR")]},
        },
        "controlPlaneRef": {"apiGroup": CONTROL_PLANE, "kind": "AROControlPlane", "name": name},
        "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": "AROCluster", "name": name},
    });
    top(b, CAPI, "Cluster", name)
        .annotation(DELETION_POLICY, b.value("deletionPolicy"))
        .spec(spec)
}
