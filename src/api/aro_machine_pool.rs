//! `AROMachinePool`: a node pool of an ARO HCP cluster.
//!
//! Shape: facts/aro-controllers.md §1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aro_cluster::AROClusterInitialization;
use super::resource_status::{LongRunningOperation, ResourceStatus};
use super::structural::{Properties, any_objects, conditions};

/// A node pool of an ARO HCP cluster.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "AROMachinePool",
    plural = "aromachinepools",
    namespaced,
    status = "AROMachinePoolStatus",
    shortname = "aromp",
    category = "cluster-api",
    label("cluster.x-k8s.io/provider", "infrastructure-azure"),
    label("cluster.x-k8s.io/v1beta2", "v1beta2"),
    derive = "Default",
    derive = "PartialEq",
    doc = "A node pool of an ARO HCP cluster.",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.ready", "description": "Whether the node pool has joined the cluster"}"#,
    printcolumn = r#"{"name": "Provisioned", "type": "boolean", "jsonPath": ".status.initialization.provisioned", "description": "Whether it has ever been ready"}"#,
    printcolumn = r#"{"name": "Replicas", "type": "integer", "jsonPath": ".status.replicas", "description": "The number of nodes"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AROMachinePoolSpec {
    /// The Azure resource, as a kind of Azure Service Operator: one node pool.
    #[schemars(schema_with = "any_objects")]
    pub resources: Vec<Properties>,
    /// Provider IDs of the nodes, set by a controller.
    #[serde(
        default,
        rename = "providerIDList",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub provider_id_list: Vec<String>,
}

/// The observed state of an AROMachinePool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["ready"]))]
#[serde(rename_all = "camelCase")]
pub struct AROMachinePoolStatus {
    /// Whether the node pool has joined the cluster.
    #[serde(default)]
    pub ready: bool,
    /// The number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The initialization status that Cluster API waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<AROClusterInitialization>,
    /// The current conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// ARM ID of the node pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The provisioning state of the node pool in Azure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioning_state: Option<String>,
    /// OpenShift version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Versions that it can be upgraded to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub available_upgrades: Vec<String>,
    /// The embedded resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceStatus>,
    /// Why it can never become ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// Running Azure operations; unused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long_running_operation_states: Vec<LongRunningOperation>,
}
