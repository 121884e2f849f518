//! Condition types, reasons and messages of the kinds that our controllers write.
//!
//! Source: facts/aro-controllers.md §3. The messages are CAPZ's, so that tools which read them keep
//! working.

/// `status` of a true condition.
pub const TRUE: &str = "True";
/// `status` of a false condition.
pub const FALSE: &str = "False";
/// `status` of a condition that cannot be decided yet.
pub const UNKNOWN: &str = "Unknown";

/// The one condition of ASO resources, and the summary condition of many others.
pub const READY: &str = "Ready";

/// Any kind: it is in the requested state.
pub const SUCCEEDED: &str = "Succeeded";
/// Any kind: it is not in the requested state; the message says why.
pub const FAILED: &str = "Failed";
/// Any kind: Azure is working on it.
pub const PROVISIONING: &str = "Provisioning";

/// AROCluster: all embedded resources are ready.
pub const RESOURCES_READY: &str = "ResourcesReady";
/// Reason of [`RESOURCES_READY`] when true.
pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
/// Reason of [`RESOURCES_READY`] when false.
pub const PROVISIONING_INFRASTRUCTURE: &str = "ProvisioningInfrastructure";
/// AROCluster: the API endpoint is known.
pub const NETWORK_INFRASTRUCTURE_READY: &str = "NetworkInfrastructureReady";
/// Reason of [`NETWORK_INFRASTRUCTURE_READY`] when the control plane has no endpoint yet.
pub const EXTERNALLY_MANAGED_CONTROL_PLANE: &str = "ExternallyManagedControlPlane";
/// Reason: the identity does not allow this namespace.
pub const NAMESPACE_NOT_ALLOWED_BY_IDENTITY: &str = "NamespaceNotAllowedByIdentity";

/// AROControlPlane: the etcd encryption key exists.
pub const ENCRYPTION_KEY_READY: &str = "EncryptionKeyReady";
/// Reason of [`ENCRYPTION_KEY_READY`] when true.
pub const KEY_READY: &str = "KeyReady";
/// Reason: the vault does not exist yet.
pub const WAITING_FOR_VAULT: &str = "WaitingForVault";
/// Reason: the key is being created.
pub const CREATING_KEY: &str = "CreatingKey";
/// Reason: there is no identityRef and no key.
pub const ACTIVE_KEY_MISSING: &str = "ActiveKeyMissing";
/// Reason: there is no identityRef and no key version.
pub const KEY_VERSION_MISSING: &str = "KeyVersionMissing";
/// Reason, with status Unknown: the key is managed by hand.
pub const MANUAL_KEY_MANAGEMENT: &str = "ManualKeyManagement";

/// AROControlPlane: the ARO HCP cluster is ready.
pub const HCP_CLUSTER_READY: &str = "HcpClusterReady";
/// Reason of [`HCP_CLUSTER_READY`]: the resource does not exist yet.
pub const HCP_CLUSTER_NOT_FOUND: &str = "HcpOpenShiftClusterNotFound";
/// AROControlPlane: external authentication is configured.
pub const EXTERNAL_AUTH_READY: &str = "ExternalAuthReady";
/// Reason of [`EXTERNAL_AUTH_READY`]: no node pool is ready yet.
pub const WAITING_FOR_NODE_POOL: &str = "WaitingForNodePool";
/// Reason: an embedded resource does not exist.
pub const RESOURCE_NOT_FOUND: &str = "ResourceNotFound";
/// Reason: an embedded resource could not be read.
pub const GET_RESOURCE_FAILED: &str = "GetResourceFailed";
/// Reason of the conditions in [`PER_KIND`] when false.
pub const CREATING: &str = "Creating";

/// AROControlPlane: one condition for each kind among its embedded resources.
pub const PER_KIND: &[(&str, &str)] = &[
    ("ResourceGroup", "ResourceGroupReady"),
    ("VirtualNetwork", "VNetReady"),
    ("NetworkSecurityGroup", "SecurityGroupsReady"),
    ("VirtualNetworksSubnet", "SubnetsReady"),
    ("Vault", "VaultReady"),
    ("UserAssignedIdentity", "UserAssignedIdentitiesReady"),
    ("RoleAssignment", "RoleAssignmentReady"),
    ("HcpOpenShiftCluster", HCP_CLUSTER_READY),
];

/// AROMachinePool: the node pool is ready.
pub const NODE_POOL_READY: &str = "NodePoolReady";
/// Reason of [`NODE_POOL_READY`]: the resource does not exist yet.
pub const NODE_POOL_NOT_FOUND: &str = "NodePoolNotFound";
/// AROMachinePool: the same, under the name other tools read.
pub const ARO_MACHINE_POOL_READY: &str = "AROMachinePoolReady";
/// AROMachinePool: the last reconciliation had no error.
pub const AGENT_POOLS_READY: &str = "AgentPoolsReady";

/// Message: `EncryptionKeyReady` without identityRef and without a key.
pub const ACTIVE_KEY_REQUIRED: &str = "activeKey is required when identityRef is not set - CAPZ cannot auto-create or propagate the encryption key without Azure credentials";
/// Message: `EncryptionKeyReady` without identityRef and without a key version.
pub const KEY_VERSION_REQUIRED: &str = "encryption key version is required when identityRef is not set - CAPZ cannot auto-create or propagate the encryption key without Azure credentials";
/// Message: `EncryptionKeyReady` if the key is managed by hand.
pub const KEY_BY_HAND: &str = "identityRef not set - encryption key must be manually created and specified in HcpOpenShiftCluster";
/// Message: `EncryptionKeyReady` while the vault is created.
pub const VAULT_AWAITED: &str = "Waiting for KeyVault to be created";
/// Message: external authentication waits.
pub const EXTERNAL_AUTH_DEFERRED: &str =
    "ExternalAuth creation deferred until at least one node pool is ready";
/// Message: the endpoint is known, but not its port.
pub const WAITING_FOR_PORT: &str = "Waiting for the Control Plane port";
/// Message: no endpoint yet.
pub const WAITING_FOR_CONTROL_PLANE: &str = "Waiting for the Control Plane to get ready";
/// Message: the node pool does not exist yet.
pub const NODE_POOL_MISSING: &str = "HcpOpenShiftClustersNodePool resource not found";

/// Message of [`RESOURCES_READY`] when true.
#[must_use]
pub fn all_ready(count: usize) -> String {
    format!("All {count} infrastructure resources are ready")
}

/// Message of [`RESOURCES_READY`] when false.
#[must_use]
pub fn some_ready(ready: usize, count: usize) -> String {
    format!("Waiting for infrastructure resources: {ready}/{count} ready")
}

/// Message of [`ENCRYPTION_KEY_READY`] while the key is created.
#[must_use]
pub fn creating_key(key: &str, vault: &str) -> String {
    format!("Creating encryption key '{key}' in vault '{vault}'")
}

/// Message of [`ENCRYPTION_KEY_READY`] when true.
#[must_use]
pub fn key_ready(key: &str, version: &str, vault: &str) -> String {
    format!("Encryption key '{key}' version '{version}' ready in vault '{vault}'")
}

/// Message of a condition in [`PER_KIND`] when false.
#[must_use]
pub fn waiting_for(kind: &str, names: &[&str]) -> String {
    format!(
        "Waiting for {kind} to be ready: [{names}]",
        names = names.join(" ")
    )
}

/// Message of [`HCP_CLUSTER_READY`] when the resource does not exist.
#[must_use]
pub fn hcp_cluster_missing(name: &str) -> String {
    format!("HcpOpenShiftCluster {name} does not exist yet")
}

/// Reason: an embedded resource cannot be applied as it is written.
pub const INVALID_RESOURCE: &str = "InvalidResource";
/// Reason: two embedded resources are the same object.
pub const DUPLICATE_RESOURCE: &str = "DuplicateResource";
/// Reason: an embedded resource is already somebody else's in the cluster.
pub const NOT_OWNED: &str = "ResourceNotOwned";
/// Reason: an embedded resource exists in Azure and is not the cluster's.
pub const NOT_MANAGED: &str = "ResourceNotManaged";
/// Reason: the cluster does not serve the kind of an embedded resource.
pub const KIND_NOT_SERVED: &str = "KindNotServed";
/// Reason: the API server refused an embedded resource.
pub const APPLY_REFUSED: &str = "ApplyRefused";

/// Message: the HCP cluster is ready.
pub const CLUSTER_PROVISIONED: &str = "Cluster is provisioned and ready";
/// Message: an embedded resource does not exist yet.
pub const WAITING_TO_BE_CREATED: &str = "Waiting to be created";
/// Message: ASO did not report on the newest spec of a resource yet.
pub const WAITING_FOR_ASO: &str = "Waiting for Azure Service Operator to reconcile it";
/// Message: a resource is being deleted.
pub const BEING_DELETED: &str = "Being deleted";
/// Message: a resource left the list while another one in it cannot be read.
pub const KEPT_WHILE_UNREADABLE: &str =
    "No longer listed; it is deleted once every resource in the list can be read";
/// Message: a resource left the list of a paused object.
pub const KEPT_WHILE_PAUSED: &str = "No longer listed; it is deleted after the pause";
