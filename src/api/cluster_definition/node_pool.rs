//! A node pool of a `ClusterDefinition`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::structural::{Properties, any_object};

/// A group of worker nodes that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePool {
    /// Its name within the cluster.
    #[schemars(regex(pattern = "^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// OpenShift version of the nodes, `X.Y.Z`.
    pub version: String,
    /// Azure's name of the machine size, such as `Standard_D4s_v3`.
    #[serde(rename = "vmSize")]
    #[schemars(length(min = 1))]
    pub vm_size: String,
    /// How many nodes; 2 when neither this nor `autoscaling` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i64>,
    /// Between how many nodes the number moves with the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
    /// The nodes' disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_disk: Option<OsDisk>,
    /// Anything else of `HcpOpenShiftClustersNodePool.spec.properties`, merged onto what is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub properties: Option<Properties>,
}

impl NodePool {
    /// How many nodes a pool has that says nothing of its size.
    pub const DEFAULT_REPLICAS: i64 = 2;

    /// The fixed number of nodes; none under autoscaling.
    #[must_use]
    pub fn fixed_replicas(&self) -> Option<i64> {
        match self.autoscaling {
            Some(_) => self.replicas,
            None => Some(self.replicas.unwrap_or(Self::DEFAULT_REPLICAS)),
        }
    }
}

/// Bounds of a pool's size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Autoscaling {
    /// Never fewer nodes.
    #[schemars(range(min = 0))]
    pub min: i64,
    /// Never more nodes.
    #[schemars(range(min = 0))]
    pub max: i64,
}

/// A node's disk. What is absent is Azure's default.
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
