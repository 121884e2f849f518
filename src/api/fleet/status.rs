//! The status of a Fleet: what the daemon that follows it reports.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The observed state of a fleet. Revisions are commits: a new commit does not raise the generation of the object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetStatus {
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The newest revision that was looked at. The conditions are about this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted_revision: Option<String>,
    /// The last revision that was applied, with its removals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_revision: Option<String>,
    /// The last revision of which all objects became ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_revision: Option<String>,
    /// The newest revision, if it is refused because of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_revision: Option<String>,
    /// RFC 3339 time of suspension; absent if the fleet is not suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_since: Option<String>,
    /// The way in which it is suspended: a field, a command, or the text of the annotation capstan.dev/suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_by: Option<String>,
    /// The last value of the annotation capstan.dev/sync-requested that the daemon acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_sync_at: Option<String>,
    /// The objects of the revision, with the resources that they carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<FleetObjects>,
    /// The kinds and names that the revision waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// The results of the last revisions, the newest first; at most 5.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<FleetResult>,
    /// The current conditions: Ready, SourceReady and Applied; Reconciling while a revision is on its way; Stalled if a
    /// person must act.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Counts of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetObjects {
    /// All of them.
    pub total: i64,
    /// Those that are ready.
    pub ready: i64,
    /// Those that failed.
    pub failed: i64,
}

/// The result of a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetResult {
    /// The revision.
    pub revision: String,
    /// The reason of the condition Ready when it was decided, such as Succeeded or Refused.
    pub reason: String,
    /// RFC 3339 time when it was decided.
    pub time: String,
}
