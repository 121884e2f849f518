//! The fields of a definition of platform HyperShift. Their doc comments are the descriptions that `capstan schema` prints; their defaults
//! are the only ones.

mod azure;
mod node_pool;
mod parts;
mod quantity;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use azure::{
    ApiShape, Azure, EndpointAccess, NatSubnet, PrivateConnectivity, WorkloadIdentities,
    WorkloadIdentity,
};
pub use node_pool::{
    AgentNodes, AzureNodes, HostedNodePool, KubeVirtNodes, MarketplaceImage, NodeDisk, NodeImage,
    RootVolume,
};
pub use parts::Release;
use parts::SecretRef;
pub use quantity::Quantity;

use super::spec::DeletionPolicy;
use crate::api::structural::{Properties, any_object};
use crate::schema::patterns::{DOMAIN, LABEL};

/// One hosted cluster, as a person defines it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HyperShiftSpec {
    /// The platform of the cluster.
    pub platform: HostedPlatform,
    /// The hosted cluster.
    pub hyper_shift: HyperShift,
    /// Groups of worker nodes.
    #[schemars(
        length(min = 1),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub node_pools: Vec<HostedNodePool>,
    /// What happens to the cluster when its definition is removed.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

/// The platform of a hosted cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HostedPlatform {
    /// HyperShift, on KubeVirt, agents or self-managed Azure.
    HyperShift,
}

/// A hosted cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HyperShift {
    /// The infrastructure that the nodes run on.
    pub infrastructure: Infrastructure,
    /// The OpenShift release.
    pub release: Release,
    /// The domain of which the cluster's own is a part: `api.<cluster>.<baseDomain>`. It cannot change.
    #[schemars(regex(pattern = DOMAIN), length(min = 1, max = 253))]
    pub base_domain: String,
    /// Secret with the pull secret, in the cluster's namespace.
    pub pull_secret_ref: SecretRef,
    /// Secret with the public SSH key of the nodes in `id_rsa.pub`, in the cluster's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_key_ref: Option<SecretRef>,
    /// The requests of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    /// With `Agent`: the place of the agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// With `KubeVirt`: another cluster for the virtual machines; if absent, they run in the management cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_virt: Option<KubeVirt>,
    /// With `Azure`: the network and the identities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<Azure>,
    /// Other fields of `HostedCluster.spec`, merged onto the generated ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub properties: Option<Properties>,
}

/// The infrastructure that the nodes of a hosted cluster run on. It cannot change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Infrastructure {
    /// In virtual machines of a subscription.
    Azure,
    /// In virtual machines of a Kubernetes cluster.
    KubeVirt,
    /// On machines that the assisted installer has found.
    Agent,
}

impl Infrastructure {
    /// The name of its platform in HyperShift's kinds.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Azure => "Azure",
            Self::KubeVirt => "KubeVirt",
            Self::Agent => "Agent",
        }
    }
}

/// The requests of the API server and of etcd, each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlPlane {
    /// Processors, such as `4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Quantity>,
    /// Memory, such as `16Gi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
}

/// The place of the agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// The namespace of the Agent objects.
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub namespace: String,
}

/// Another cluster for virtual machines. It cannot change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirt {
    /// Secret with a kubeconfig of the cluster in `kubeconfig`, in the hosted cluster's namespace.
    pub kubeconfig_secret_ref: SecretRef,
    /// The namespace of the virtual machines.
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub namespace: String,
}
