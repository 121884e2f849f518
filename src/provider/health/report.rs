//! The body of an answer about health.
//!
//! In: a version, an age and reasons. Out: JSON. It does not know what was checked.

use std::time::Duration;

use serde::Serialize;

/// The type of the resource.
const TYPE: &str = "acm-cluster-service-provider.dcm.io/health";
/// The path of the resource.
const PATH: &str = "health";

/// The health of this provider. It is always answered with 200.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HealthReport {
    /// The type of the resource.
    #[serde(rename = "type")]
    pub resource_type: &'static str,
    /// The health in a word.
    pub status: HealthState,
    /// The path of the resource.
    pub path: &'static str,
    /// The version of Capstan.
    pub version: String,
    /// The time since the start, in whole seconds.
    pub uptime: u64,
    /// The reasons, for people; empty, and left out, if the provider is healthy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// The health in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthState {
    /// Clusters can be made.
    Healthy,
    /// Some clusters cannot be made, or nobody knows.
    Unhealthy,
}

impl HealthReport {
    pub(super) fn new(version: &str, uptime: Duration, reasons: Vec<String>) -> Self {
        let status = if reasons.is_empty() {
            HealthState::Healthy
        } else {
            HealthState::Unhealthy
        };
        Self {
            resource_type: TYPE,
            status,
            path: PATH,
            version: version.to_owned(),
            uptime: uptime.as_secs(),
            reasons,
        }
    }
}
