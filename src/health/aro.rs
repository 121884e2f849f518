//! The kinds of the ARO provider. Their lasting conditions decide, not `status.ready` of an AROCluster,
//! since CAPZ's controller clears it at the start of every reconciliation.
//!
//! In: a live object. Out: its health.

use super::{Condition, Live, aso, from_condition, progressing, unobserved};
use crate::api::conditions as c;
use crate::model::{Health, HealthState};

/// How the reasons begin that mean: waiting for something else.
const WAITING: &str = "WaitingFor";

/// AROCluster: every embedded resource is ready, and the cluster has been provisioned once.
pub(super) fn cluster(live: Live<'_>) -> Health {
    let empty = live.list(&["spec", "resources"]).is_empty();
    let resources = (!empty).then(|| unmet(live, c::RESOURCES_READY)).flatten();
    resources.unwrap_or_else(
        || match live.flag(&["status", "initialization", "provisioned"]) {
            true => Health::ready(),
            false => awaiting(live, c::NETWORK_INFRASTRUCTURE_READY, "provisioned"),
        },
    )
}

/// AROControlPlane: the key, the HCP cluster and, if it has one, the external authentication, and a
/// kubeconfig (which `ready` indicates).
pub(super) fn control_plane(live: Live<'_>) -> Health {
    if let Some(failed) = refused_key(live) {
        return failed;
    }
    if let Some(unmet) = unmet(live, c::HCP_CLUSTER_READY) {
        return unmet;
    }
    let ready = live.flag(&["status", "ready"])
        && live.flag(&["status", "initialization", "controlPlaneInitialized"]);
    if !ready {
        return progressing("KubeconfigAwaited", "the kubeconfig does not exist yet");
    }
    let with_auth = has_external_auth(live).then(|| unmet(live, c::EXTERNAL_AUTH_READY));
    with_auth.flatten().unwrap_or_else(Health::ready)
}

/// AROMachinePool: the node pool is ready, and it has been provisioned once.
pub(super) fn machine_pool(live: Live<'_>) -> Health {
    if let Some(unmet) = unmet(live, c::NODE_POOL_READY) {
        return unmet;
    }
    let provisioned = live.flag(&["status", "initialization", "provisioned"]);
    match provisioned && live.flag(&["status", "ready"]) {
        true => Health::ready(),
        false => awaiting(live, c::AGENT_POOLS_READY, "provisioned"),
    }
}

/// AzureClusterIdentity: ready when it exists, unless a controller reports a problem with it.
pub(super) fn identity(live: Live<'_>) -> Health {
    match live.condition(c::READY) {
        Some(ready) if ready.is_false() => {
            from_condition(HealthState::Failed { terminal: false }, ready)
        }
        _ => Health::ready(),
    }
}

fn has_external_auth(live: Live<'_>) -> bool {
    let resources = live.list(&["spec", "resources"]).iter();
    live.condition(c::EXTERNAL_AUTH_READY).is_some()
        || resources
            .map(Live)
            .any(|item| item.kind() == "HcpOpenShiftClustersExternalAuth")
}

/// A person has to supply an encryption key.
fn refused_key(live: Live<'_>) -> Option<Health> {
    let key = live.condition(c::ENCRYPTION_KEY_READY)?;
    let refused = [c::ACTIVE_KEY_MISSING, c::KEY_VERSION_MISSING].contains(&key.reason());
    (key.is_false() && refused).then(|| from_condition(HealthState::Failed { terminal: true }, key))
}

/// The health that follows from a condition that is not true of the newest spec.
fn unmet(live: Live<'_>, kind: &str) -> Option<Health> {
    match live.condition(kind) {
        None => Some(unobserved(live, kind)),
        Some(condition) if !live.is_current(condition) => Some(unobserved(live, kind)),
        Some(condition) if condition.is_true() => None,
        Some(condition) => Some(from_condition(state(condition), condition)),
    }
}

/// Capstan's own reasons first; the others are ASO's, with the severity in brackets before the message
/// (facts/aro-controllers.md §3.2, step 9).
fn state(condition: Condition<'_>) -> HealthState {
    let (reason, message) = (condition.reason(), condition.message());
    if reason.starts_with(WAITING) {
        return HealthState::Waiting;
    }
    if reason == c::FAILED {
        return HealthState::Failed { terminal: false };
    }
    let bracketed = message.strip_prefix('[').and_then(|m| m.split_once("] "));
    let (severity, message) = bracketed.unwrap_or(("", message));
    aso::failure(severity, reason, message)
}

/// A lasting field is not true yet; the condition that explains it best gives reason and message.
fn awaiting(live: Live<'_>, kind: &str, mark: &str) -> Health {
    match live
        .condition(kind)
        .filter(|condition| !condition.is_true())
    {
        Some(condition) => from_condition(HealthState::Progressing, condition),
        None => progressing("Provisioning", format!("{mark} is not true yet")),
    }
}
