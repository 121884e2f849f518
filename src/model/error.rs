//! What to do about an error of the world: the one question every adapter's errors answer.

use serde::Serialize;

/// The kind of an adapter's error. Retry, condition and wording are derived from it alone, so that
/// the same trouble is treated the same way wherever it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum ErrorClass {
    /// It may pass by itself: try again, slower each time.
    Transient,
    /// We may not: somebody must grant a right. Say it once, try again rarely.
    Denied,
    /// Somebody else was there first: look again, then decide again.
    Conflict,
    /// What was asked cannot work: a setting or a file must change.
    Invalid,
    /// What was asked for is not there (any more).
    Gone,
    /// We are at fault: report it, do not repeat it in a tight loop.
    Bug,
}

/// What an adapter answers behind a port of this module: the class decides what to do, the message is for
/// people and names what was asked of whom. It never holds a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AdapterError {
    class: ErrorClass,
    message: String,
}

impl AdapterError {
    /// An error of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.class
    }
}
