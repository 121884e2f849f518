//! A node pool of a hosted cluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::Release;
use super::quantity::Quantity;
use crate::api::cluster_definition::{Autoscaling, NodePool, Taint};
use crate::api::structural::{Properties, any_object};
use crate::schema::patterns::{LABEL, SUBNET_ID};

/// A group of identical worker nodes of a hosted cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostedNodePool {
    /// Its name within the cluster. Its object is called `<cluster>-<name>`, or like the cluster if the pool is.
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub name: String,
    /// The OpenShift release of the nodes; defaults to the cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// The number of nodes; defaults to 2 if `autoscaling` is absent too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i64>,
    /// Enables autoscaling between these numbers of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
    /// With `KubeVirt`: the virtual machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_virt: Option<KubeVirtNodes>,
    /// With `Agent`: the agents to choose from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentNodes>,
    /// With `Azure`, where it is required: the virtual machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<AzureNodes>,
    /// Labels of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Taints of the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["key", "effect"]
    ))]
    pub taints: Vec<Taint>,
    /// Other fields of `NodePool.spec`, merged onto the generated ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub properties: Option<Properties>,
}

impl HostedNodePool {
    /// The fixed number of nodes; `None` with autoscaling.
    #[must_use]
    pub fn fixed_replicas(&self) -> Option<i64> {
        match self.autoscaling {
            Some(_) => self.replicas,
            None => Some(self.replicas.unwrap_or(NodePool::DEFAULT_REPLICAS)),
        }
    }
}

/// Virtual machines of a Kubernetes cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeVirtNodes {
    /// The processors of a node.
    #[schemars(range(min = 1))]
    pub cores: i64,
    /// The memory of a node.
    pub memory: Quantity,
    /// The disk of a node.
    pub root_volume: RootVolume,
}

impl Default for KubeVirtNodes {
    fn default() -> Self {
        Self {
            cores: 2,
            memory: Quantity::new("8Gi"),
            root_volume: RootVolume::default(),
        }
    }
}

/// The disk of a virtual machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RootVolume {
    /// Its size.
    pub size: Quantity,
    /// Its storage class; defaults to the infrastructure cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub storage_class: Option<String>,
}

impl Default for RootVolume {
    fn default() -> Self {
        Self {
            size: Quantity::new("32Gi"),
            storage_class: None,
        }
    }
}

/// The agents to choose from: those with all labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentNodes {
    /// Their InfraEnv, in the label `infraenvs.agent-install.openshift.io`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub infra_env: Option<String>,
    /// Their labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Virtual machines of a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureNodes {
    /// Azure VM size, such as `Standard_D4s_v5`.
    #[serde(rename = "vmSize")]
    #[schemars(length(min = 1, max = 255))]
    pub vm_size: String,
    /// The nodes' disks.
    #[serde(default)]
    pub os_disk: NodeDisk,
    /// The nodes' image; if absent, that of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<NodeImage>,
    /// ARM ID of the nodes' subnet; defaults to the cluster's. It cannot change.
    #[serde(rename = "subnetID", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SUBNET_ID), length(max = 355))]
    pub subnet_id: Option<String>,
    /// Azure's availability zone, such as `"1"`; if absent, Azure chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
}

/// A node's disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeDisk {
    /// Size in GiB.
    #[serde(rename = "sizeGiB")]
    #[schemars(range(min = 16, max = 32_767))]
    pub size_gib: i64,
    /// `Premium_LRS`, `PremiumV2_LRS`, `StandardSSD_LRS` or `Standard_LRS`.
    pub storage_account_type: String,
    /// ARM ID of the disk encryption set that encrypts the disk.
    #[serde(rename = "encryptionSetID", skip_serializing_if = "Option::is_none")]
    pub encryption_set_id: Option<String>,
}

impl Default for NodeDisk {
    fn default() -> Self {
        Self {
            size_gib: 120,
            storage_account_type: "Premium_LRS".to_owned(),
            encryption_set_id: None,
        }
    }
}

/// A node's image: one of a subscription, or one of the marketplace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeImage {
    /// ARM ID of the image.
    #[serde(rename = "imageID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub image_id: Option<String>,
    /// An image of the marketplace, as an alternative to `imageID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marketplace: Option<MarketplaceImage>,
}

/// An image of Azure's marketplace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MarketplaceImage {
    /// Its publisher.
    #[schemars(length(min = 4, max = 50))]
    pub publisher: String,
    /// Its offer.
    #[schemars(length(min = 1, max = 255))]
    pub offer: String,
    /// Its SKU.
    #[schemars(length(min = 1, max = 255))]
    pub sku: String,
    /// `X.Y.Z` or `latest`.
    #[schemars(length(min = 1, max = 32))]
    pub version: String,
}
