//! Cluster API's own kinds, contract v1beta2.
//!
//! In: a live Cluster or MachinePool. Out: its health. A cluster that is not initialized is progressing
//! whatever its summary condition is, since that may be missing or old.

use super::{Live, from_condition, progressing, unobserved};
use crate::api::capi;
use crate::api::labels::REPLICAS_MANAGED_BY;
use crate::model::{Health, HealthState};

/// A Cluster: infrastructure and control plane were initialized once, and all of it is available now.
pub(super) fn cluster(live: Live<'_>) -> Health {
    if live.observed() < live.generation() {
        return unobserved(live, "status");
    }
    let first_steps = [
        ("infrastructureProvisioned", capi::INFRASTRUCTURE_READY),
        ("controlPlaneInitialized", capi::CONTROL_PLANE_INITIALIZED),
    ];
    let missing = first_steps
        .iter()
        .find(|(step, _)| !live.flag(&["status", "initialization", step]));
    if let Some((step, condition)) = missing {
        return match live.condition(condition).filter(|c| !c.is_true()) {
            Some(condition) => from_condition(HealthState::Progressing, condition),
            None => progressing(condition, format!("{step} is not true yet")),
        };
    }
    match live.condition(capi::AVAILABLE) {
        Some(available) if !live.is_current(available) => unobserved(live, capi::AVAILABLE),
        Some(available) if available.is_true() => Health::ready(),
        Some(available) => from_condition(HealthState::Progressing, available),
        None => unobserved(live, capi::AVAILABLE),
    }
}

/// A MachinePool: its infrastructure was provisioned once, and all of its nodes are ready. With an
/// autoscaler, the wanted number of nodes is the number that the pool has.
pub(super) fn machine_pool(live: Live<'_>) -> Health {
    if live.observed() < live.generation() {
        return unobserved(live, "status");
    }
    if !live.flag(&["status", "initialization", "infrastructureProvisioned"]) {
        return progressing(
            capi::INFRASTRUCTURE_READY,
            "the infrastructure of the pool is not provisioned yet",
        );
    }
    let present = live.number(&["status", "replicas"]);
    let asked = live.number(&["spec", "replicas"]);
    let managed = !live.annotation(REPLICAS_MANAGED_BY).is_empty();
    let want = asked.filter(|_| !managed).or(present);
    let ready = live.count(&["status", "readyReplicas"]);
    match (want, present) {
        (Some(want), Some(present)) if want == present && ready >= want => Health::ready(),
        (Some(want), _) => progressing("NodesNotReady", format!("Ready: {ready}/{want}")),
        (None, _) => progressing(
            "NodesNotReady",
            "the pool does not report a number of nodes yet",
        ),
    }
}
