//! C23 to C26: the subnets and the security group of a cluster.

use super::fields::arm_version;
use super::integration::SUBNET as INTEGRATION;
use super::reference::{
    SECURITY_GROUP, SUBNET, Wanted, fault, name_in, names_something, out_of_place,
};
use crate::model::{Finding, message};
use crate::rules::arm::{Field, Resource, World};

/// Each reference, and what it must name.
const REFERENCES: [(&str, &Wanted); 3] = [
    ("subnetReference", &SUBNET),
    (INTEGRATION, &SUBNET),
    ("networkSecurityGroupReference", &SECURITY_GROUP),
];

/// C23: the cluster names subnets and a security group.
pub(in crate::rules) fn names_network(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let platform = cluster.field("spec.properties.platform");
    let faults = REFERENCES.into_iter().filter_map(|(name, wanted)| {
        let field = platform.key(name);
        match (names_something(&field), name) {
            (true, _) => fault("C23", &field, wanted),
            // C26 and C50 report it.
            (false, INTEGRATION) => None,
            (false, _) => {
                let what = wanted.called;
                let message = message!("{name} is missing: it must name {what}", name, what);
                let form = wanted.as_object();
                let help = format!("add `{name}: {form}`, or its armId");
                Some(field.finding("C23", message).help(help))
            }
        }
    });
    faults.collect()
}

/// C24: the network is in the cluster's subscription, and not in the managed resource group.
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

/// C25: both subnets are in the same virtual network.
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
    let message = message!(
        "the integration subnet is in the virtual network {integration}, but the nodes' subnet is in {nodes}",
        integration = integration.name(),
        nodes = nodes.name()
    );
    let help = "use two subnets of the same virtual network";
    vec![
        name_in(&platform.key(INTEGRATION))
            .finding("C25", message)
            .help(help),
    ]
}

/// Fields that may be absent, but not null (facts/aro-rules.md §3.1, C26).
const NOT_NULL: [&str; 6] = [
    "network.hostPrefix",
    "autoscaling.maxNodesTotal",
    "autoscaling.maxPodGracePeriodSeconds",
    "autoscaling.maxNodeProvisionTimeSeconds",
    "autoscaling.podPriorityThreshold",
    "etcd.dataEncryption.customerManaged.kms.visibility",
];

/// C26: optional fields are not null, since the API version that checks this.
pub(in crate::rules) fn nothing_is_null(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    if !arm_version(cluster).has_integration_subnet() {
        return Vec::new();
    }
    let fields = NOT_NULL.map(|name| cluster.field(format!("spec.properties.{name}")));
    let nulls = fields.iter().filter(|field| field.is_null());
    let finding = |field: &Field<'_>| {
        let message = message!("{field} is null, which Azure rejects", field = field.name());
        field
            .finding("C26", message)
            .help("remove it, or give it a value")
    };
    nulls.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::super::integration::integration_subnet_is_given;
    use super::*;

    /// The number of findings of C23 to C26 for a cluster of subscription `s` with these subnets and this group.
    fn faults(subnet: &str, integration: &str, group: &str) -> [usize; 4] {
        let rules = [
            names_network,
            network_is_at_hand,
            subnets_share_a_network,
            integration_subnet_is_given,
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
        rules.map(|rule| findings_of(rule, &spec).len())
    }

    fn network(group: &str, kind: &str) -> String {
        format!("/subscriptions/s/resourceGroups/{group}/providers/Microsoft.Network/{kind}")
    }

    #[test]
    fn the_cluster_can_use_its_network() {
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
