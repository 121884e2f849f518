//! Why nothing can be told of a cluster, in words for people.

use std::time::Duration;

use super::read::Failure;

/// A survey that brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// No API server answered, or not as one.
    #[error("the cluster does not answer: {0}; is it up, and are the credentials valid?")]
    Unreachable(String),
    /// No answer came in time.
    #[error("the cluster did not answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// The API server does not know who asks.
    #[error("the cluster does not take these credentials: {0}; have they expired?")]
    Unauthorized(String),
    /// The API server refuses what nothing can be told without.
    #[error(
        "no permission to {0} {1} in namespace {2}, where fleets are kept (CAPSTAN_NAMESPACE names another)"
    )]
    Denied(&'static str, String, String),
    /// The API server refuses for another reason.
    #[error("the cluster refused to be read: {0}")]
    Refused(String),
    /// It does not tell its kinds.
    #[error("the cluster does not tell which kinds it serves: {0}")]
    Discovery(Box<super::super::Error>),
    /// There is no fleet of this name.
    #[error("there is no fleet `{wanted}` in this cluster; {}{}", names(.known), said(.notes))]
    NoSuchFleet {
        /// What was asked for.
        wanted: String,
        /// Those there are.
        known: Vec<String>,
        /// What must be said of the search.
        notes: Vec<String>,
    },
    /// There is no fleet.
    #[error("there is no fleet in this cluster: it has no ConfigMap capstan-<fleet> with the label applyset.kubernetes.io/id{}", said(.0))]
    NoFleet(Vec<String>),
}

impl SurveyError {
    pub(super) fn new(failure: Failure) -> Self {
        Self::of(failure, "read", "this", "")
    }

    /// A failure to do `verb` to `resource` in `namespace`.
    pub(super) fn of(
        failure: Failure,
        verb: &'static str,
        resource: &str,
        namespace: &str,
    ) -> Self {
        let error = match failure {
            Failure::Silent(patience) => return Self::Silent(patience),
            Failure::Client(error) => error,
        };
        match *error {
            kube::Error::Api(status) => match status.code {
                401 => Self::Unauthorized(status.message),
                403 if !namespace.is_empty() => {
                    Self::Denied(verb, resource.to_owned(), namespace.to_owned())
                }
                _ => Self::Refused(status.message),
            },
            error => Self::Unreachable(root(&error)),
        }
    }
}

/// What lies beneath: the layers above it only repeat that a request failed.
fn root(error: &kube::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

pub(super) fn is_denied(failure: &Failure) -> bool {
    match failure {
        Failure::Client(error) => {
            matches!(&**error, kube::Error::Api(status) if status.code == 403)
        }
        Failure::Silent(_) => false,
    }
}

fn names(fleets: &[String]) -> String {
    match fleets {
        [] => "it has none".to_owned(),
        fleets => format!("it has {}", fleets.join(", ")),
    }
}

fn said(notes: &[String]) -> String {
    notes.iter().map(|note| format!(" ({note})")).collect()
}
