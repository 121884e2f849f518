//! Cluster API's core controllers, contract v1beta2. The real ones convert an object that is written in v1beta1; these
//! write the fields of both contracts to it, so that it can be read in either version.
//!
//! In: Clusters and MachinePools, and what they point at. Out: owner references, conditions and
//! counts; on deletion first the pools, then the control plane, then the infrastructure. It does not
//! know what a provider does.

mod cluster;
mod contract;
mod machine_pool;

#[cfg(test)]
mod tests;

use crate::api::kinds::CAPI;
use crate::model::ObjectId;
use crate::reconcile::controller::{Controller, Reconcile};
use crate::reconcile::world::GroupKind;

/// Cluster API's field manager.
const MANAGER: &str = "capi-manager";

/// The controllers of Cluster and MachinePool.
pub(super) fn controllers(kinds: &[GroupKind]) -> Vec<Controller> {
    let controller = |handles: fn(&ObjectId) -> bool, reconcile: Reconcile| Controller {
        manager: MANAGER,
        watches: kinds.to_vec(),
        handles,
        reconcile,
    };
    vec![
        controller(|id| id.is(CAPI, "Cluster"), Box::new(cluster::reconcile)),
        controller(
            |id| id.is(CAPI, "MachinePool"),
            Box::new(machine_pool::reconcile),
        ),
    ]
}
