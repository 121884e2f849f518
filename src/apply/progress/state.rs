//! What one object has reached.
//!
//! In: the health of a live object. Out: its state as people read it. It does not know the other objects.

use jiff::Timestamp;
use serde::Serialize;

use crate::model::{Health, HealthState, ObjectId};

/// The state of one object as people read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum State {
    /// It was sent to the cluster.
    Applied,
    /// It waits for something else.
    Waiting,
    /// It works.
    Progressing,
    /// It is as specified.
    Ready,
    /// It failed.
    Failed,
}

impl State {
    /// The state in one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Applied => "Applied",
            Self::Waiting => "Waiting",
            Self::Progressing => "Progressing",
            Self::Ready => "Ready",
            Self::Failed => "Failed",
        }
    }
}

/// One object reached a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// When.
    pub at: Timestamp,
    /// Which object, top-level or embedded.
    pub object: ObjectId,
    /// What it reached.
    pub state: State,
    /// Whether waiting is in vain.
    pub terminal: bool,
    /// The reason and message of the condition that decided it.
    pub message: String,
}

impl Progress {
    /// The progress that follows from the health of a live object.
    #[must_use]
    pub fn of(at: Timestamp, object: &ObjectId, health: &Health) -> Self {
        let state = match health.state {
            HealthState::Unknown | HealthState::Progressing => State::Progressing,
            HealthState::Waiting => State::Waiting,
            HealthState::Ready => State::Ready,
            HealthState::Failed { .. } => State::Failed,
        };
        let parts = [health.reason.as_str(), health.message.as_str()];
        let message = parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        Self {
            at,
            object: object.clone(),
            state,
            terminal: health.is_terminal(),
            message,
        }
    }
}
