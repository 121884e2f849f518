//! `Fleet`: one source synced to one management cluster (DESIGN §12). A file in the daemon's
//! configuration or a custom resource; the type is the same.

mod settings;
mod source;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use settings::{
    Admission, Apply, Checks, Cluster, Controllers, DeletionGuard, FailurePolicy, FirstApply, Mode,
    Provider, PullRequests, Rules, SecretName, Serve, ServiceProvider, Tenant,
};
pub use source::{Directory, Git, GitReference, Source, Verify, VerifyMode};

/// What a fleet is synced from, to and how.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "Fleet",
    plural = "fleets",
    namespaced,
    status = "FleetStatus",
    category = "capstan",
    derive = "PartialEq",
    doc = "One source of cluster definitions, synced to one management cluster.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether the newest revision is applied and ready"
    ),
    printcolumn(
        name = "Revision",
        type_ = "string",
        json_path = ".status.lastAppliedRevision",
        description = "The last revision that was applied"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since it was made"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct FleetSpec {
    /// Where the definitions come from.
    pub source: Source,
    /// Where they are applied.
    #[serde(default)]
    pub cluster: Cluster,
    /// How commits are told.
    #[serde(default)]
    pub checks: Checks,
    /// How changes are made.
    #[serde(default)]
    pub apply: Apply,
    /// Who may use what; empty means that everybody may use everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenancy: Vec<Tenant>,
    /// Which controllers run.
    #[serde(default)]
    pub controllers: Controllers,
    /// What the rules take into account.
    #[serde(default)]
    pub rules: Rules,
    /// What is served over HTTP.
    #[serde(default)]
    pub serve: Serve,
}

/// What the daemon says of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetStatus {
    /// The generation of the spec that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The last revision that was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,
    /// The last revision all of whose objects became ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ready_revision: Option<String>,
    /// What is so and what is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
