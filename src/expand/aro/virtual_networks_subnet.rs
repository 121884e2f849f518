//! `VirtualNetworksSubnet`: the nodes' subnet, and the one that Azure reaches the network through.

use super::blueprint::Blueprint;
use super::names::Named;
use super::network_security_group;
use super::write::embedded;
use crate::api::kinds::NETWORK;
use crate::expand::node::node;
use crate::model::Node;

const KIND: &str = "VirtualNetworksSubnet";

/// The subnets, one or two as the ARM version has it.
pub(super) fn resources(b: &Blueprint) -> Vec<Node> {
    let integrated = b.spec().arm_api_version.has_integration_subnet();
    let integration = integrated.then(|| integration(b));
    [nodes(b)].into_iter().chain(integration).collect()
}

fn nodes(b: &Blueprint) -> Node {
    let spec = node!(b.origin(), {
        "azureName": &b.names.subnet.azure,
        "owner": {"name": &b.names.network},
        "addressPrefix": b.value("network.subnetCIDR"),
        "networkSecurityGroup": {"reference": network_security_group::reference(b)},
    });
    embedded(b, [NETWORK, KIND, &b.names.subnet.kubernetes], spec)
}

/// It is delegated to Azure and has no security group.
fn integration(b: &Blueprint) -> Node {
    let spec = node!(b.origin(), {
        "azureName": &b.names.integration_subnet.azure,
        "owner": {"name": &b.names.network},
        "addressPrefix": b.value("network.integrationSubnetCIDR"),
        "delegations": [{
            "name": "Microsoft.RedHatOpenShift.hcpOpenShiftClusters",
            "serviceName": "Microsoft.RedHatOpenShift/hcpOpenShiftClusters",
        }],
    });
    embedded(
        b,
        [NETWORK, KIND, &b.names.integration_subnet.kubernetes],
        spec,
    )
}

pub(super) fn reference(b: &Blueprint, subnet: &Named) -> Node {
    super::write::reference(b, NETWORK, KIND, &subnet.kubernetes)
}
