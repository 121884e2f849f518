//! A hosted cluster of HyperShift: a HostedCluster and its NodePools.
//!
//! One file per kind, and one for each part that depends on the infrastructure. What HyperShift's kinds leave open is written, so that
//! the same definition makes the same cluster with every version of HyperShift. It does not know what a management cluster serves.

mod azure;
mod blueprint;
mod hosted_cluster;
mod node_pool;
mod refusals;

#[cfg(test)]
mod tests;

use blueprint::Blueprint;

use crate::api::cluster_definition::{ClusterDefinition, HyperShiftSpec};
use crate::model::{Finding, Object};

/// The cluster's objects in apply order, and what is wrong with what was asked for.
pub(super) fn expand(
    definition: &ClusterDefinition,
    spec: &HyperShiftSpec,
) -> (Vec<Object>, Vec<Finding>) {
    let b = Blueprint::of(definition, spec);
    let refused = refusals::refusals(&b);
    if !refused.is_empty() {
        return (Vec::new(), refused);
    }
    let pools = b.pools.iter().map(|pool| node_pool::object(&b, pool));
    let objects = [hosted_cluster::object(&b)].into_iter().chain(pools);
    (objects.collect(), Vec::new())
}
