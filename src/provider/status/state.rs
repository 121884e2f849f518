//! The states of an instance, and their words.
//!
//! In: nothing. Out: states in the order of how bad they are, and the word that a vocabulary has for each.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::api::fleet::StatusVocabulary as Vocabulary;

/// The state of an instance. A later one is worse: of several, the greatest is the state of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// It is fully operational.
    Ready,
    /// Its creation is initiated.
    Pending,
    /// It is being created or updated.
    Provisioning,
    /// It was created and does not serve now.
    Unavailable,
    /// It cannot be created, or is degraded.
    Failed,
    /// It is being deleted.
    Deleting,
    /// It does not exist.
    Deleted,
}

impl State {
    /// All states, in their order.
    pub const ALL: [Self; 7] = [
        Self::Ready,
        Self::Pending,
        Self::Provisioning,
        Self::Unavailable,
        Self::Failed,
        Self::Deleting,
        Self::Deleted,
    ];

    /// The word of the REST API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "READY",
            Self::Pending => "PENDING",
            Self::Provisioning => "PROVISIONING",
            Self::Unavailable => "UNAVAILABLE",
            Self::Failed => "FAILED",
            Self::Deleting => "DELETING",
            Self::Deleted => "DELETED",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Vocabulary {
    /// The word for a state.
    #[must_use]
    pub const fn word(self, state: State) -> &'static str {
        match (self, state) {
            (Self::Sprm, State::Ready) => "RUNNING",
            (Self::Sprm, State::Unavailable) => State::Provisioning.name(),
            _ => state.name(),
        }
    }
}
