//! The status that a parent resource reports for its embedded resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of one embedded resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceStatus {
    /// The resource.
    pub resource: StatusResource,
    /// Whether its condition `Ready` is true for its newest generation.
    pub ready: bool,
    /// Why it is not ready, or what its Azure resource differs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Identifies an embedded resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusResource {
    /// API group.
    pub group: String,
    /// Version without the group.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// API version with the group, as its manifest names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Namespace; that of the object which embeds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A running Azure operation. Nothing writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LongRunningOperation {
    /// Kind of operation.
    #[serde(rename = "type")]
    pub kind: String,
    /// The Azure service.
    pub service_name: String,
    /// The Azure resource.
    pub name: String,
    /// Its resource group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_group: Option<String>,
    /// Encoded URL to poll for its progress.
    pub data: String,
}
