//! A stand-in for the controllers of the ARO provider, to be put aside for our own.
//!
//! In: AROCluster, AROControlPlane and AROMachinePool with their embedded resources. Out: the embedded
//! resources applied, and the conditions, marks and status of facts/aro-controllers.md §3 and §6 in
//! outline. It makes no key and talks to no workload cluster: key versions and nodes are made up from
//! names. Unlike the original it waits for the role assignments to settle, keeps external
//! authentication by its own cluster's pools, and never takes `provisioned` back.

mod cluster;
mod control_plane;
mod encryption;
mod machine_pool;
mod resources;

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::outcome::{Actor, Decide};
use crate::api::kinds::{CONTROL_PLANE, INFRASTRUCTURE};
use crate::model::ObjectId;

/// The original's field manager.
const MANAGER: &str = "capz-manager";

/// The controllers of the three kinds.
pub(super) fn actors(settle: Duration) -> Vec<Actor> {
    let actor = |plays: fn(&ObjectId) -> bool, decide: Decide| Actor {
        manager: MANAGER,
        plays,
        decide,
    };
    vec![
        actor(
            |id| id.is(INFRASTRUCTURE, "AROCluster"),
            Box::new(cluster::decide),
        ),
        actor(
            |id| id.is(CONTROL_PLANE, "AROControlPlane"),
            Box::new(move |world, live, now| control_plane::decide(world, live, now, settle)),
        ),
        actor(
            |id| id.is(INFRASTRUCTURE, "AROMachinePool"),
            Box::new(machine_pool::decide),
        ),
    ]
}
