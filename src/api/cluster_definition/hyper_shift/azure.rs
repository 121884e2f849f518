//! A hosted cluster on self-managed Azure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::SecretRef;
use crate::api::cluster_definition::{AzureEnvironment, IdentityRef};
use crate::schema::patterns::{
    DOMAIN, HTTPS_URL, NETWORK_ID, PLAIN_RESOURCE_GROUP, SECURITY_GROUP_ID, SUBDOMAIN, SUBNET_ID,
    UUID,
};

/// The network and the identities of a hosted cluster on Azure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Azure {
    /// Azure region, such as `uksouth`. It cannot change.
    #[schemars(length(min = 1))]
    pub location: String,
    /// Azure subscription of the nodes. It cannot change.
    #[serde(rename = "subscriptionID")]
    #[schemars(regex(pattern = UUID))]
    pub subscription_id: String,
    /// Entra tenant of the subscription.
    #[serde(rename = "tenantID")]
    #[schemars(regex(pattern = UUID))]
    pub tenant_id: String,
    /// Azure cloud.
    #[serde(default)]
    pub azure_environment: AzureEnvironment,
    /// The resource group of the nodes. It cannot change.
    #[schemars(regex(pattern = PLAIN_RESOURCE_GROUP), length(min = 1, max = 90))]
    pub resource_group: String,
    /// ARM ID of the virtual network. It cannot change.
    #[serde(rename = "vnetID")]
    #[schemars(regex(pattern = NETWORK_ID), length(max = 255))]
    pub vnet_id: String,
    /// ARM ID of the nodes' subnet in it. It cannot change.
    #[serde(rename = "subnetID")]
    #[schemars(regex(pattern = SUBNET_ID), length(max = 355))]
    pub subnet_id: String,
    /// ARM ID of the network security group of the subnet. It cannot change.
    #[serde(rename = "securityGroupID")]
    #[schemars(regex(pattern = SECURITY_GROUP_ID), length(max = 255))]
    pub security_group_id: String,
    /// The issuer of the cluster's service account tokens, which Entra trusts. It cannot change.
    #[serde(rename = "issuerURL")]
    #[schemars(regex(pattern = HTTPS_URL), length(min = 1))]
    pub issuer_url: String,
    /// Secret with the private key in `key` that signs service account tokens, in the cluster's namespace.
    pub service_account_signing_key_ref: SecretRef,
    /// The managed identities of the cluster's operators.
    pub workload_identities: WorkloadIdentities,
    /// The domain for the names of the cluster's endpoints, `api-<cluster>` and `oauth-<cluster>`; if absent, HyperShift chooses. For a
    /// cluster that is not public it becomes a private DNS zone, so the cluster's own domain must not be in it. Without it, Capstan's
    /// controllers make no zone for these names, and HyperShift's make one of the base domain. It cannot change.
    #[serde(rename = "externalDNSDomain", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DOMAIN), length(min = 1, max = 180))]
    pub external_dns_domain: Option<String>,
    /// The networks from which the cluster's API server can be reached. It cannot change between `Public` and the others.
    #[serde(default)]
    pub endpoint_access: EndpointAccess,
    /// The private connection of the API server; exactly if `endpointAccess` is not `Public`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_connectivity: Option<PrivateConnectivity>,
    /// The AzureClusterIdentity with which Capstan makes the Private Endpoint and the DNS zones in the cluster's subscription; only if
    /// `endpointAccess` is not `Public`. Without it and `credentialFrom`, Azure Service Operator uses its own credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_ref: Option<IdentityRef>,
    /// Secret in the cluster's namespace with a credential of Azure Service Operator for the same, as an alternative to `identityRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SUBDOMAIN), length(min = 1, max = 253))]
    pub credential_from: Option<String>,
    /// The names that the management cluster's HyperShift has for `endpointAccess` and `privateConnectivity`.
    #[serde(default)]
    pub api_shape: ApiShape,
}

/// The managed identities of a hosted cluster's operators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadIdentities {
    /// Of the image registry.
    pub image_registry: WorkloadIdentity,
    /// Of the ingress operator.
    pub ingress: WorkloadIdentity,
    /// Of the driver for file shares.
    pub file: WorkloadIdentity,
    /// Of the driver for disks.
    pub disk: WorkloadIdentity,
    /// Of the manager of node pools.
    pub node_pool_management: WorkloadIdentity,
    /// Of the cloud provider.
    pub cloud_provider: WorkloadIdentity,
    /// Of the network operator.
    pub network: WorkloadIdentity,
    /// Of the control plane operator, which makes the private endpoint; required unless `endpointAccess` is `Public`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_operator: Option<WorkloadIdentity>,
    /// Of the controller that makes the Private Link Service; with `apiShape: proposal` only, and required there unless
    /// `endpointAccess` is `Public`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_link_service: Option<WorkloadIdentity>,
}

/// A managed identity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadIdentity {
    /// Its client ID.
    #[serde(rename = "clientID")]
    #[schemars(regex(pattern = UUID))]
    pub client_id: String,
}

/// The networks from which an API server can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EndpointAccess {
    /// The internet.
    #[default]
    Public,
    /// The internet, and the virtual network over Private Link.
    PublicAndPrivate,
    /// Only the virtual network, over Private Link.
    Private,
}

impl EndpointAccess {
    /// Its name in HyperShift's kinds.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "Public",
            Self::PublicAndPrivate => "PublicAndPrivate",
            Self::Private => "Private",
        }
    }
}

/// The private connection of an API server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrivateConnectivity {
    /// ARM ID of an existing subnet of the management cluster's network for the addresses of the Private Link Service.
    #[serde(rename = "natSubnetID", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SUBNET_ID), length(max = 355))]
    pub nat_subnet_id: Option<String>,
    /// A new subnet for them, as an alternative to `natSubnetID`. Its name is `<namespace>-<cluster>-pls-nat`. Capstan's controllers of
    /// private clusters make it; where they do not run, make it by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nat_subnet: Option<NatSubnet>,
    /// Subscriptions that may connect besides the cluster's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = UUID)), length(max = 50), extend("x-kubernetes-list-type" = "set"))]
    pub allowed_subscriptions: Vec<String>,
}

/// A new subnet for the addresses of a Private Link Service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NatSubnet {
    /// ARM ID of the management cluster's virtual network.
    #[schemars(regex(pattern = NETWORK_ID), length(max = 255))]
    pub vnet: String,
    /// Its IPv4 range in the network.
    pub cidr: String,
}

/// The names of the fields of private connections in HyperShift's kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApiShape {
    /// `topology` and `private`, as in the released versions.
    #[default]
    Landed,
    /// `endpointAccess` and `privateConnectivity`, as in the proposal.
    Proposal,
}
