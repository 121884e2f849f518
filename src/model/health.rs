//! The health of a live object.

use super::words::{message_line, said};

/// The state of a live object (DESIGN §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HealthState {
    /// It does not exist, or its status is not understood.
    Unknown,
    /// It waits for something else.
    Waiting,
    /// Its controller is working on it.
    Progressing,
    /// It is in the requested state.
    Ready,
    /// It failed; terminal if only a change of the spec can help.
    Failed {
        /// Whether waiting does not help.
        terminal: bool,
    },
}

/// A state with the reason and message of the condition that decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The state.
    pub state: HealthState,
    /// A CamelCase reason from the object; may be empty.
    pub reason: String,
    /// A message from the object; may be empty.
    pub message: String,
}

impl Health {
    /// A state with its reason and message, which whoever writes the object's status chose.
    pub fn new(state: HealthState, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            state,
            reason: said(&reason.into()),
            message: message_line(&message.into()),
        }
    }

    /// Ready, without a reason or message.
    #[must_use]
    pub fn ready() -> Self {
        Self::new(HealthState::Ready, "", "")
    }

    /// Whether it is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.state == HealthState::Ready
    }

    /// Whether it failed and waiting does not help.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.state == (HealthState::Failed { terminal: true })
    }
}
