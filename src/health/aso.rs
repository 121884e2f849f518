//! Azure resources held by Azure Service Operator: the severity of its one condition decides
//! (facts/aro-rules.md §1.5).
//!
//! In: a live object of any ASO kind. Out: its health.

use super::{Condition, Live, from_condition, unobserved};
use crate::api::aso;
use crate::model::{Health, HealthState};

/// Ready when the condition of the newest spec is true.
pub(super) fn health(live: Live<'_>) -> Health {
    match live.condition(aso::READY) {
        Some(ready) if live.is_current(ready) => current(ready),
        _ => unobserved(live, "status from Azure Service Operator"),
    }
}

fn current(ready: Condition<'_>) -> Health {
    if ready.is_true() {
        return from_condition(HealthState::Ready, ready);
    }
    let state = failure(ready.severity(), ready.reason(), ready.message());
    from_condition(state, ready)
}

/// What a condition that is not true means. Waiting does not help against two failures although ASO keeps
/// retrying them: several rejected fields at once, and a cluster that failed to provision.
pub(super) fn failure(severity: &str, reason: &str, message: &str) -> HealthState {
    let in_vain = reason == aso::MULTIPLE_ERRORS_OCCURRED || message.contains(aso::IN_STATE_ERROR);
    match severity {
        _ if in_vain => HealthState::Failed { terminal: true },
        aso::ERROR => HealthState::Failed { terminal: true },
        _ if aso::WAITING.contains(&reason) => HealthState::Waiting,
        aso::WARNING => HealthState::Failed { terminal: false },
        _ => HealthState::Progressing,
    }
}
