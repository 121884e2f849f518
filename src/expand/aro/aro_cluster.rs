//! `AROCluster`: the Azure resources around a cluster, in the order they can be made.

use super::blueprint::Blueprint;
use super::write::top;
use super::{
    network_security_group, resource_group, role_assignment, user_assigned_identity, vault,
    virtual_network, virtual_networks_subnet,
};
use crate::api::kinds::INFRASTRUCTURE;
use crate::expand::node::node;
use crate::model::{Node, Object};

pub(super) fn object(b: &Blueprint) -> Object {
    let spec = node!(b.origin(), {"resources": resources(b)});
    top(b, INFRASTRUCTURE, "AROCluster", &b.names.cluster)
        .in_cluster()
        .spec(spec)
}

fn resources(b: &Blueprint) -> Vec<Node> {
    let mut resources = vec![
        resource_group::resource(b),
        virtual_network::resource(b),
        network_security_group::resource(b),
    ];
    resources.extend(virtual_networks_subnet::resources(b));
    resources.extend(vault::resource(b));
    resources.extend(user_assigned_identity::resources(b));
    resources.extend(role_assignment::resources(b));
    resources
}
