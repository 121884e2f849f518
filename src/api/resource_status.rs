//! What the status of a carrier says of the resources it carries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the carrying object's status says of one embedded resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceStatus {
    /// Which resource.
    pub resource: StatusResource,
    /// Whether its condition `Ready` holds for its newest generation.
    pub ready: bool,
}

/// Names an embedded resource in a status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct StatusResource {
    /// API group.
    pub group: String,
    /// Version without the group.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

/// An Azure operation under way. Part of the shape; nothing writes it.
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
    /// Where to ask for its progress, encoded.
    pub data: String,
}
