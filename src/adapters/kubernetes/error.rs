//! Errors of requests to a cluster.

use std::time::Duration;

use kube::core::request;

use super::refusal::Refusal;
use crate::api::suppliers;
use crate::apply::{Failure, FailureCause, Foreign, NotOurs};
use crate::model::words::said;
use crate::model::{ErrorClass, ObjectId};
use crate::plan::Withheld;

/// A request to the cluster that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused the request.
    #[error("{object}: {}", Refusal::of(.status))]
    Refused {
        /// The object of the request.
        object: ObjectId,
        /// The API server's answer.
        status: Box<kube::core::Status>,
    },
    /// The API server does not serve the kind at this version.
    #[error("{object}: {}", not_served(.object, .version, .served))]
    NotServed {
        /// The object of the request.
        object: ObjectId,
        /// The requested version.
        version: String,
        /// The versions that are served.
        served: Vec<String>,
    },
    /// The API server could not be reached, or did not answer like one.
    #[error("{object}: {}", unreachable(.source))]
    Unreachable {
        /// The object of the request.
        object: ObjectId,
        /// The client's error.
        source: Box<kube::Error>,
    },
    /// The API server did not answer in time.
    #[error("{object}: the cluster did not answer within {} s", .patience.as_secs())]
    Silent {
        /// The object of the request.
        object: ObjectId,
        /// How long Capstan waited.
        patience: Duration,
    },
    /// The object exists and does not belong to the fleet.
    #[error("{object}: {foreign}")]
    Foreign {
        /// The object of the request.
        object: ObjectId,
        /// Who it belongs to.
        foreign: Foreign,
    },
    /// Capstan does not send the change.
    #[error("{object}: {withheld}")]
    Withheld {
        /// The object of the request.
        object: ObjectId,
        /// Why.
        withheld: Withheld,
    },
    /// The parent of the ApplySet does not belong to the fleet.
    #[error("{0}")]
    Parent(NotOurs),
    /// No object can have the name or be in the namespace.
    #[error("{object}: a name with these characters cannot be part of an address: correct it")]
    Misnamed {
        /// The object of the request.
        object: ObjectId,
    },
    /// The request could not be built, or failed inside Capstan.
    #[error("{object}: cannot build the request: {cause}")]
    Unsendable {
        /// The object of the request.
        object: ObjectId,
        /// Why.
        cause: String,
    },
}

/// A cluster that was reached and did not answer.
#[derive(Debug, thiserror::Error)]
#[error("the cluster did not answer within {} s", .0.as_secs())]
pub(super) struct NoAnswer(pub(super) Duration);

/// Which versions are served instead, or who supplies the kind.
fn not_served(object: &ObjectId, version: &str, served: &[String]) -> String {
    let ObjectId { group, kind, .. } = object;
    let api_version = |version: &str| match group.as_str() {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    let missing = format!(
        "the cluster does not serve {kind} of {}",
        api_version(version)
    );
    match served {
        [] => format!(
            "{missing} or any other version of it: {}. The object is applied once the kind is served",
            suppliers::help(group, kind)
        ),
        served => {
            let served: Vec<String> = served.iter().map(|one| api_version(one)).collect();
            format!(
                "{missing}, only {}: use a served version as its apiVersion, or install this version. The object is applied once the version is served",
                served.join(", ")
            )
        }
    }
}

/// What a failed request means, independent of its object, and how to react.
#[must_use]
pub fn classify(error: &kube::Error) -> (ErrorClass, String) {
    match error {
        kube::Error::Api(status) => {
            let refusal = Refusal::of(status);
            (refusal.class(), refusal.to_string())
        }
        other => (ErrorClass::Transient, unreachable(other)),
    }
}

/// The innermost error: the layers above it only repeat that a request failed.
fn unreachable(error: &kube::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if cause.is::<NoAnswer>() {
        return cause.to_string();
    }
    format!(
        "cannot reach the cluster: {}. Check that it is running, and that the address in the kubeconfig is correct",
        said(&cause.to_string())
    )
}

impl Error {
    /// The error of a request about `object`.
    pub(super) fn new(object: &ObjectId, error: kube::Error) -> Self {
        let object = object.clone();
        match error {
            kube::Error::Api(status) => Self::Refused { object, status },
            kube::Error::BuildRequest(request::Error::Validation(_)) => Self::Misnamed { object },
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

    /// The object of the request; `None` if it was about the parent.
    const fn object(&self) -> Option<&ObjectId> {
        match self {
            Self::Refused { object, .. }
            | Self::NotServed { object, .. }
            | Self::Unreachable { object, .. }
            | Self::Silent { object, .. }
            | Self::Foreign { object, .. }
            | Self::Withheld { object, .. }
            | Self::Misnamed { object }
            | Self::Unsendable { object, .. } => Some(object),
            Self::Parent(_) => None,
        }
    }

    /// The same for the engine.
    pub(super) fn failure(&self) -> Failure {
        let object = self.object().cloned();
        let words = self.to_string();
        let prefix = object.as_ref().map(|object| format!("{object}: "));
        let message = prefix.and_then(|prefix| words.strip_prefix(&prefix).map(str::to_owned));
        Failure {
            class: self.class(),
            retry_after: self.retry_after(),
            cause: match self {
                Self::NotServed { .. } => FailureCause::NotServed,
                Self::Refused { status, .. } if Refusal::of(status).is_about_rights() => {
                    FailureCause::NoRights
                }
                error if error.is_held() => FailureCause::Held,
                _ => FailureCause::Other,
            },
            object,
            message: message.unwrap_or(words),
        }
    }

    /// Whether nothing of the object's kind can be seen now, and other kinds can.
    pub(super) fn is_about_kind(&self) -> bool {
        match self {
            Self::Refused { status, .. } => Refusal::of(status).is_about_kind(),
            Self::Silent { .. } => true,
            _ => false,
        }
    }

    /// Whether no answer came: maybe none about other kinds comes, either.
    pub(super) const fn is_silence(&self) -> bool {
        matches!(self, Self::Silent { .. })
    }

    /// How to react.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } => ErrorClass::Transient,
            Self::NotServed { .. }
            | Self::Withheld {
                withheld: Withheld::NoIdentity(_),
                ..
            } => ErrorClass::Gone,
            Self::Foreign { .. } | Self::Withheld { .. } | Self::Parent(_) => ErrorClass::Denied,
            Self::Misnamed { .. } => ErrorClass::Invalid,
            Self::Unsendable { .. } => ErrorClass::Bug,
            Self::Refused { status, .. } => Refusal::of(status).class(),
        }
    }

    /// Whether the only problem is that no commit asked for the change: the object stays as it was applied.
    const fn is_held(&self) -> bool {
        matches!(
            self,
            Self::Withheld {
                withheld: Withheld::Rolls(_),
                ..
            }
        )
    }

    /// How long the API server asked Capstan to wait.
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
    use super::*;

    fn not_served(group: &str, version: &str, served: &[&str]) -> String {
        let error = Error::NotServed {
            object: ObjectId::new(group, "Vault", "ns", "v"),
            version: version.to_owned(),
            served: served.iter().map(|one| (*one).to_owned()).collect(),
        };
        error.to_string()
    }

    #[test]
    fn a_kind_that_is_not_served_is_reported_with_what_is_served() {
        let message = not_served("keyvault.azure.com", "v1", &["v2", "v3"]);
        assert!(
            message.starts_with("Vault/ns/v: the cluster does not serve Vault of keyvault.azure.com/v1, only keyvault.azure.com/v2, keyvault.azure.com/v3: "),
            "{message}"
        );
        let message = not_served("keyvault.azure.com", "v1", &[]);
        assert!(message.contains("Azure Service Operator"), "{message}");
        let message = not_served("", "v2", &["v1"]);
        assert!(
            message.contains("does not serve Vault of v2, only v1: "),
            "{message}"
        );
    }

    #[test]
    fn an_error_without_an_object_has_a_class_and_a_message() {
        let status = kube::core::Status::failure("no", "Boom").with_code(500);
        let (class, message) = classify(&kube::Error::Api(status.boxed()));
        assert_eq!(class, ErrorClass::Transient);
        assert_eq!(message, "the API server refused it: no (Boom)");
    }
}
