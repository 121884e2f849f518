//! What can go wrong between an actor and the API server, and how long to leave it alone.
//!
//! In: errors of the Kubernetes client. Out: their class, and the pause before the next try.

use std::time::Duration;

/// A write that did not happen.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The API server refused it, or could not be asked.
    #[error(transparent)]
    Kubernetes(#[from] kube::Error),
    /// The answer could not be read.
    #[error("the answer is no object: {0}")]
    Answer(#[from] serde_json::Error),
}

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// It may well work soon.
    Transient,
    /// Somebody must grant a right.
    Denied,
    /// Somebody else was faster.
    Conflict,
    /// It will not work as it is.
    Invalid,
    /// The object is not there.
    Gone,
    /// We did something wrong.
    Bug,
}

impl Error {
    /// The class of the error.
    pub(super) fn class(&self) -> Class {
        match self {
            Self::Answer(_) => Class::Bug,
            Self::Kubernetes(kube::Error::Api(status)) => match status.code {
                401 | 403 => Class::Denied,
                404 | 410 => Class::Gone,
                409 => Class::Conflict,
                400 | 405 | 415 | 422 => Class::Invalid,
                _ => Class::Transient,
            },
            Self::Kubernetes(_) => Class::Transient,
        }
    }
}

impl Class {
    /// How long to wait before try number `failures + 1`: doubling from the first pause up to the
    /// longest of the class.
    pub(super) fn pause(self, failures: u32) -> Duration {
        let (first, longest) = match self {
            Self::Conflict => (1, 30),
            Self::Transient => (1, 60),
            Self::Gone => (2, 60),
            Self::Denied | Self::Invalid | Self::Bug => (30, 300),
        };
        let doubled = 1_u64 << failures.saturating_sub(1).min(16);
        Duration::from_secs((first * doubled).min(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_follows_the_code() {
        let of = |code| {
            let status = kube::core::Status {
                code,
                ..kube::core::Status::default()
            };
            Error::from(kube::Error::Api(status.boxed())).class()
        };
        let cases = [
            (403, Class::Denied),
            (404, Class::Gone),
            (409, Class::Conflict),
            (422, Class::Invalid),
            (429, Class::Transient),
            (503, Class::Transient),
        ];
        for (code, class) in cases {
            assert_eq!(of(code), class, "{code}");
        }
    }

    #[test]
    fn pauses_double_up_to_a_limit() {
        let pauses: Vec<u64> = [1, 2, 3, 40]
            .map(|n| Class::Transient.pause(n).as_secs())
            .to_vec();
        assert_eq!(pauses, [1, 2, 4, 60]);
        assert_eq!(Class::Invalid.pause(1), Duration::from_secs(30));
    }
}
