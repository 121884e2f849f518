//! Whether what a status says contradicts itself, or that the object is being deleted.

use proptest::prelude::*;

use super::scene::Scene;
use super::start::NODE_POOL;
use crate::api::conditions as c;
use crate::api::kinds::{ARO, CAPI, RED_HAT_OPENSHIFT};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::Write;
use crate::reconcile::world::World;

type Held = Result<(), TestCaseError>;

/// The conditions that `Ready` and `ready` of a kind summarise.
fn summarised(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        "AROCluster" => (
            &[
                c::IDENTITY_READY,
                c::RESOURCES_READY,
                c::NETWORK_INFRASTRUCTURE_READY,
            ],
            &[c::RESOURCES_READY, c::NETWORK_INFRASTRUCTURE_READY],
        ),
        "AROControlPlane" => (
            &[
                c::IDENTITY_READY,
                c::ENCRYPTION_KEY_READY,
                c::HCP_CLUSTER_READY,
                c::KUBECONFIG_READY,
            ],
            &[c::HCP_CLUSTER_READY],
        ),
        _ => (
            &[
                c::NODE_POOL_READY,
                c::ARO_MACHINE_POOL_READY,
                c::AGENT_POOLS_READY,
            ],
            &[c::AGENT_POOLS_READY],
        ),
    }
}

/// Holds what an object says to what it says; `goes` if it is being deleted.
fn agrees(live: Live<'_>, goes: bool) -> Held {
    let is = |kind: &&&str, status: &str| {
        let found = live.condition(kind);
        found.is_some_and(|found| found.status() == status)
    };
    let refuted = |kinds: &'static [&'static str]| kinds.iter().find(|kind| is(kind, c::FALSE));
    let (whole, flag) = summarised(live.kind());
    if is(&&c::READY, c::TRUE) {
        let refuted = refuted(whole);
        prop_assert!(
            refuted.is_none(),
            "Ready is True, but {refuted:?}: {}",
            live.0
        );
        prop_assert!(!goes, "Ready is True of what is being deleted: {}", live.0);
    }
    if live.flag(&["status", "ready"]) {
        let refuted = refuted(flag);
        prop_assert!(
            refuted.is_none(),
            "it is ready, but {refuted:?}: {}",
            live.0
        );
        prop_assert!(!goes, "it is ready, and being deleted: {}", live.0);
    }
    Ok(())
}

/// Holds what is said anew of the nodes of a pool to it: none are there before Azure has made one.
fn counts(scene: &Scene, said: Live<'_>) -> Held {
    let world = World::of(&scene.seen);
    let count = said.number(&["status", "replicas"]).unwrap_or(0);
    let held = world.get(&said.id()).present();
    let known = held.map_or(0, |held| held.number(&["status", "replicas"]).unwrap_or(0));
    if count == 0 || count == known {
        return Ok(());
    }
    let has_nodes = held.is_some_and(|held| !held.list(&["spec", "providerIDList"]).is_empty());
    let nodes = world.nodes(&ObjectId::new(CAPI, "Cluster", "ns", "c"));
    let has_nodes = has_nodes || matches!(nodes, Some(Ok([_, ..])));
    let pool = world
        .get(&ObjectId::new(RED_HAT_OPENSHIFT, NODE_POOL, "ns", "c-np1"))
        .present();
    let state = pool.map_or("", |pool| {
        pool.text(&["status", "properties", "provisioningState"])
    });
    prop_assert!(
        has_nodes || state == "Succeeded",
        "it has {count} nodes, but the node pool is `{state}`: {}",
        said.0
    );
    Ok(())
}

/// Holds a status that is about to be written to it.
pub(super) fn none(scene: &Scene, write: &Write) -> Held {
    let Write::Status(patch) = write else {
        return Ok(());
    };
    let live = Live(patch);
    if !ARO.contains(&(live.group(), live.kind())) {
        return Ok(());
    }
    if live.kind() == "AROMachinePool" {
        counts(scene, live)?;
    }
    let seen = World::of(&scene.seen).get(&live.id()).present();
    agrees(live, seen.is_some_and(Live::is_deleting))
}

/// Holds every object to it once nothing is left to do.
pub(super) fn none_left(scene: &Scene) -> Held {
    for id in scene.handled() {
        let live = World::of(scene.real()).get(&id).present();
        let live = live.filter(|live| ARO.contains(&(live.group(), live.kind())));
        if let Some(live) = live {
            agrees(live, live.is_deleting())?;
        }
    }
    Ok(())
}
