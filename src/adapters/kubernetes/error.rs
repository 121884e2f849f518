//! What can go wrong between us and a cluster.

use std::time::Duration;

use crate::model::{ErrorClass, ObjectId};
use crate::plan::{Foreign, NotOurs};

/// A request to the cluster that failed, in words for people.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server answered with a refusal.
    #[error("{object}: the API server refused it: {} ({}{})", .status.message, .status.reason, code(.status))]
    Refused {
        /// The object that was written.
        object: ObjectId,
        /// What the API server said.
        status: Box<kube::core::Status>,
    },
    /// The API server does not serve the kind.
    #[error(
        "{object}: the cluster does not serve {kind} of {api_version}; install its CustomResourceDefinition, or use a served version"
    )]
    NotServed {
        /// The object that was to be written.
        object: ObjectId,
        /// Its kind.
        kind: String,
        /// The group and version that were asked for.
        api_version: String,
    },
    /// The API server could not be reached or did not answer as one.
    #[error("{object}: the cluster cannot be reached: {source}")]
    Unreachable {
        /// The object the request was about.
        object: ObjectId,
        /// What the client said.
        source: Box<kube::Error>,
    },
    /// The API server did not answer in time.
    #[error("{object}: the cluster did not answer within {} s", .patience.as_secs())]
    Silent {
        /// The object the request was about.
        object: ObjectId,
        /// How long it was waited for.
        patience: Duration,
    },
    /// The object is there and not ours.
    #[error("{object}: {foreign}")]
    Foreign {
        /// The object that was to be written.
        object: ObjectId,
        /// Whose it is.
        foreign: Foreign,
    },
    /// The parent of the ApplySet is not ours.
    #[error("{0}")]
    Parent(NotOurs),
    /// The request could not be made of the object, or its making failed.
    #[error("{object}: no request can be made of it: {cause}")]
    Unsendable {
        /// The object that was to be written.
        object: ObjectId,
        /// Why.
        cause: String,
    },
}

/// The number of the answer, where the reason does not say it.
fn code(status: &kube::core::Status) -> String {
    match status.reason.as_str() {
        "" => status.code.to_string(),
        _ => String::new(),
    }
}

/// API servers answer 500 to an apply that does not fit the kind's schema (kubernetes issue 122480),
/// to one of an object that no longer fits, and to one of an object with managers of a version that
/// its definition no longer has.
fn is_schema_error(status: &kube::core::Status) -> bool {
    const OPENINGS: [&str; 3] = [
        "failed to create typed patch object",
        "failed to create typed live object",
        "request to convert CR to an invalid group/version",
    ];
    OPENINGS
        .iter()
        .any(|opening| status.message.starts_with(opening))
}

impl Error {
    /// The error of a request about `object`.
    pub(super) fn new(object: &ObjectId, error: kube::Error) -> Self {
        let object = object.clone();
        match error {
            kube::Error::Api(status) => Self::Refused { object, status },
            kube::Error::BuildRequest(cause) => Self::Unsendable {
                object,
                cause: cause.to_string(),
            },
            other => Self::Unreachable {
                object,
                source: Box::new(other),
            },
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } => ErrorClass::Transient,
            Self::NotServed { .. } => ErrorClass::Gone,
            Self::Foreign { .. } | Self::Parent(_) => ErrorClass::Denied,
            Self::Unsendable { .. } => ErrorClass::Bug,
            Self::Refused { status, .. } => match status.code {
                401 | 403 => ErrorClass::Denied,
                409 => ErrorClass::Conflict,
                404 | 410 => ErrorClass::Gone,
                500 if is_schema_error(status) => ErrorClass::Invalid,
                408 | 429 | 500..=599 => ErrorClass::Transient,
                _ => ErrorClass::Invalid,
            },
        }
    }

    /// How long the API server asked us to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { status, .. } => {
                let seconds = status.details.as_ref()?.retry_after_seconds;
                (seconds > 0).then(|| Duration::from_secs(seconds.into()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn refused(code: u16, reason: &str, message: &str) -> Error {
        let object = ObjectId::new("", "ConfigMap", "a", "b");
        let status = Status::failure(message, reason).with_code(code);
        Error::new(&object, kube::Error::Api(status.boxed()))
    }

    #[test]
    fn the_class_follows_the_answer() {
        let schema = "failed to create typed patch object (a/b; v1, Kind=X): .spec.y: field not declared in schema";
        let version = "request to convert CR to an invalid group/version: g.dev/v1alpha1";
        let cases = [
            (403, "", ErrorClass::Denied),
            (404, "", ErrorClass::Gone),
            (409, "", ErrorClass::Conflict),
            (422, "", ErrorClass::Invalid),
            (429, "", ErrorClass::Transient),
            (500, "etcdserver: leader changed", ErrorClass::Transient),
            (500, schema, ErrorClass::Invalid),
            (500, version, ErrorClass::Invalid),
            (503, "", ErrorClass::Transient),
        ];
        for (code, message, class) in cases {
            assert_eq!(
                refused(code, "", message).class(),
                class,
                "{code} {message}"
            );
        }
    }

    #[test]
    fn a_refusal_without_a_reason_shows_its_number() {
        let said = |reason| refused(500, reason, "no").to_string();
        assert_eq!(
            said(""),
            "ConfigMap/a/b: the API server refused it: no (500)"
        );
        assert_eq!(
            said("Boom"),
            "ConfigMap/a/b: the API server refused it: no (Boom)"
        );
    }
}
