//! The Kubernetes minor version that an OpenShift minor version contains.
//!
//! In: an OpenShift minor version. Out: a Kubernetes minor version, if one is known. It does not know what the hub offers.

use std::collections::BTreeMap;
use std::fmt;

use semver::Version;
use thiserror::Error;

/// The largest matrix that is read, in bytes.
const LARGEST_TEXT: usize = 64 << 10;
/// The most entries of a matrix.
const MOST_ENTRIES: usize = 1000;
/// The major version of OpenShift whose minor versions follow those of Kubernetes.
const FOLLOWING: u64 = 4;
/// The first minor version of it that does: OpenShift 4.3 contains Kubernetes 1.16.
const FIRST_FOLLOWING: u64 = 3;
/// OpenShift 4.x contains Kubernetes 1.(x + 13).
const AHEAD: u64 = 13;

/// The first two numbers of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minor {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
}

impl Minor {
    /// Returns the minor version that `version` belongs to.
    #[must_use]
    pub const fn of(version: &Version) -> Self {
        Self {
            major: version.major,
            minor: version.minor,
        }
    }

    /// Reads a text such as `4.17`: two decimal numbers without signs and leading zeros.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self {
            major: number(major)?,
            minor: number(minor)?,
        })
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

fn number(text: &str) -> Option<u64> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = text.len() > 1 && text.starts_with('0');
    if !is_decimal || has_leading_zero {
        return None;
    }
    text.parse().ok()
}

/// The Kubernetes minor versions of OpenShift minor versions.
///
/// By default OpenShift 4.x contains Kubernetes 1.(x + 13), which holds from 4.3 on: 4.14 contains 1.27, and 4.20 contains
/// 1.33. A matrix with entries is complete: an OpenShift version that it does not list has no Kubernetes version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    listed: Option<BTreeMap<Minor, Minor>>,
}

impl Matrix {
    /// Takes a matrix that replaces the default, from OpenShift to Kubernetes minor versions: `4.17` to `1.30`. It may have
    /// 1,000 entries.
    ///
    /// # Errors
    ///
    /// Returns the first entry that is not a pair of minor versions, or refuses a matrix that is empty or too large.
    pub fn new<'a>(
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, MatrixError> {
        let entries = entries.into_iter().take(MOST_ENTRIES + 1);
        let listed: BTreeMap<_, _> = entries
            .map(|(openshift, kubernetes)| entry(openshift, kubernetes))
            .collect::<Result<_, _>>()?;
        match listed.len() {
            0 => Err(MatrixError::Empty),
            1..=MOST_ENTRIES => Ok(Self {
                listed: Some(listed),
            }),
            _ => Err(MatrixError::TooLarge),
        }
    }

    /// Reads a matrix that replaces the default from a JSON object: `{"4.17": "1.30"}`.
    ///
    /// # Errors
    ///
    /// Returns why the text is not such an object; see [`Matrix::new`].
    pub fn parse(text: &str) -> Result<Self, MatrixError> {
        if text.len() > LARGEST_TEXT {
            return Err(MatrixError::TooLarge);
        }
        let entries: BTreeMap<String, String> = serde_json::from_str(text)?;
        let entries = entries.iter();
        Self::new(entries.map(|(openshift, kubernetes)| (openshift.as_str(), kubernetes.as_str())))
    }

    /// Returns the Kubernetes minor version that an OpenShift minor version contains.
    #[must_use]
    pub fn kubernetes(&self, openshift: Minor) -> Option<Minor> {
        if let Some(listed) = &self.listed {
            return listed.get(&openshift).copied();
        }
        let is_following = openshift.major == FOLLOWING && openshift.minor >= FIRST_FOLLOWING;
        let minor = openshift.minor.checked_add(AHEAD)?;
        is_following.then_some(Minor { major: 1, minor })
    }

    /// Returns true if some OpenShift version contains this Kubernetes minor version.
    pub(super) fn contains(&self, kubernetes: Minor) -> bool {
        match &self.listed {
            Some(listed) => listed.values().any(|minor| *minor == kubernetes),
            None => kubernetes.major == 1 && kubernetes.minor >= FIRST_FOLLOWING + AHEAD,
        }
    }
}

fn entry(openshift: &str, kubernetes: &str) -> Result<(Minor, Minor), MatrixError> {
    let is_openshift = |minor: &Minor| minor.major >= FOLLOWING;
    let from = Minor::parse(openshift).filter(is_openshift);
    let to = Minor::parse(kubernetes).filter(|minor| minor.major == 1);
    let pair = from.zip(to);
    pair.ok_or_else(|| MatrixError::Entry {
        openshift: openshift.chars().take(16).collect(),
        kubernetes: kubernetes.chars().take(16).collect(),
    })
}

/// The reason why a matrix is not usable.
#[derive(Debug, Error)]
pub enum MatrixError {
    /// It has too many entries, or its text is too long.
    #[error("the version matrix is too large: it may have 1,000 entries and 64 KiB")]
    TooLarge,
    /// It has no entry.
    #[error(
        "the version matrix is empty: list OpenShift with Kubernetes minor versions, or leave it out"
    )]
    Empty,
    /// It is not a JSON object of texts.
    #[error(
        "the version matrix is not a JSON object such as {{\"4.17\": \"1.30\"}}: {0}; correct it, or leave it out"
    )]
    NotAnObject(#[from] serde_json::Error),
    /// An entry is not a pair of minor versions.
    #[error(
        "the version matrix maps {openshift:?} to {kubernetes:?}; an entry maps an OpenShift minor version such as \"4.17\" to a Kubernetes minor version such as \"1.30\""
    )]
    Entry {
        /// The left side, cut.
        openshift: String,
        /// The right side, cut.
        kubernetes: String,
    },
}
