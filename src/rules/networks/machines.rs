//! W11: the subnets of nodes are in the machine network.

use std::collections::BTreeSet;

use super::range::Ranges;
use crate::model::{Finding, ObjectId, message};
use crate::rules::arm::{Resource, World};
use crate::rules::cidr::{edit_earlier, remark};
use crate::rules::cluster::network::{networks_of, overlapping};

/// W11: the subnets of the nodes that are not in the machine network of their cluster, if a person wrote that. The
/// service does not check it, and the installer's own sample is like this, so it is only a hint.
pub(super) fn outside(
    world: &World<'_>,
    cluster: &Resource<'_>,
    pools: &[&Resource<'_>],
    subnets: &[&Ranges<'_>],
) -> Vec<Finding> {
    let is_machines = |(called, _): &(&str, Finding)| *called == "machine";
    // C15 reports this network.
    if overlapping(cluster).iter().any(is_machines) {
        return Vec::new();
    }
    let networks = networks_of(cluster);
    let machines = networks.iter().find(|(_, called, _)| *called == "machine");
    let Some((field, _, machines)) = machines.filter(|(field, ..)| !field.is_default()) else {
        return Vec::new();
    };
    let users = std::iter::once(cluster).chain(pools.iter().copied());
    let reference = |user: &Resource<'_>| {
        let subnet = user.field("spec.properties.platform.subnetReference");
        Some(world.resolve(user, &subnet)?.id.clone())
    };
    let used: BTreeSet<ObjectId> = users.filter_map(reference).collect();
    let of_nodes = subnets.iter().filter(|subnet| used.contains(&subnet.of.id));
    let ranges = of_nodes.flat_map(|subnet| &subnet.sound);
    let outside = ranges.filter(|range| !machines.contains(&range.net));
    let finding = |range: &super::range::Range<'_>| {
        let here = match edit_earlier(field, &range.field) {
            true => field,
            false => &range.field,
        };
        let remark = remark(&range.field);
        let message = message!(
            "the subnet {range}{remark} is not inside of the machine network {machines} of {cluster}",
            range = range.net,
            machines,
            cluster = cluster.id
        );
        let help = "the machine network is normally the range that the nodes' subnets are in; it cannot be changed later";
        here.finding("W11", message).help(help)
    };
    outside.map(finding).collect()
}
