//! What can go wrong between us and a cluster.

use crate::model::{ErrorClass, ObjectId};

/// A request to the cluster that failed, in words for people.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server answered with a refusal.
    #[error("{object}: the API server refused it: {} ({})", .status.message, .status.reason)]
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
}

impl Error {
    /// The error of a request about `object`.
    pub(super) fn new(object: &ObjectId, error: kube::Error) -> Self {
        let object = object.clone();
        match error {
            kube::Error::Api(status) => Self::Refused { object, status },
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
            Self::Unreachable { .. } => ErrorClass::Transient,
            Self::NotServed { .. } => ErrorClass::Invalid,
            Self::Refused { status, .. } => match status.code {
                401 | 403 => ErrorClass::Denied,
                409 => ErrorClass::Conflict,
                404 | 410 => ErrorClass::Gone,
                408 | 429 | 500..=599 => ErrorClass::Transient,
                _ => ErrorClass::Invalid,
            },
        }
    }
}
