//! `NetworkSecurityGroup`: the rules of the nodes' subnet, which the cluster's operators write.

use super::blueprint::Blueprint;
use super::write::embedded;
use crate::api::kinds::NETWORK;
use crate::expand::node::node;
use crate::model::Node;

const KIND: &str = "NetworkSecurityGroup";

pub(super) fn resource(b: &Blueprint) -> Node {
    let spec = node!(b.origin(), {
        "location": b.value("location"),
        "owner": {"name": &b.names.resource_group},
        "tags": b.value("tags"),
    });
    embedded(b, [NETWORK, KIND, &b.names.security_group], spec)
}

pub(super) fn reference(b: &Blueprint) -> Node {
    super::write::reference(b, NETWORK, KIND, &b.names.security_group)
}
