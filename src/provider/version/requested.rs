//! The version that a request asks for.
//!
//! In: the text of a request. Out: what it asks for, or why it is no version. It does not know which releases there are.

use semver::Version;
use thiserror::Error;

use super::matrix::Minor;

/// The longest text of a version, in characters.
const LONGEST: usize = 64;

/// The version in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Requested {
    /// The newest release of an OpenShift minor version.
    OpenShift(Minor),
    /// One OpenShift release.
    Exactly(Version),
    /// The newest release with a Kubernetes minor version.
    Kubernetes(Minor),
    /// A Kubernetes patch version, which no set tells.
    KubernetesPatch(Minor),
    /// A version of neither.
    Neither,
}

impl Requested {
    /// Reads the text of a request: a minor version, or a full one.
    pub(super) fn parse(text: &str) -> Result<Self, VersionError> {
        if text.chars().nth(LONGEST).is_some() {
            return Err(VersionError::TooLong);
        }
        if let Some(minor) = Minor::parse(text) {
            return Ok(match minor.major {
                1 => Self::Kubernetes(minor),
                4.. => Self::OpenShift(minor),
                _ => Self::Neither,
            });
        }
        let version = Version::parse(text).map_err(|_| VersionError::Malformed(text.to_owned()))?;
        Ok(match version.major {
            1 => Self::KubernetesPatch(Minor::of(&version)),
            4.. => Self::Exactly(version),
            _ => Self::Neither,
        })
    }
}

/// The reason why no release can be given for a request. Each is an unprocessable entity (422).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionError {
    /// The text is too long for a version.
    #[error(
        "version is longer than 64 characters; give a minor version such as 4.17 or 1.30, or an OpenShift version such as 4.17.3"
    )]
    TooLong,
    /// The text is not a version.
    #[error(
        "{0:?} is not a version; give a minor version such as 4.17 or 1.30, or an OpenShift version such as 4.17.3"
    )]
    Malformed(String),
    /// No OpenShift version contains it, or it is a version of neither.
    #[error("unsupported Kubernetes version: {requested}; {available}")]
    Unsupported {
        /// The version as requested.
        requested: String,
        /// The versions that there are.
        available: String,
    },
    /// It is a Kubernetes patch version.
    #[error(
        "unsupported Kubernetes version: {requested}; a ClusterImageSet does not tell the Kubernetes patch version: ask for {minor}, or for an OpenShift version; {available}"
    )]
    KubernetesPatch {
        /// The version as requested.
        requested: String,
        /// The minor version to ask for instead.
        minor: Minor,
        /// The versions that there are.
        available: String,
    },
    /// The hub has no such release.
    #[error("no ClusterImageSet found for version {requested}; {available}")]
    NotFound {
        /// The version as requested.
        requested: String,
        /// The versions that there are.
        available: String,
    },
}
