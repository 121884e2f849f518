//! N09 and N10: the subnet of a node pool.

use crate::model::{Finding, message};
use crate::rules::arm::{ArmId, Resource, World};
use crate::rules::cluster::reference::{self, name_in};

const SUBNET: &str = "spec.properties.platform.subnetReference";

/// N09: `subnetReference` names a subnet.
pub(super) fn subnet_is_a_subnet(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let reference = pool.field(SUBNET);
    let fault = reference::fault("N09", &reference, &reference::SUBNET);
    fault.filter(|_| reference.is_given()).into_iter().collect()
}

/// N10: the subnet is in the virtual network of the cluster's subnet.
pub(super) fn subnet_is_in_the_clusters_network(
    world: &World<'_>,
    pool: &Resource<'_>,
) -> Vec<Finding> {
    let reference = pool.field(SUBNET);
    let own = network(world, pool);
    let clusters = world
        .owner(pool)
        .and_then(|cluster| network(world, cluster));
    let (Some(own), Some(clusters)) = (own, clusters) else {
        return Vec::new();
    };
    let mut same = own.clone();
    if own.shares_subscription(&clusters) {
        let subscription = &mut same.parts_mut().subscription;
        subscription.clone_from(&clusters.subscription);
    }
    if same == clusters {
        return Vec::new();
    }
    let message = message!(
        "the subnet is in {own}, but the cluster is in {clusters}",
        own,
        clusters
    );
    let help = "name a subnet of the cluster's virtual network, or remove the reference to use the cluster's own subnet";
    vec![name_in(&reference).finding("N10", message).help(help)]
}

/// The virtual network of the subnet that a cluster or a pool names.
fn network(world: &World<'_>, resource: &Resource<'_>) -> Option<ArmId> {
    let subnet = world.referred(resource, &resource.field(SUBNET))?;
    subnet
        .parent()
        .filter(|_| subnet.kind() == reference::SUBNET.arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_kind;
    use crate::rules::pool::KIND;

    #[test]
    fn a_subnet_is_named_in_one_way() {
        const ID: &str = "armId: /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n";
        let named = "group: network.azure.com, kind: VirtualNetworksSubnet, name: nodes";
        for (reference, line) in [
            ("null".to_owned(), None),
            (format!("{{{ID}}}"), None),
            (format!("{{{named}}}"), None),
            ("{}".to_owned(), Some("N09 7:24")),
            ("{name: nodes}".to_owned(), Some("N09 7:24")),
            (format!("{{{ID}, {named}}}"), Some("N09 7:32")),
        ] {
            let pool = format!(
                "apiVersion: redhatopenshift.azure.com/v1api20251223preview\nkind: {KIND}\nmetadata: {{name: p}}\nspec:\n  properties:\n    platform:\n      subnetReference: {reference}\n"
            );
            let found = findings_of_kind(subnet_is_a_subnet, KIND, &pool);
            let places = found.iter().map(|line| {
                let words: Vec<&str> = line.split(' ').take(2).collect();
                words.join(" ")
            });
            assert_eq!(
                places.collect::<Vec<_>>(),
                Vec::from_iter(line),
                "{reference}"
            );
        }
    }
}
