//! A stand-in for the controllers of the ARO provider, to be put aside for our own.
//!
//! In: AROCluster, AROControlPlane and AROMachinePool with their embedded resources. Out: the embedded
//! resources applied, and the conditions, marks and status of facts/aro-controllers.md §3 and §6 in
//! outline. It makes no key and talks to no workload cluster: key versions and nodes are made up from
//! names. Unlike the original it waits for the role assignments to settle, keeps external
//! authentication by its own cluster's pools, and never takes `provisioned` back.

pub(crate) mod aro_cluster;
pub(crate) mod aro_control_plane;
pub(crate) mod aro_machine_pool;
pub(crate) mod conditions;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod links;
pub(crate) mod outcome;
mod resources;
pub(crate) mod world;

use std::time::Duration;

use crate::api::kinds::{CONTROL_PLANE, INFRASTRUCTURE};
use crate::model::ObjectId;
use outcome::{Actor, Decide};

/// The original's field manager.
const MANAGER: &str = "capz-manager";

/// The controllers of the three kinds.
pub(crate) fn actors(settle: Duration) -> Vec<Actor> {
    let actor = |plays: fn(&ObjectId) -> bool, decide: Decide| Actor {
        manager: MANAGER,
        plays,
        decide,
    };
    vec![
        actor(
            |id| id.is(INFRASTRUCTURE, "AROCluster"),
            Box::new(aro_cluster::decide),
        ),
        actor(
            |id| id.is(CONTROL_PLANE, "AROControlPlane"),
            Box::new(move |world, live, now| aro_control_plane::decide(world, live, now, settle)),
        ),
        actor(
            |id| id.is(INFRASTRUCTURE, "AROMachinePool"),
            Box::new(aro_machine_pool::decide),
        ),
    ]
}
