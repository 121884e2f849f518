//! The fields of a `ClusterDefinition` (DESIGN §3). What is said here to a reader is what
//! `capstan schema ClusterDefinition` says; the defaults here are the only ones.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::node_pool::NodePool;
use crate::api::arm_version::ArmVersion;
use crate::api::structural::{Properties, UUID, any_object};

/// One cluster, as a person writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDefinitionSpec {
    /// What the cluster runs on.
    #[serde(default)]
    pub platform: Platform,
    /// How much of the cluster to make; for clusters whose encryption key is made by hand.
    #[serde(default)]
    pub phase: Phase,
    /// Azure region, such as `uksouth`.
    #[schemars(length(min = 1))]
    pub location: String,
    /// Azure subscription that pays for the cluster.
    #[serde(rename = "subscriptionID")]
    #[schemars(regex(pattern = UUID))]
    pub subscription_id: String,
    /// Entra tenant of the subscription.
    #[serde(rename = "tenantID")]
    #[schemars(regex(pattern = UUID))]
    pub tenant_id: String,
    /// Azure cloud. Others than the public one need matching settings in `aso-controller-settings`.
    #[serde(default)]
    pub azure_environment: AzureEnvironment,
    /// The AzureClusterIdentity that makes the encryption key. Without it ASO's credentials do all
    /// the work, and `etcd.encryption.keyVersion` is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_ref: Option<IdentityRef>,
    /// Secret with ASO's credential, written as `serviceoperator.azure.com/credential-from` on every
    /// Azure resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub credential_from: Option<String>,
    /// Version of Azure's ARO HCP API to speak.
    #[serde(default, rename = "armAPIVersion")]
    pub arm_api_version: ArmVersion,
    /// OpenShift version of the control plane.
    pub version: Version,
    /// The cluster's API endpoint.
    #[serde(default)]
    pub api: Api,
    /// Address ranges.
    #[serde(default)]
    pub network: Network,
    /// Encryption of the cluster's data.
    #[serde(default)]
    pub etcd: Etcd,
    /// The identities of the cluster's operators.
    #[serde(default)]
    pub managed_identities: ManagedIdentities,
    /// An OpenID Connect provider that users log in through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_auth: Option<ExternalAuth>,
    /// Groups of worker nodes.
    #[schemars(
        length(min = 1),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub node_pools: Vec<NodePool>,
    /// Ending of Azure names, so that they are unique in Azure. Default: the first 6 hex digits of
    /// sha256("subscriptionID/namespace/name"). Changing it replaces the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[a-z0-9]{1,6}$"))]
    pub name_suffix: Option<String>,
    /// What happens to the cluster when its definition goes away.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// Tags of every Azure resource that can have them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Anything else of `HcpOpenShiftCluster.spec.properties`, merged onto what is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub properties: Option<Properties>,
}

/// What a cluster runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Platform {
    /// Azure Red Hat OpenShift with a hosted control plane.
    #[default]
    #[serde(rename = "ARO")]
    Aro,
    /// HyperShift, on KubeVirt, agents or self-managed Azure.
    HyperShift,
}

/// How much of a cluster to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// All of it.
    #[default]
    Cluster,
    /// Only the Azure resources around it, so that a key can be made in the new vault.
    Infrastructure,
}

/// Azure's clouds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AzureEnvironment {
    /// The public one.
    #[default]
    AzurePublicCloud,
    /// China's.
    AzureChinaCloud,
    /// That of the US government.
    AzureUSGovernmentCloud,
}

impl AzureEnvironment {
    /// Where tokens come from, without a `/` at the end.
    #[must_use]
    pub fn authority(self) -> &'static str {
        match self {
            Self::AzurePublicCloud => "https://login.microsoftonline.com",
            Self::AzureChinaCloud => "https://login.chinacloudapi.cn",
            Self::AzureUSGovernmentCloud => "https://login.microsoftonline.us",
        }
    }

    /// What follows a vault's name in its host name.
    #[must_use]
    pub fn vault_suffix(self) -> &'static str {
        match self {
            Self::AzurePublicCloud => "vault.azure.net",
            Self::AzureChinaCloud => "vault.azure.cn",
            Self::AzureUSGovernmentCloud => "vault.usgovcloudapi.net",
        }
    }
}

/// An AzureClusterIdentity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityRef {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its namespace; default is the definition's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub namespace: Option<String>,
}

/// An OpenShift version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// `X.Y` in quotes, such as `"4.20"`; Azure chooses the patch.
    pub id: String,
    /// `stable` or `fast`.
    #[serde(default = "stable")]
    pub channel_group: String,
}

fn stable() -> String {
    "stable".to_owned()
}

/// The cluster's API endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Api {
    /// Who can reach it.
    #[serde(default)]
    pub visibility: Visibility,
    /// IPv4 addresses and ranges that may reach it; absent means all.
    #[serde(rename = "authorizedCIDRs", skip_serializing_if = "Option::is_none")]
    pub authorized_cidrs: Option<Vec<String>>,
}

/// Who can reach an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Visibility {
    /// Everybody.
    #[default]
    Public,
    /// The virtual network.
    Private,
}

/// Address ranges, IPv4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Network {
    /// The virtual network.
    #[serde(rename = "vnetCIDR")]
    pub vnet_cidr: String,
    /// The subnet of the nodes, in the virtual network.
    #[serde(rename = "subnetCIDR")]
    pub subnet_cidr: String,
    /// The subnet that Azure reaches the network through, in the virtual network.
    #[serde(rename = "integrationSubnetCIDR")]
    pub integration_subnet_cidr: String,
    /// Machines, as OpenShift sees them.
    #[serde(rename = "machineCIDR")]
    pub machine_cidr: String,
    /// Pods.
    #[serde(rename = "podCIDR")]
    pub pod_cidr: String,
    /// Services.
    #[serde(rename = "serviceCIDR")]
    pub service_cidr: String,
    /// Length of the prefix that each node gets of the pod range.
    pub host_prefix: i64,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            vnet_cidr: "10.100.0.0/15".to_owned(),
            subnet_cidr: "10.100.76.0/24".to_owned(),
            integration_subnet_cidr: "10.100.77.0/24".to_owned(),
            machine_cidr: "10.0.0.0/16".to_owned(),
            pod_cidr: "10.128.0.0/14".to_owned(),
            service_cidr: "172.30.0.0/16".to_owned(),
            host_prefix: 23,
        }
    }
}

/// The cluster's data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Etcd {
    /// How it is encrypted.
    #[serde(default)]
    pub encryption: Encryption,
}

/// Encryption with a key of yours in a key vault of yours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Encryption {
    /// Name of the key.
    #[schemars(length(min = 1))]
    pub key_name: String,
    /// Version of the key. Required without `identityRef`; with it, the newest is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub key_version: Option<String>,
    /// From where Azure reaches the vault.
    pub vault_visibility: Visibility,
    /// A vault that exists already; absent means that one is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<ExistingVault>,
    /// Object id of the principal that makes the key; it gets the role Key Vault Crypto Officer on
    /// the vault.
    #[serde(
        rename = "keyOfficerPrincipalID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(regex(pattern = UUID))]
    pub key_officer_principal_id: Option<String>,
}

impl Default for Encryption {
    fn default() -> Self {
        Self {
            key_name: "etcd-data-kms-encryption-key".to_owned(),
            key_version: None,
            vault_visibility: Visibility::Public,
            vault: None,
            key_officer_principal_id: None,
        }
    }
}

/// A vault in the cluster's subscription that the definition does not make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExistingVault {
    /// Its name.
    #[schemars(regex(pattern = "^[a-zA-Z0-9-]{3,24}$"))]
    pub name: String,
    /// Its resource group.
    #[schemars(length(min = 1, max = 90))]
    pub resource_group: String,
}

/// The identities of the cluster's operators.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedIdentities {
    /// Where they come from.
    #[serde(default)]
    pub mode: IdentityMode,
    /// With `Shared`: the resource group that holds them, in the cluster's subscription.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[-A-Za-z0-9_.()]{0,89}[-A-Za-z0-9_()]$"))]
    pub resource_group: Option<String>,
}

impl ManagedIdentities {
    /// The resource group of identities that exist already; none when the cluster has its own.
    #[must_use]
    pub fn pool(&self) -> Option<&str> {
        let shared = self.mode == IdentityMode::Shared;
        self.resource_group.as_deref().filter(|_| shared)
    }
}

/// Where the identities of the cluster's operators come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IdentityMode {
    /// The cluster has its own.
    #[default]
    Create,
    /// They exist already, in a resource group, under the names of their operators: `kms`,
    /// `dp-disk-csi-driver`, `service`. One cluster at a time uses them.
    Shared,
}

/// An OpenID Connect provider that users log in through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAuth {
    /// The application's id at the provider; audience and client alike.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1))]
    pub client_id: String,
    /// The provider; default is the Entra tenant.
    #[serde(rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    pub issuer_url: Option<String>,
    /// The claim that names the user.
    #[serde(default = "oid")]
    pub username_claim: String,
    /// The claim that names the user's groups.
    #[serde(default = "groups")]
    pub groups_claim: String,
    /// Anything else of `HcpOpenShiftClustersExternalAuth.spec.properties`, merged onto what is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub properties: Option<Properties>,
}

fn oid() -> String {
    "oid".to_owned()
}

fn groups() -> String {
    "groups".to_owned()
}

/// What happens to a cluster when its definition goes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// It stays, and nobody manages it.
    #[default]
    Orphan,
    /// It is deleted, once that is approved.
    Delete,
}
