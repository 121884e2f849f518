//! Whether what a status says contradicts itself, or that the object is being deleted.

use proptest::prelude::*;

use super::scene::Scene;
use crate::api::conditions as c;
use crate::api::kinds::ARO;
use crate::health::Live;
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

/// Holds a status that is about to be written to it.
pub(super) fn none(scene: &Scene, write: &Write) -> Held {
    let Write::Status(patch) = write else {
        return Ok(());
    };
    let live = Live(patch);
    if !ARO.contains(&(live.group(), live.kind())) {
        return Ok(());
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
