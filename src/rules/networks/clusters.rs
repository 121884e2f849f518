//! The clusters of a fleet, each with its node pools.

use std::collections::HashMap;

use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::ObjectId;
use crate::rules::arm::{Resource, World};
use crate::rules::pool;

/// The clusters of a fleet, each with its node pools.
pub(super) fn clusters<'a>(world: &'a World<'a>) -> Vec<(&'a Resource<'a>, Vec<&'a Resource<'a>>)> {
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster");
    let mut pools: HashMap<&ObjectId, Vec<&Resource<'_>>> = HashMap::new();
    for pool in world.of_kind(RED_HAT_OPENSHIFT, pool::KIND) {
        if let Some(cluster) = world.owner(pool) {
            pools.entry(&cluster.id).or_default().push(pool);
        }
    }
    clusters
        .map(|cluster| (cluster, pools.remove(&cluster.id).unwrap_or_default()))
        .collect()
}
