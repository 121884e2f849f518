//! C23 to C26: the subnets and the security group that a cluster uses.

use super::fields::arm_version;
use super::reference::{SECURITY_GROUP, SUBNET, Wanted, fault, name_in, out_of_place};
use crate::model::Finding;
use crate::rules::arm::{Field, Resource, World};

const INTEGRATION: &str = "vnetIntegrationSubnetReference";

/// Each reference, and what it must name.
const REFERENCES: [(&str, &Wanted); 3] = [
    ("subnetReference", &SUBNET),
    (INTEGRATION, &SUBNET),
    ("networkSecurityGroupReference", &SECURITY_GROUP),
];

fn names_something(reference: &Field<'_>) -> bool {
    let given = |name| {
        reference
            .key(name)
            .text()
            .is_some_and(|text| !text.is_empty())
    };
    given("armId") || given("name")
}

/// C23: the cluster names subnets and a security group.
pub(in crate::rules) fn names_network(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let platform = cluster.field("spec.properties.platform");
    let faults = REFERENCES.into_iter().filter_map(|(name, wanted)| {
        let field = platform.key(name);
        match (names_something(&field), name) {
            (true, _) => fault("C23", &field, wanted),
            // C26 tells of that.
            (false, INTEGRATION) => None,
            (false, _) => {
                let message = format!("{name} is missing: it names {}", wanted.called);
                Some(field.finding("C23", message))
            }
        }
    });
    faults.collect()
}

/// C24: what the cluster uses is in its subscription, and not in the managed resource group.
pub(in crate::rules) fn network_is_at_hand(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let platform = cluster.field("spec.properties.platform");
    let faults = REFERENCES
        .into_iter()
        .filter_map(|(name, _)| out_of_place("C24", world, cluster, &platform.key(name)));
    faults.collect()
}

/// C25: both subnets are of one virtual network.
pub(in crate::rules) fn subnets_share_a_network(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let platform = cluster.field("spec.properties.platform");
    let network = |name| {
        let subnet = world.referred(cluster, &platform.key(name))?;
        subnet.parent()
    };
    let (Some(nodes), Some(integration)) = (network("subnetReference"), network(INTEGRATION))
    else {
        return Vec::new();
    };
    if nodes == integration {
        return Vec::new();
    }
    let message = format!(
        "the integration subnet is in the virtual network {}, and that of the nodes is in {}",
        integration.name(),
        nodes.name()
    );
    let help = "use two subnets of one virtual network";
    vec![
        name_in(&platform.key(INTEGRATION))
            .finding("C25", message)
            .help(help),
    ]
}

/// C26: there is an integration subnet, where the API version has one.
pub(in crate::rules) fn integration_subnet(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let field = cluster.field("spec.properties.platform").key(INTEGRATION);
    if names_something(&field) || !arm_version(cluster).has_integration_subnet() {
        return Vec::new();
    }
    let message = format!("{INTEGRATION} is missing: Azure reaches the nodes through it");
    let help = "name a subnet of the cluster's virtual network that is delegated to Microsoft.RedHatOpenShift/hcpOpenShiftClusters";
    vec![field.finding("C26", message).help(help)]
}
