//! `AROCluster`: the Azure resources around a cluster.
//!
//! The shape is CAPZ's (facts/aro-controllers.md §1), so objects written for either are valid for both. The
//! fields of the proposal that CAPZ dropped are optional here: `subscriptionID`, `identityRef`, and `message`
//! in the status of a resource.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::resource_status::ResourceStatus;
use super::structural::{Properties, any_objects, conditions};

/// The Azure resources around a cluster.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "AROCluster",
    plural = "aroclusters",
    namespaced,
    status = "AROClusterStatus",
    shortname = "aroc",
    category = "cluster-api",
    label("cluster.x-k8s.io/provider", "infrastructure-azure"),
    label("cluster.x-k8s.io/v1beta2", "v1beta2"),
    derive = "Default",
    derive = "PartialEq",
    doc = "The Azure resources around an ARO HCP cluster.",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name", "description": "The Cluster it belongs to"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.ready", "description": "Whether the infrastructure and the control plane are ready"}"#,
    printcolumn = r#"{"name": "Provisioned", "type": "boolean", "jsonPath": ".status.initialization.provisioned", "description": "Whether it has ever been ready"}"#,
    printcolumn = r#"{"name": "Endpoint", "type": "string", "jsonPath": ".spec.controlPlaneEndpoint.host", "description": "Host of the API server", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AROClusterSpec {
    /// Azure subscription of the cluster, if its AROControlPlane names none. Another one than that of the AROControlPlane is
    /// refused.
    #[serde(
        default,
        rename = "subscriptionID",
        skip_serializing_if = "Option::is_none"
    )]
    pub subscription_id: Option<String>,
    /// The AzureClusterIdentity of the cluster, if its AROControlPlane names none. The identity that creates the encryption
    /// key is that of the AROControlPlane alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub identity_ref: Option<ObjectReference>,
    /// The address of the API server, set by a controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<Endpoint>,
    /// The Azure resources, as kinds of Azure Service Operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "any_objects")]
    pub resources: Vec<Properties>,
}

/// The address of an API server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct Endpoint {
    /// Host name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub host: Option<String>,
    /// Port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
}

/// The observed state of an AROCluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AROClusterStatus {
    /// Whether the infrastructure and the control plane are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// The initialization status that Cluster API waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<AROClusterInitialization>,
    /// The current conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// The embedded resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceStatus>,
    /// Never set; part of Cluster API's contract.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<FailureDomain>,
}

/// The initialization status that Cluster API waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AROClusterInitialization {
    /// Whether it has ever been ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<bool>,
}

/// A zone that machines can be spread over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// Its name.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Whether control plane machines may be placed in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,
    /// Other properties.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub attributes: std::collections::BTreeMap<String, String>,
}
