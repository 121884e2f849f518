//! W13: the subnets of nodes have an address for each of them.

use std::collections::BTreeMap;

use super::range::Ranges;
use crate::model::{Finding, ObjectId, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::cluster::network::most_nodes;
use crate::rules::pool::IN_A_CLUSTER;

/// The addresses of each range that Azure itself uses.
const KEPT: i64 = 5;

/// W13: subnets of a cluster with fewer addresses than the pools in them may have nodes. The finding points at the
/// range, or if that is a default at the largest pool.
pub(super) fn without_address(
    world: &World<'_>,
    cluster: &Resource<'_>,
    pools: &[&Resource<'_>],
    subnets: &[&Ranges<'_>],
) -> Vec<Finding> {
    let all = pools.iter().map(|pool| most_nodes(pool));
    // N25 reports more.
    if all.fold(0, i64::saturating_add) > IN_A_CLUSTER {
        return Vec::new();
    }
    let mut users: BTreeMap<&ObjectId, Vec<&Resource<'_>>> = BTreeMap::new();
    for pool in pools {
        let own = reference(pool);
        let subnet = match own.is_given() {
            true => world.resolve(pool, &own),
            false => world.resolve(cluster, &reference(cluster)),
        };
        if let Some(subnet) = subnet {
            users.entry(&subnet.id).or_default().push(pool);
        }
    }
    let found = subnets.iter().filter_map(|subnet| {
        let pools = users.get(&subnet.of.id)?;
        too_few(subnet, pools)
    });
    found.collect()
}

fn reference<'a>(user: &'a Resource<'a>) -> Field<'a> {
    user.field("spec.properties.platform.subnetReference")
}

fn too_few(subnet: &Ranges<'_>, pools: &[&Resource<'_>]) -> Option<Finding> {
    let range = subnet.sound.first().filter(|_| subnet.complete)?;
    let addresses = |bits: u8| 1_i64.checked_shl(u32::from(bits)).unwrap_or(i64::MAX);
    let sizes = subnet.sound.iter().map(|one| 32 - one.net.prefix_len());
    let room: i64 = sizes.map(|bits| addresses(bits) - KEPT).sum();
    let nodes = pools
        .iter()
        .fold(0_i64, |sum, pool| sum.saturating_add(most_nodes(pool)));
    let largest = pools.iter().max_by_key(|pool| most_nodes(pool))?;
    let bounds = ["autoScaling.max", "replicas"];
    let bounds = bounds.map(|name| largest.field(format!("spec.properties.{name}")));
    let [most, fixed] = bounds;
    let size = if most.is_given() { most } else { fixed };
    let field = match range.field.is_default() {
        true => &size,
        false => &range.field,
    };
    let message = message!(
        "the subnet {range} has room for {room} nodes, but the node pools in it may have {nodes}",
        range = range.net,
        room,
        nodes
    );
    let help = "choose a larger range: a subnet in use cannot be changed later";
    (room < nodes).then(|| field.finding("W13", message).help(help))
}
