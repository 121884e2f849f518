//! A node pool of a `ClusterDefinition`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::structural::{Properties, any_object};
use crate::schema::patterns::LETTER_FIRST;

/// A group of identical worker nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePool {
    /// Its name within the cluster. Its objects are called `<cluster>-<name>`.
    #[schemars(regex(pattern = LETTER_FIRST), length(max = 63))]
    pub name: String,
    /// Its name in Azure, 3 to 15 characters; defaults to `name`. Changing it replaces the node pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure_name: Option<String>,
    /// OpenShift version of the nodes, `X.Y.Z`.
    pub version: String,
    /// Azure VM size, such as `Standard_D4s_v3`.
    #[serde(rename = "vmSize")]
    #[schemars(length(min = 1))]
    pub vm_size: String,
    /// The number of nodes; defaults to 2 if `autoscaling` is absent too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i64>,
    /// Enables autoscaling between these numbers of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
    /// The nodes' disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_disk: Option<OsDisk>,
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
    /// Azure's availability zone, such as `"1"`; if absent, Azure chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// How long a node may take to drain before it is replaced anyway, 0 to 10080 minutes; defaults to the
    /// cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_drain_timeout_minutes: Option<i64>,
    /// Whether Azure replaces nodes that are not healthy.
    #[serde(default = "yes")]
    pub auto_repair: bool,
    /// ARM ID of the disk encryption set that encrypts the nodes' disks.
    #[serde(
        rename = "diskEncryptionSetID",
        skip_serializing_if = "Option::is_none"
    )]
    pub disk_encryption_set_id: Option<String>,
    /// ARM ID of the nodes' subnet; defaults to the cluster's subnet.
    #[serde(rename = "subnetID", skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// Other fields of `HcpOpenShiftClustersNodePool.spec.properties`, merged onto the generated ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub properties: Option<Properties>,
}

fn yes() -> bool {
    true
}

impl NodePool {
    /// The number of nodes of a pool without `replicas` and `autoscaling`.
    pub const DEFAULT_REPLICAS: i64 = 2;

    /// The fixed number of nodes; `None` with autoscaling.
    #[must_use]
    pub fn fixed_replicas(&self) -> Option<i64> {
        match self.autoscaling {
            Some(_) => self.replicas,
            None => Some(self.replicas.unwrap_or(Self::DEFAULT_REPLICAS)),
        }
    }
}

/// A taint of the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// Limits of the number of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Autoscaling {
    /// Minimum number of nodes.
    #[schemars(range(min = 0))]
    pub min: i64,
    /// Maximum number of nodes.
    #[schemars(range(min = 0))]
    pub max: i64,
}

/// A node's disk. Azure's defaults apply to absent fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OsDisk {
    /// Size in GiB, at least 64.
    #[serde(rename = "sizeGiB", skip_serializing_if = "Option::is_none")]
    pub size_gib: Option<i64>,
    /// `Premium_LRS`, `StandardSSD_LRS` or `Standard_LRS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_account_type: Option<String>,
}
