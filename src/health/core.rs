//! Kubernetes kinds that run nothing: services, claims, namespaces, custom resource definitions.
//!
//! In: a live object of the kind. Out: its health.

use super::{Live, from_condition, progressing};
use crate::model::{Health, HealthState};

/// A load balancer needs its cluster IP; other services are always ready.
pub(super) fn service(live: Live<'_>) -> Health {
    let balanced = live.text(&["spec", "type"]) == "LoadBalancer";
    match balanced && live.text(&["spec", "clusterIP"]).is_empty() {
        true => progressing("NoIPAssigned", "the service has no cluster IP yet"),
        false => Health::ready(),
    }
}

/// A claim must be bound.
pub(super) fn volume_claim(live: Live<'_>) -> Health {
    match live.text(&["status", "phase"]) {
        "Bound" => Health::ready(),
        "" => progressing("NotBound", "the claim is not bound"),
        phase => progressing("NotBound", format!("the claim is {phase}")),
    }
}

/// A namespace is ready unless it is being deleted.
pub(super) fn namespace(live: Live<'_>) -> Health {
    match live.text(&["status", "phase"]) {
        "Terminating" => progressing("Terminating", "the namespace is being deleted"),
        _ => Health::ready(),
    }
}

/// A definition must be served; name conflicts need a change.
pub(super) fn definition(live: Live<'_>) -> Health {
    let terminal = HealthState::Failed { terminal: true };
    if let Some(names) = live.condition("NamesAccepted").filter(|c| c.is_false()) {
        return from_condition(terminal, names);
    }
    match live.condition("Established") {
        Some(c) if c.is_true() => Health::ready(),
        Some(c) if c.is_false() && c.reason() != "Installing" => from_condition(terminal, c),
        _ => progressing("Installing", "the definition is not served yet"),
    }
}
