//! Why nothing is known about a cluster, in messages for people.

use std::time::Duration;

use super::read::Failure;

/// A survey without a result.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// No API server answered, or something else did.
    #[error(
        "the cluster does not answer: {0}. Check that it is running and that the credentials are valid"
    )]
    Unreachable(String),
    /// No answer came in time.
    #[error("the cluster did not answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// The credentials are not valid.
    #[error("the cluster does not accept these credentials: {0}. Check whether they have expired")]
    Unauthorized(String),
    /// A permission is missing without which nothing can be reported.
    #[error(
        "no permission to {0} {1} in namespace {2}, where fleets are expected (set CAPSTAN_NAMESPACE to use another one)"
    )]
    Denied(&'static str, String, String),
    /// The API server refuses for another reason.
    #[error("the cluster refused a read request: {0}")]
    Refused(String),
    /// It does not list its kinds.
    #[error("cannot list the kinds that the cluster serves: {0}")]
    Discovery(Box<super::super::Error>),
    /// There is no fleet of this name.
    #[error("there is no fleet `{wanted}` in this cluster; {}{}", names(.known), suffix(.notes))]
    NoSuchFleet {
        /// The requested name.
        wanted: String,
        /// The existing fleets.
        known: Vec<String>,
        /// Notes on the search.
        notes: Vec<String>,
    },
    /// There is no fleet.
    #[error("there is no fleet in this cluster: it has no ConfigMap capstan-<fleet> with the label applyset.kubernetes.io/id{}", suffix(.0))]
    NoFleet(Vec<String>),
}

impl SurveyError {
    pub(super) fn new(failure: Failure) -> Self {
        Self::of(failure, "read", "this", "")
    }

    /// A failure of `verb` on `resource` in `namespace`.
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

/// The innermost error: the layers above it only repeat that a request failed.
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
        [] => "it has no fleets".to_owned(),
        fleets => format!("it has {}", fleets.join(", ")),
    }
}

fn suffix(notes: &[String]) -> String {
    notes.iter().map(|note| format!(" ({note})")).collect()
}
