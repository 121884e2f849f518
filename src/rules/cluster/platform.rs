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

/// Fields that may be left out, but not be null (facts/aro-rules.md §3.1, C26).
const NOT_NULL: [&str; 6] = [
    "network.hostPrefix",
    "autoscaling.maxNodesTotal",
    "autoscaling.maxPodGracePeriodSeconds",
    "autoscaling.maxNodeProvisionTimeSeconds",
    "autoscaling.podPriorityThreshold",
    "etcd.dataEncryption.customerManaged.kms.visibility",
];

/// C26: numbers are numbers or not there, from the API version on that looks.
pub(in crate::rules) fn nothing_is_null(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    if !arm_version(cluster).has_integration_subnet() {
        return Vec::new();
    }
    let fields = NOT_NULL.map(|name| cluster.field(&format!("spec.properties.{name}")));
    let nulls = fields.iter().filter(|field| field.is_null());
    let say = |field: &Field<'_>| {
        let message = format!("{} is null, which Azure does not take", field.name());
        field
            .finding("C26", message)
            .help("leave it out, or give it a value")
    };
    nulls.map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    /// What C23 to C26 say of a cluster of subscription `s` with these subnets and this group.
    fn faults(subnet: &str, integration: &str, group: &str) -> [usize; 4] {
        let rules = [
            names_network,
            network_is_at_hand,
            subnets_share_a_network,
            integration_subnet,
        ];
        let field = |path: &str| match path {
            "" => "null".to_owned(),
            path => format!("{{armId: {path:?}}}"),
        };
        let spec = format!(
            "{{owner: {{armId: /subscriptions/S/resourceGroups/G}}, properties: {{platform: {{managedResourceGroup: Managed, subnetReference: {}, vnetIntegrationSubnetReference: {}, networkSecurityGroupReference: {}}}}}}}",
            field(subnet),
            field(integration),
            field(group)
        );
        rules.map(|rule| said(rule, &spec).len())
    }

    fn network(group: &str, kind: &str) -> String {
        format!("/subscriptions/s/resourceGroups/{group}/providers/Microsoft.Network/{kind}")
    }

    #[test]
    fn the_network_is_one_that_the_cluster_can_use() {
        let nodes = network("net", "virtualNetworks/v/subnets/nodes");
        let integration = network("NET", "virtualNetworks/V/subnets/integration");
        let group = network("net", "networkSecurityGroups/g");
        assert_eq!(faults(&nodes, &integration, &group), [0; 4]);
        assert_eq!(faults("", "", ""), [2, 0, 0, 1]);
        let another = network("net", "virtualNetworks/w/subnets/integration");
        assert_eq!(faults(&nodes, &another, &group), [0, 0, 1, 0]);
        let wrong = network("net", "virtualNetworks/v");
        assert_eq!(faults(&nodes, &integration, &wrong), [1, 0, 0, 0]);
        assert_eq!(faults(&nodes, &integration, "g"), [1, 0, 0, 0]);
        let managed = network("managed", "networkSecurityGroups/g");
        assert_eq!(faults(&nodes, &integration, &managed), [0, 1, 0, 0]);
        let away = group.replace("/s/", "/t/");
        assert_eq!(faults(&nodes, &integration, &away), [0, 1, 0, 0]);
    }
}
