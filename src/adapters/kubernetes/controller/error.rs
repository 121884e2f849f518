//! What can go wrong between an actor and the API server, and how long to leave it alone.
//!
//! In: errors of the Kubernetes client. Out: their class, and the pause before the next try.

use std::time::Duration;

use crate::model::ErrorClass;

/// A write that did not happen.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The API server refused it, or could not be asked.
    #[error(transparent)]
    Kubernetes(#[from] kube::Error),
    /// The answer could not be read.
    #[error("the answer is no object: {0}")]
    Answer(#[from] serde_json::Error),
}

impl Error {
    /// The class of the error.
    pub(super) fn class(&self) -> ErrorClass {
        match self {
            Self::Answer(_) => ErrorClass::Bug,
            Self::Kubernetes(kube::Error::Api(status)) => match status.code {
                401 | 403 => ErrorClass::Denied,
                404 | 410 => ErrorClass::Gone,
                409 => ErrorClass::Conflict,
                400 | 405 | 415 | 422 => ErrorClass::Invalid,
                _ => ErrorClass::Transient,
            },
            Self::Kubernetes(_) => ErrorClass::Transient,
        }
    }
}

/// How long to wait before try number `failures + 1`: doubling from the first pause up to the longest of
/// the class.
pub(super) fn pause(class: ErrorClass, failures: u32) -> Duration {
    let (first, longest) = match class {
        ErrorClass::Conflict => (1, 30),
        ErrorClass::Transient => (1, 60),
        ErrorClass::Gone => (2, 60),
        ErrorClass::Denied | ErrorClass::Invalid | ErrorClass::Bug => (30, 300),
    };
    let doubled = 1_u64 << failures.saturating_sub(1).min(16);
    Duration::from_secs((first * doubled).min(longest))
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
            (403, ErrorClass::Denied),
            (404, ErrorClass::Gone),
            (409, ErrorClass::Conflict),
            (422, ErrorClass::Invalid),
            (429, ErrorClass::Transient),
            (503, ErrorClass::Transient),
        ];
        for (code, class) in cases {
            assert_eq!(of(code), class, "{code}");
        }
    }

    #[test]
    fn pauses_double_up_to_a_limit() {
        let pauses: Vec<u64> = [1, 2, 3, 40]
            .map(|n| pause(ErrorClass::Transient, n).as_secs())
            .to_vec();
        assert_eq!(pauses, [1, 2, 4, 60]);
        assert_eq!(pause(ErrorClass::Invalid, 1), Duration::from_secs(30));
    }
}
