//! The answers that every kind's rules give.

use super::live::Condition;
use crate::model::{Health, HealthState};

/// At work, with a reason and a message.
pub(super) fn progressing(reason: &str, message: impl Into<String>) -> Health {
    Health::new(HealthState::Progressing, reason, message)
}

/// This state with the reason and message of a condition.
pub(super) fn from_condition(state: HealthState, condition: Condition<'_>) -> Health {
    Health::new(state, condition.reason(), condition.message())
}
