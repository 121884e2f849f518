//! HyperShift's operator and the control planes that it hosts, and a lab with machines for its Agent platform.
//!
//! In: HostedClusters and NodePools, the Secrets that they name, Agents; and what should fail. Out: the namespace and the
//! HostedControlPlane of each cluster, its status from applied to ready, the nodes of pools as numbers, bound Agents, and
//! the Service of a private router; on deletion the pools, the control plane and the namespace, in this order. Steps take
//! as long as is expected of them. It does not know machines, Pods, load balancers or the cluster that is hosted: nodes
//! come up together, a change of the spec other than the release and the number of nodes takes no time, and the versions
//! of a cluster and its pools may differ by any distance.

mod agents;
mod apis;
mod failures;
mod hosted_cluster;
mod hosted_control_plane;
mod lab;
mod moments;
mod names;
mod node_pool;
mod reach;
mod release;
mod router;
mod secrets;
mod version;

#[cfg(test)]
mod tests;

pub use apis::HostedApis;
pub(crate) use failures::can_fail;
pub(super) use names::KINDS;
pub(crate) use router::is_private;

use super::azure::Azure;
use super::failure::Failure;
use crate::api::platform::HYPERSHIFT;
use crate::model::ObjectId;
use crate::reconcile::controller::{Controller, Reconcile};
use crate::reconcile::world::GroupKind;

/// The controllers of HostedCluster, HostedControlPlane and NodePool.
pub(super) fn controllers(
    failures: &[Failure],
    azure: &Azure,
    apis: &HostedApis,
) -> Vec<Controller> {
    let apis = apis.clone();
    let (of_clusters, of_pools) = (failures.to_vec(), failures.to_vec());
    let [at_end, at_router, at_nodes] = [azure.clone(), azure.clone(), azure.clone()];
    vec![
        controller(
            names::OPERATOR,
            |id| id.is(HYPERSHIFT, "HostedCluster"),
            Box::new(move |world, live, now| {
                hosted_cluster::reconcile(world, live, now, (&of_clusters, &at_end, &apis))
            }),
        ),
        controller(
            names::CONTROL_PLANE_OPERATOR,
            |id| id.is(HYPERSHIFT, "HostedControlPlane"),
            Box::new(move |world, live, now| {
                hosted_control_plane::reconcile(world, live, now, &at_router)
            }),
        ),
        controller(
            names::OPERATOR,
            |id| id.is(HYPERSHIFT, "NodePool"),
            Box::new(move |world, live, now| {
                node_pool::reconcile(world, live, now, (&of_pools, &at_nodes))
            }),
        ),
    ]
}

/// The lab, which registers the machines that pools lack.
pub(super) fn lab() -> Controller {
    controller(
        names::LAB,
        |id| id.is(HYPERSHIFT, "NodePool"),
        Box::new(lab::reconcile),
    )
}

fn controller(
    manager: &'static str,
    handles: fn(&ObjectId) -> bool,
    reconcile: Reconcile,
) -> Controller {
    let own = KINDS.iter().filter(|kind| kind.group == HYPERSHIFT);
    Controller {
        manager,
        watches: own
            .map(|kind| GroupKind::new(kind.group, kind.kind))
            .collect(),
        handles,
        reconcile,
    }
}
