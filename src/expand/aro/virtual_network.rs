//! `VirtualNetwork`: the network that the cluster's two subnets are cut from.

use super::blueprint::Blueprint;
use super::write::embedded;
use crate::api::kinds::NETWORK;
use crate::expand::node::node;
use crate::model::Node;

pub(super) fn resource(b: &Blueprint) -> Node {
    let spec = node!(b.origin(), {
        "location": b.value("location"),
        "owner": {"name": &b.names.resource_group},
        "addressSpace": {
            "addressPrefixes": [b.value("network.vnetCIDR")],
        },
        "tags": b.value("tags"),
    });
    embedded(b, [NETWORK, "VirtualNetwork", &b.names.network], spec)
}
