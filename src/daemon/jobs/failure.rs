//! Why a job did not come to its end.

use std::any::Any;

use serde::{Deserialize, Serialize};
use tokio::task::JoinError;

use crate::adapters::git::Error;
use crate::follow::{Candidate, PlanResult, Unreadable};
use crate::model::{AdapterError, ErrorClass};
use crate::reporting::report::Fault;

/// A job that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(in crate::daemon) enum Failure {
    #[error(transparent)]
    Git(#[from] Error),
    #[error("{}", .0.message)]
    Fork(Unread),
    #[error("a bug in capstan: {0}; please report it")]
    Panic(String),
}

/// Why the head of a fork could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::daemon) struct Unread {
    /// A bug of Capstan, and not the commit or the machine.
    pub(in crate::daemon) is_bug: bool,
    /// Whether the commit itself is at fault.
    pub(in crate::daemon) is_of_the_commit: bool,
    pub(in crate::daemon) message: String,
}

impl Unread {
    /// A process without a proper answer.
    pub(in crate::daemon) fn failed(message: String) -> Self {
        Self {
            is_bug: false,
            is_of_the_commit: false,
            message,
        }
    }

    pub(in crate::daemon) fn class(&self) -> ErrorClass {
        match (self.is_bug, self.is_of_the_commit) {
            (true, _) => ErrorClass::Bug,
            (false, true) => ErrorClass::Invalid,
            (false, false) => ErrorClass::Transient,
        }
    }
}

impl Failure {
    /// What `catch_unwind` caught.
    pub(in crate::daemon) fn caught(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Self::Panic(text.unwrap_or("it panicked").to_owned())
    }

    /// What a task ended in that did not come to its end.
    pub(in crate::daemon) fn ended(error: JoinError) -> Self {
        match error.try_into_panic() {
            Ok(panic) => Self::caught(&*panic),
            Err(error) => Self::Panic(error.to_string()),
        }
    }

    pub(in crate::daemon) fn class(&self) -> ErrorClass {
        match self {
            Self::Git(error) => error.class(),
            Self::Fork(unread) => unread.class(),
            Self::Panic(_) => ErrorClass::Bug,
        }
    }

    /// The same for a check.
    pub(in crate::daemon) fn fault(&self) -> Fault {
        Fault {
            summary: self.summary(),
            message: self.to_string(),
            is_of_the_commit: self.is_of_the_commit(),
        }
    }

    /// Whether the commit itself is at fault.
    pub(in crate::daemon) fn is_of_the_commit(&self) -> bool {
        match self {
            Self::Git(error) => {
                matches!(error, Error::NoSuchPath { .. } | Error::Unverified { .. })
            }
            Self::Fork(unread) => unread.is_of_the_commit,
            Self::Panic(_) => false,
        }
    }

    /// What could not be done with a revision, in a few words.
    pub(in crate::daemon) fn summary(&self) -> &'static str {
        match self {
            Self::Git(Error::Unverified { .. }) => "its signature is not accepted",
            Self::Git(_) | Self::Fork(_) | Self::Panic(_) => "the revision cannot be read",
        }
    }
}

impl From<Failure> for Unreadable {
    fn from(failure: Failure) -> Self {
        Self {
            fault: failure.fault(),
            class: failure.class(),
        }
    }
}

impl From<Failure> for AdapterError {
    fn from(failure: Failure) -> Self {
        Self::new(failure.class(), failure.to_string())
    }
}

/// A candidate of `fleet` that could not be planned.
pub(in crate::daemon) fn unplanned(
    fleet: &str,
    candidate: Candidate,
    failure: &Failure,
) -> PlanResult {
    let is_passing = failure.class() == ErrorClass::Transient;
    PlanResult::failed(fleet, candidate, &failure.fault(), is_passing)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_panic_is_told_as_a_bug_with_its_words() {
        let caught = |work: fn()| {
            let panic = catch_unwind(work).expect_err("it panics");
            Failure::caught(&*panic)
        };
        for (failure, words) in [
            (caught(|| panic!("plain")), "plain"),
            (caught(|| panic!("{} bottles", 9)), "9 bottles"),
            (caught(|| std::panic::panic_any(1)), "it panicked"),
        ] {
            let expected = format!("a bug in capstan: {words}; please report it");
            assert_eq!(failure.to_string(), expected);
            assert_eq!(failure.class(), ErrorClass::Bug);
            assert!(!failure.is_of_the_commit());
        }
    }
}
