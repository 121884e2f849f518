//! The fields of a `ClusterDefinition` (DESIGN §3). Their doc comments are the descriptions that
//! `capstan schema ClusterDefinition` prints; their defaults are the only ones.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::node_pool::NodePool;
use crate::api::arm_version::ArmVersion;
use crate::api::structural::{Properties, any_object};
use crate::schema::patterns::{LABEL, RESOURCE_GROUP, SUBDOMAIN, UUID, VAULT, VAULT_KEY, WORD};

/// One cluster, as a person defines it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDefinitionSpec {
    /// The platform of the cluster.
    #[serde(default)]
    pub platform: Platform,
    /// How much of the cluster to create, for clusters whose encryption key is created by hand.
    #[serde(default)]
    pub phase: Phase,
    /// Azure region, such as `uksouth`.
    #[schemars(length(min = 1))]
    pub location: String,
    /// Azure subscription of the cluster.
    #[serde(rename = "subscriptionID")]
    #[schemars(regex(pattern = UUID))]
    pub subscription_id: String,
    /// Entra tenant of the subscription.
    #[serde(rename = "tenantID")]
    #[schemars(regex(pattern = UUID))]
    pub tenant_id: String,
    /// Azure cloud. Clouds other than the public one need matching settings in `aso-controller-settings`.
    #[serde(default)]
    pub azure_environment: AzureEnvironment,
    /// The AzureClusterIdentity with which the encryption key is created. Without it, Azure Service Operator's
    /// credential is used for everything, and `etcd.encryption.keyVersion` is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_ref: Option<IdentityRef>,
    /// Secret with Azure Service Operator's credential, set as `serviceoperator.azure.com/credential-from` on
    /// every Azure resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SUBDOMAIN), length(min = 1, max = 253))]
    pub credential_from: Option<String>,
    /// Version of Azure's ARO HCP API to use.
    #[serde(default, rename = "armAPIVersion")]
    pub arm_api_version: ArmVersion,
    /// OpenShift version of the control plane.
    pub version: Version,
    /// The endpoint of the cluster's API server.
    #[serde(default)]
    pub api: Api,
    /// Address ranges.
    #[serde(default)]
    pub network: Network,
    /// Encryption of the cluster's data.
    #[serde(default)]
    pub etcd: Etcd,
    /// The managed identities of the cluster's operators.
    #[serde(default)]
    pub managed_identities: ManagedIdentities,
    /// An OpenID Connect provider for user logins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_auth: Option<ExternalAuth>,
    /// How long a node may take to drain before it is replaced anyway, 0 to 10080 minutes; node pools may have
    /// their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_drain_timeout_minutes: Option<i64>,
    /// Limits of the autoscaler of all node pools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_autoscaling: Option<ClusterAutoscaling>,
    /// The first part of the cluster's domain, at most 15 characters; if absent, Azure chooses. Changing it
    /// replaces the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_base_domain_prefix: Option<String>,
    /// Registries from which images are pulled instead. Needs ARM API version 2025-12-23-preview or later. A
    /// change replaces all nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_digest_mirrors: Vec<ImageDigestMirror>,
    /// The registry in the cluster.
    #[serde(default)]
    pub cluster_image_registry: ClusterImageRegistry,
    /// Groups of worker nodes.
    #[schemars(
        length(min = 1),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub node_pools: Vec<NodePool>,
    /// Suffix that makes Azure names unique. Defaults to the first 6 hex digits of
    /// sha256("subscriptionID/namespace/name"). Changing it replaces the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[a-z0-9]{1,6}$"))]
    pub name_suffix: Option<String>,
    /// What happens to the cluster when its definition is removed.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// Tags for every Azure resource that supports them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Other fields of `HcpOpenShiftCluster.spec.properties`, merged onto the generated ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub properties: Option<Properties>,
}

/// The platform of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Platform {
    /// Azure Red Hat OpenShift with a hosted control plane.
    #[default]
    #[serde(rename = "ARO")]
    Aro,
    /// HyperShift, on KubeVirt, agents or self-managed Azure.
    HyperShift,
}

impl Platform {
    /// All platforms.
    pub const ALL: [Self; 2] = [Self::Aro, Self::HyperShift];

    /// Its name in definitions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aro => "ARO",
            Self::HyperShift => "HyperShift",
        }
    }

    /// The platform that it is not.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Aro => Self::HyperShift,
            Self::HyperShift => Self::Aro,
        }
    }
}

/// How much of a cluster to create.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Everything.
    #[default]
    Cluster,
    /// Only the Azure resources around it, so that a key can be created in the new vault.
    Infrastructure,
}

/// An Azure cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AzureEnvironment {
    /// The public cloud.
    #[default]
    AzurePublicCloud,
    /// The China cloud.
    AzureChinaCloud,
    /// The US Government cloud.
    AzureUSGovernmentCloud,
}

impl AzureEnvironment {
    /// The token endpoint, without a trailing `/`.
    #[must_use]
    pub fn authority(self) -> &'static str {
        match self {
            Self::AzurePublicCloud => "https://login.microsoftonline.com",
            Self::AzureChinaCloud => "https://login.chinacloudapi.cn",
            Self::AzureUSGovernmentCloud => "https://login.microsoftonline.us",
        }
    }
}

/// An AzureClusterIdentity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityRef {
    /// Its name.
    #[schemars(regex(pattern = SUBDOMAIN), length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; defaults to the definition's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

/// An OpenShift version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// `X.Y` in quotes, such as `"4.20"`; Azure chooses the patch version.
    pub id: String,
    /// `stable` or `fast`.
    #[serde(default = "stable")]
    pub channel_group: String,
}

fn stable() -> String {
    "stable".to_owned()
}

/// The endpoint of the cluster's API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Api {
    /// Where it can be reached from.
    #[serde(default)]
    pub visibility: Visibility,
    /// IPv4 addresses and ranges that may connect to it; if absent, all may.
    #[serde(rename = "authorizedCIDRs", skip_serializing_if = "Option::is_none")]
    pub authorized_cidrs: Option<Vec<String>>,
}

/// Where an endpoint can be reached from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Visibility {
    /// The internet.
    #[default]
    Public,
    /// Only the virtual network.
    Private,
}

/// IPv4 address ranges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Network {
    /// The virtual network.
    #[serde(rename = "vnetCIDR")]
    pub vnet_cidr: String,
    /// The subnet of the nodes, in the virtual network.
    #[serde(rename = "subnetCIDR")]
    pub subnet_cidr: String,
    /// The subnet through which Azure reaches the network, in the virtual network.
    #[serde(rename = "integrationSubnetCIDR")]
    pub integration_subnet_cidr: String,
    /// The machine network, as OpenShift configures it.
    #[serde(rename = "machineCIDR")]
    pub machine_cidr: String,
    /// The pod network.
    #[serde(rename = "podCIDR")]
    pub pod_cidr: String,
    /// The service network.
    #[serde(rename = "serviceCIDR")]
    pub service_cidr: String,
    /// Prefix length of each node's part of the pod network.
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

/// Encryption with your own key in your own key vault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Encryption {
    /// Name of the key: letters, digits and `-`.
    #[schemars(regex(pattern = VAULT_KEY), length(min = 1, max = 127))]
    pub key_name: String,
    /// Version of the key. Required without `identityRef`; with it, defaults to the newest version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub key_version: Option<String>,
    /// How Azure reaches the vault.
    pub vault_visibility: Visibility,
    /// An existing vault; if absent, a vault is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vault: Option<ExistingVault>,
    /// Object ID of the principal that creates the key; it is granted the role Key Vault Crypto Officer on
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

/// An existing vault in the cluster's subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExistingVault {
    /// Its name.
    #[schemars(regex(pattern = VAULT), length(min = 3, max = 24))]
    pub name: String,
    /// Its resource group.
    #[schemars(regex(pattern = RESOURCE_GROUP), length(min = 1, max = 90))]
    pub resource_group: String,
}

/// The managed identities of the cluster's operators.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedIdentities {
    /// Whether they belong to the cluster or already exist.
    #[serde(default)]
    pub mode: IdentityMode,
    /// With `Shared`: the resource group of the identities, in the cluster's subscription.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = RESOURCE_GROUP), length(min = 1, max = 90))]
    pub resource_group: Option<String>,
}

impl ManagedIdentities {
    /// The resource group of existing identities; `None` if the cluster has its own.
    #[must_use]
    pub fn pool(&self) -> Option<&str> {
        let shared = self.mode == IdentityMode::Shared;
        self.resource_group.as_deref().filter(|_| shared)
    }
}

/// Whether the identities of the cluster's operators belong to the cluster or already exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IdentityMode {
    /// They are created for the cluster.
    #[default]
    Create,
    /// They already exist in a resource group, named after their operators: `kms`, `dp-disk-csi-driver`,
    /// `service`. Only one cluster at a time can use them.
    Shared,
}

/// An OpenID Connect provider for user logins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalAuth {
    /// Its name in Azure, 2 to 15 characters; defaults to `ea`. Changing it replaces the external auth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure_name: Option<String>,
    /// The application ID at the provider, used as both audience and client.
    #[serde(rename = "clientID")]
    #[schemars(regex(pattern = WORD), length(min = 1))]
    pub client_id: String,
    /// The provider's issuer URL; defaults to the Entra tenant.
    #[serde(rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    pub issuer_url: Option<String>,
    /// The claim with the user's name.
    #[serde(default = "oid")]
    pub username_claim: String,
    /// The claim with the user's groups.
    #[serde(default = "groups")]
    pub groups_claim: String,
    /// Other fields of `HcpOpenShiftClustersExternalAuth.spec.properties`, merged onto the generated ones.
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

/// Limits of the cluster autoscaler. Azure's defaults apply to absent fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAutoscaling {
    /// Maximum number of nodes of all node pools, at most 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_nodes_total: Option<i64>,
    /// Seconds that pods have to stop before their node is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pod_grace_period_seconds: Option<i64>,
    /// Seconds that a new node may take to become ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_node_provision_time_seconds: Option<i64>,
    /// Pods with a lower priority neither add nodes nor keep them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_priority_threshold: Option<i64>,
}

/// Mirrors of a registry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageDigestMirror {
    /// The registry, such as `quay.io/team`; `*.example.com` stands for all registries below a domain.
    pub source: String,
    /// The registries to try instead, in this order.
    pub mirrors: Vec<String>,
}

/// The registry in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClusterImageRegistry {
    /// Whether there is one. Changing it replaces the cluster.
    pub state: RegistryState,
}

/// Whether a cluster has a registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RegistryState {
    /// It has one.
    #[default]
    Enabled,
    /// It has none.
    Disabled,
}

/// What happens to a cluster when its definition is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// It stays, and is no longer managed.
    #[default]
    Orphan,
    /// It is deleted after approval.
    Delete,
}
