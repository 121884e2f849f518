//! The generic rules of kstatus (facts/gitops-peers.md §3), for every kind without rules of its own.
//!
//! In: a live object that is not being deleted. Out: its health. It does not know severities.

use super::{Live, core, from_condition, pod, progressing, workload};
use crate::model::{Health, HealthState};

/// The health of an object of any kind.
pub(super) fn health(live: Live<'_>) -> Health {
    stale(live)
        .or_else(|| standard_conditions(live))
        .or_else(|| built_in(live))
        .or_else(|| ready_condition(live))
        .unwrap_or_else(Health::ready)
}

/// The status is about an older spec. Skipped when either number is absent.
fn stale(live: Live<'_>) -> Option<Health> {
    let generation = live.number(&["metadata", "generation"])?;
    let observed = live.number(&["status", "observedGeneration"])?;
    let message =
        format!("generation is {generation}, but latest observed generation is {observed}");
    (generation != observed).then(|| progressing("LatestGenerationNotObserved", message))
}

/// `Reconciling` and `Stalled`, whichever comes first.
fn standard_conditions(live: Live<'_>) -> Option<Health> {
    let state = |kind| match kind {
        "Reconciling" => Some(HealthState::Progressing),
        "Stalled" => Some(HealthState::Failed { terminal: true }),
        _ => None,
    };
    let true_conditions = live.conditions().filter(|condition| condition.is_true());
    true_conditions
        .filter_map(|condition| Some(from_condition(state(condition.kind())?, condition)))
        .next()
}

/// The kinds of Kubernetes itself.
fn built_in(live: Live<'_>) -> Option<Health> {
    let rule: fn(Live<'_>) -> Health = match (live.group(), live.kind()) {
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") => |_| Health::ready(),
        ("", "Service") => core::service,
        ("", "PersistentVolumeClaim") => core::volume_claim,
        ("", "Namespace") => core::namespace,
        ("networking.k8s.io", "Ingress") => |_| Health::ready(),
        ("policy", "PodDisruptionBudget") => |_| Health::ready(),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => core::definition,
        ("", "Pod") => pod::pod,
        ("batch", "Job") => pod::job,
        ("apps" | "extensions", "Deployment") => workload::deployment,
        ("apps" | "extensions", "ReplicaSet") => workload::replica_set,
        ("apps", "StatefulSet") => workload::stateful_set,
        ("apps" | "extensions", "DaemonSet") => workload::daemon_set,
        _ => return None,
    };
    Some(rule(live))
}

/// The condition `Ready`, which any kind may have.
fn ready_condition(live: Live<'_>) -> Option<Health> {
    let ready = live.condition("Ready")?;
    match ready.status() {
        "True" => Some(from_condition(HealthState::Ready, ready)),
        "False" | "Unknown" => Some(from_condition(HealthState::Progressing, ready)),
        _ => None,
    }
}
