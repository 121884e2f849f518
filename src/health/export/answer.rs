//! The answers that other engines have.
//!
//! In: a state. Out: what Argo CD and Flux make of it. It knows neither's language.

use crate::model::HealthState;

/// What an engine makes of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Argo CD's Healthy, Flux's current.
    Ready,
    /// Argo CD's Degraded, Flux's failed.
    Failed,
    /// Argo CD's Progressing, Flux's in progress.
    Unfinished,
}

impl From<HealthState> for Answer {
    fn from(state: HealthState) -> Self {
        match state {
            HealthState::Ready => Self::Ready,
            HealthState::Failed { terminal: true } => Self::Failed,
            _ => Self::Unfinished,
        }
    }
}
