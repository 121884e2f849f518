//! What a live object says of itself.

/// The state of a live object (DESIGN §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HealthState {
    /// It is not there, or says nothing we understand.
    Unknown,
    /// It waits for something else.
    Waiting,
    /// It works.
    Progressing,
    /// It is what was asked for.
    Ready,
    /// It failed; terminal when only a change of the spec can help.
    Failed {
        /// Whether waiting is in vain.
        terminal: bool,
    },
}

/// A state with the reason and message of the condition that decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The state.
    pub state: HealthState,
    /// A CamelCase word, as the object gave it; may be empty.
    pub reason: String,
    /// A sentence, as the object gave it; may be empty.
    pub message: String,
}

impl Health {
    /// A state with its reason and message.
    pub fn new(state: HealthState, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            state,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// Ready, with nothing more to say.
    #[must_use]
    pub fn ready() -> Self {
        Self::new(HealthState::Ready, "", "")
    }

    /// Whether it is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.state == HealthState::Ready
    }

    /// Whether it failed so that waiting is in vain.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.state == (HealthState::Failed { terminal: true })
    }
}
