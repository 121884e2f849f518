//! How to react to an external error: the one question that every adapter's errors answer.

use serde::Serialize;

use super::words::message_line;

/// The class of an adapter's error. Retry, condition and wording are derived from it alone, so that the
/// same problem is handled the same way wherever it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum ErrorClass {
    /// It may be temporary: retry with back-off.
    Transient,
    /// Permission is missing and somebody must grant it: report it once, retry rarely.
    Denied,
    /// Something changed in the meantime: read again, then decide again.
    Conflict,
    /// The request cannot succeed: a setting or a file must change.
    Invalid,
    /// The target does not exist, or no longer exists.
    Gone,
    /// A bug in Capstan: report it, do not retry it in a tight loop.
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
    /// An error of this class. What others said in the message is kept to one line that can be shown anywhere.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        let message = message_line(&message.into());
        Self { class, message }
    }

    /// What to do about it.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_steers_no_terminal_whoever_wrote_it() {
        let error = AdapterError::new(ErrorClass::Denied, "a\n\u{1b}[2Jb\u{202e}".to_owned());
        assert_eq!(error.to_string(), "a [2Jb");
    }
}
