//! `AROControlPlane`: the ARO HCP cluster itself, with its external authentication.
//!
//! Shape: facts/aro-controllers.md §1.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kinds::{CONTROL_PLANE, INFRASTRUCTURE};
use super::resource_status::{LongRunningOperation, ResourceStatus};
use super::structural::{Properties, any_objects, conditions};
use crate::model::{Node, Object, ObjectId, Value};

/// The `identityRef` of an AROControlPlane that has one.
#[must_use]
pub fn identity_ref(object: &Object) -> Option<&Node> {
    let written = object.node.at(&["spec", "identityRef"]);
    written
        .filter(|node| object.id.is(CONTROL_PLANE, "AROControlPlane") && node.value != Value::Null)
}

/// The `identityRef` of an AROControlPlane or an AROCluster that has one.
#[must_use]
pub fn used_identity(object: &Object) -> Option<&Node> {
    let written = object.node.at(&["spec", "identityRef"]);
    written.filter(|node| names_identity(&object.id) && node.value != Value::Null)
}

/// Whether objects of this kind may name an AzureClusterIdentity.
#[must_use]
pub fn names_identity(id: &ObjectId) -> bool {
    id.is(CONTROL_PLANE, "AROControlPlane") || id.is(INFRASTRUCTURE, "AROCluster")
}

/// The namespace of an identity: the one in the `identityRef`, otherwise the one it is `used_in`. Empty counts as absent.
#[must_use]
pub fn identity_namespace<'a>(named: Option<&'a str>, used_in: &'a str) -> &'a str {
    named.filter(|named| !named.is_empty()).unwrap_or(used_in)
}

/// The clouds that `azureEnvironment` names.
pub const CLOUDS: [&str; 3] = [
    "AzurePublicCloud",
    "AzureChinaCloud",
    "AzureUSGovernmentCloud",
];

/// Whether `azureEnvironment` names a cloud; an empty one is the public cloud.
#[must_use]
pub fn is_known_cloud(environment: &str) -> bool {
    environment.is_empty() || CLOUDS.contains(&environment)
}

/// Why an `azureEnvironment` is refused.
#[must_use]
pub fn unknown_cloud(environment: &str) -> String {
    let [public, china, government] = CLOUDS;
    format!(
        "spec.azureEnvironment {environment:?} is not a cloud: use {public}, {china} or {government}"
    )
}

/// The ARO HCP cluster itself.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "controlplane.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "AROControlPlane",
    plural = "arocontrolplanes",
    namespaced,
    status = "AROControlPlaneStatus",
    shortname = "arocp",
    category = "cluster-api",
    label("cluster.x-k8s.io/provider", "infrastructure-azure"),
    label("cluster.x-k8s.io/v1beta2", "v1beta2"),
    derive = "Default",
    derive = "PartialEq",
    doc = "The ARO HCP cluster itself.",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name", "description": "The Cluster it belongs to"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.ready", "description": "Whether the API server responds"}"#,
    printcolumn = r#"{"name": "Console URL", "type": "string", "jsonPath": ".status.consoleURL", "description": "The OpenShift console"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AROControlPlaneSpec {
    /// Azure subscription of the cluster.
    #[serde(
        default,
        rename = "subscriptionID",
        skip_serializing_if = "Option::is_none"
    )]
    pub subscription_id: Option<String>,
    /// The AzureClusterIdentity with which the encryption key is created. Without it, the key must be created by
    /// hand and named with its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub identity_ref: Option<ObjectReference>,
    /// Azure cloud; the public cloud if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azure_environment: Option<String>,
    /// The Azure resources, as kinds of Azure Service Operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "any_objects")]
    pub resources: Vec<Properties>,
}

/// The observed state of an AROControlPlane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["ready"]))]
#[serde(rename_all = "camelCase")]
pub struct AROControlPlaneStatus {
    /// Whether the API server responds.
    #[serde(default)]
    pub ready: bool,
    /// The initialization status that Cluster API waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<AROControlPlaneInitialization>,
    /// The current conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// ARM ID of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// URL of the API server.
    #[serde(default, rename = "apiURL", skip_serializing_if = "Option::is_none")]
    pub api_url: Option<String>,
    /// URL of the OpenShift console.
    #[serde(
        default,
        rename = "consoleURL",
        skip_serializing_if = "Option::is_none"
    )]
    pub console_url: Option<String>,
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

/// The initialization status that Cluster API waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AROControlPlaneInitialization {
    /// Whether the API server has ever responded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
}
