//! The checks of the hub, and how they end.
//!
//! In: an outcome. Out: a sentence for people, without the words of errors. It does not know which checks are needed.

use crate::provider::capabilities::{HubKind, Platform};

/// A check of the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// The API of the hub answers.
    Api,
    /// HostedClusters can be listed.
    HostedClusters,
    /// The HyperShift operator is available.
    Operator,
    /// Objects of the kind that the platform needs can be listed.
    Platform(Platform),
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// The hub does not have what was looked for: the kind is not served, or the operator is not installed.
    Missing,
    /// The hub answered with an error, or not at all.
    Failed,
    /// There was no answer in time.
    TimedOut,
}

impl Outcome {
    /// Returns why the provider is not healthy, if it is not.
    pub(super) fn failure(self, check: Check) -> Option<String> {
        let subject = match check {
            Check::Api => "the API of the hub".to_owned(),
            Check::HostedClusters => HubKind::HostedCluster.to_string(),
            Check::Operator => "the HyperShift operator".to_owned(),
            Check::Platform(platform) => {
                format!("{} of platform {platform}", platform.kind())
            }
        };
        let verdict = match self {
            Self::Passed => return None,
            Self::Missing => "is missing on the hub",
            Self::Failed => "is not available",
            Self::TimedOut => "was not checked in time",
        };
        Some(format!("{subject} {verdict}"))
    }
}
