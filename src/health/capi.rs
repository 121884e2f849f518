//! Cluster API's own kinds, contract v1beta2 and, where it is read in that version, v1beta1.
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
    if live.version() == capi::V1BETA1 {
        return older_cluster(live);
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

/// A Cluster of the previous contract: infrastructure and control plane are ready, and so is the summary if there is
/// one. Its conditions have no generation.
fn older_cluster(live: Live<'_>) -> Health {
    if let Some(failed) = failed(live) {
        return failed;
    }
    let steps = [
        ("infrastructureReady", capi::INFRASTRUCTURE_READY),
        ("controlPlaneReady", capi::CONTROL_PLANE_READY),
    ];
    let missing = steps.iter().find(|(step, _)| !live.flag(&["status", step]));
    let condition = missing.map_or(capi::READY, |(_, condition)| condition);
    match (
        live.condition(condition).filter(|one| !one.is_true()),
        missing,
    ) {
        (Some(condition), _) => from_condition(HealthState::Progressing, condition),
        (None, Some((step, _))) => progressing(condition, format!("{step} is not true yet")),
        (None, None) if live.text(&["status", "phase"]) == "Provisioned" => Health::ready(),
        (None, None) => progressing("NotProvisioned", "the phase is not Provisioned yet"),
    }
}

/// What the previous contract reports if only a change of the spec can help.
fn failed(live: Live<'_>) -> Option<Health> {
    let [reason, message] =
        ["failureReason", "failureMessage"].map(|field| live.text(&["status", field]));
    let has_failed = !reason.is_empty() || !message.is_empty();
    let state = HealthState::Failed { terminal: true };
    (has_failed || live.text(&["status", "phase"]) == "Failed")
        .then(|| Health::new(state, reason, message))
}

/// A MachinePool: its infrastructure was provisioned once, and all of its nodes are ready. With an
/// autoscaler, the wanted number of nodes is the number that the pool has.
pub(super) fn machine_pool(live: Live<'_>) -> Health {
    if live.observed() < live.generation() {
        return unobserved(live, "status");
    }
    let is_older = live.version() == capi::V1BETA1;
    if let Some(failed) = failed(live).filter(|_| is_older) {
        return failed;
    }
    let provisioned: &[&str] = match is_older {
        true => &["status", "infrastructureReady"],
        false => &["status", "initialization", "infrastructureProvisioned"],
    };
    if !live.flag(provisioned) {
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
