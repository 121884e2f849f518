//! Condition types, reasons and messages of the kinds that our controllers write.
//!
//! Source: facts/aro-controllers.md §3. The messages are CAPZ's, so that tools which read them keep
//! working.

mod keys;

pub use keys::*;

use super::aso;
use super::labels::REPLICAS_MANAGED_BY;

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
/// Any kind: the parts of it that are gone, and what the deletion waits for.
pub const DELETING: &str = "Deleting";
/// Any kind of Cluster API: its controllers leave it alone.
pub const PAUSED: &str = "Paused";
/// Reason of [`PAUSED`] when false.
pub const NOT_PAUSED: &str = "NotPaused";
/// Reason: Cluster API has not set an owner yet.
pub const WAITING_FOR_OWNER_CLUSTER: &str = "WaitingForCluster";
/// Reason: Cluster API has not set a MachinePool as an owner yet.
pub const WAITING_FOR_OWNER_MACHINE_POOL: &str = "WaitingForMachinePool";
/// Reason: the MachinePool does not exist.
pub const MACHINE_POOL_NOT_FOUND: &str = "MachinePoolNotFound";
/// Reason: the owner does not exist.
pub const CLUSTER_NOT_FOUND: &str = "ClusterNotFound";
/// Reason of [`READY`]: a kind that a decision needs may not be watched.
pub const KIND_NOT_READABLE: &str = "KindNotReadable";
/// Reason of [`READY`]: the cluster refuses a write to the object itself.
pub const WRITE_REFUSED: &str = "WriteRefused";
/// Reason: a field has a value that only the controller may set, and to something else.
pub const INCOMPATIBLE_VALUE: &str = "IncompatibleValue";

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
/// Message: the identity does not allow this namespace.
pub const NAMESPACE_NOT_ALLOWED: &str =
    "AzureClusterIdentity list of allowed namespaces doesn't include current cluster namespace";
/// Reason of [`NETWORK_INFRASTRUCTURE_READY`]: the Cluster has another kind of control plane.
pub const UNSUPPORTED_CONTROL_PLANE: &str = "UnsupportedControlPlane";
/// Reason of [`NETWORK_INFRASTRUCTURE_READY`]: the URL of the API server cannot be read.
pub const INVALID_ENDPOINT: &str = "InvalidEndpoint";

/// AROCluster, AROControlPlane: the Azure credential of the cluster works, and its namespace may use it.
pub const IDENTITY_READY: &str = "IdentityReady";
/// Reason of [`IDENTITY_READY`], and of an identity that is ready: Entra ID gave a token for it.
pub const CREDENTIALS_VALID: &str = "CredentialsValid";
/// Reason: a token is asked for, and there is no answer yet.
pub const CHECKING_CREDENTIALS: &str = "CheckingCredentials";
/// Reason: Entra ID could not be asked.
pub const CREDENTIALS_UNCHECKED: &str = "CredentialsUnchecked";
/// Reason: Entra ID gives no token for the credential, or the identity may not use its Secret.
pub const CREDENTIALS_REFUSED: &str = "CredentialsRefused";
/// Reason: the identity, its Secret or its certificate cannot be used.
pub const CREDENTIALS_INVALID: &str = "CredentialsInvalid";
/// Reason: the Secret of the identity does not exist.
pub const CREDENTIALS_NOT_FOUND: &str = "CredentialsNotFound";
/// Reason: the Secret for Azure Service Operator could not be written.
pub const CREDENTIAL_SECRET_FAILED: &str = "CredentialSecretFailed";
/// Reason: it is not known yet whether the identity works.
pub const WAITING_FOR_IDENTITY: &str = "WaitingForIdentity";
/// Reason: `azureEnvironment` names no cloud of Azure.
pub const UNKNOWN_CLOUD: &str = "UnknownCloud";

/// AROControlPlane: the ARO HCP cluster is ready.
pub const HCP_CLUSTER_READY: &str = "HcpClusterReady";
/// Reason of [`HCP_CLUSTER_READY`]: the resource does not exist yet.
pub const HCP_CLUSTER_NOT_FOUND: &str = "HcpOpenShiftClusterNotFound";
/// Reason of [`HCP_CLUSTER_READY`]: the spec has no HcpOpenShiftCluster, or more than one.
pub const HCP_CLUSTER_INVALID: &str = "InvalidHcpOpenShiftCluster";
/// Reason of [`HCP_CLUSTER_READY`]: the infrastructure is not ready yet.
pub const WAITING_FOR_INFRASTRUCTURE: &str = "WaitingForInfrastructure";
/// Reason of [`HCP_CLUSTER_READY`]: the encryption key is not there yet.
pub const WAITING_FOR_ENCRYPTION_KEY: &str = "WaitingForEncryptionKey";
/// Reason of [`HCP_CLUSTER_READY`]: the role assignments do not reach all of Azure yet.
pub const WAITING_FOR_ROLE_ASSIGNMENTS: &str = "WaitingForRoleAssignments";
/// Reason of [`HCP_CLUSTER_READY`]: the Cluster has another kind of infrastructure.
pub const UNSUPPORTED_INFRASTRUCTURE: &str = "UnsupportedInfrastructure";
/// AROControlPlane: the kubeconfig is there in the form that Cluster API reads.
pub const KUBECONFIG_READY: &str = "KubeconfigReady";
/// Reason of [`KUBECONFIG_READY`]: ASO has not written it yet.
pub const KUBECONFIG_AWAITED: &str = "KubeconfigAwaited";
/// Reason of [`KUBECONFIG_READY`]: the Secret holds something else.
pub const KUBECONFIG_INVALID: &str = "InvalidKubeconfig";
/// Reason of [`KUBECONFIG_READY`]: it expires soon, and ASO has not renewed it.
pub const KUBECONFIG_EXPIRING: &str = "KubeconfigExpiring";
/// Reason of [`KUBECONFIG_READY`]: it expired, and ASO has not renewed it.
pub const KUBECONFIG_EXPIRED: &str = "KubeconfigExpired";
/// AROControlPlane: external authentication is configured.
pub const EXTERNAL_AUTH_READY: &str = "ExternalAuthReady";
/// Reason of [`EXTERNAL_AUTH_READY`]: no node pool is ready yet.
pub const WAITING_FOR_NODE_POOL: &str = "WaitingForNodePool";
/// Reason of [`EXTERNAL_AUTH_READY`]: a person has to make the Secret of the console's client.
pub const AWAITING_SECRET: &str = "AwaitingSecret";
/// Reason: an embedded resource does not exist.
pub const RESOURCE_NOT_FOUND: &str = "ResourceNotFound";
/// Reason: an embedded resource could not be read.
pub const GET_RESOURCE_FAILED: &str = "GetResourceFailed";
/// Reason of the conditions in [`PER_KIND`] when false.
pub const CREATING: &str = "Creating";
/// Reason of [`DELETING`]: the external authentication is deleted first.
pub const WAITING_FOR_EXTERNAL_AUTH: &str = "WaitingForExternalAuth";
/// Reason of [`DELETING`]: node pools are deleted before their cluster.
pub const WAITING_FOR_NODE_POOLS: &str = "WaitingForNodePools";
/// Reason of [`DELETING`]: the control plane is deleted before its infrastructure.
pub const WAITING_FOR_DELETED_CONTROL_PLANE: &str = "WaitingForControlPlane";
/// Reason of [`DELETING`]: Azure is deleting the resources.
pub const WAITING_FOR_RESOURCES: &str = "WaitingForResources";

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
/// Reason of [`NODE_POOL_READY`]: the spec has no HcpOpenShiftClustersNodePool, or more than one, or one that Azure would
/// reject.
pub const NODE_POOL_INVALID: &str = "InvalidNodePool";
/// Reason of [`NODE_POOL_READY`]: the HCP cluster is not ready yet.
pub const WAITING_FOR_HCP_CLUSTER: &str = "WaitingForHcpCluster";
/// AROMachinePool: the same, under the name other tools read.
pub const ARO_MACHINE_POOL_READY: &str = "AROMachinePoolReady";
/// AROMachinePool: the last reconciliation had no error, and the node pool does not wait to be created.
pub const AGENT_POOLS_READY: &str = "AgentPoolsReady";

/// Message: external authentication waits.
pub const EXTERNAL_AUTH_DEFERRED: &str =
    "ExternalAuth creation deferred until at least one node pool is ready";
/// Message: the endpoint is known, but not its port.
pub const WAITING_FOR_PORT: &str = "Waiting for the Control Plane port";
/// Message: no endpoint yet.
pub const WAITING_FOR_CONTROL_PLANE: &str = "Waiting for the Control Plane to get ready";
/// Message: the Cluster of an AROCluster has another kind of control plane.
pub const NO_ARO_CONTROL_PLANE: &str = "AROCluster cannot be used without AROControlPlane";
/// Message: the Cluster of an AROControlPlane has another kind of infrastructure.
pub const NO_ARO_CLUSTER: &str = "AROControlPlane cannot be used without AROCluster";
/// Message of [`HCP_CLUSTER_READY`] when true.
pub const HCP_CLUSTER_OPERATIONAL: &str = "HCP cluster is fully operational";
/// Message of [`EXTERNAL_AUTH_READY`] when true.
pub const EXTERNAL_AUTH_CONFIGURED: &str = "External authentication configured successfully";
/// Message of [`HCP_CLUSTER_READY`]: the spec has no HcpOpenShiftCluster.
pub const NO_HCP_CLUSTER: &str =
    "no redhatopenshift.azure.com HcpOpenShiftCluster defined in AROControlPlane spec.resources";
/// Message of [`HCP_CLUSTER_READY`] while the role assignments settle.
pub const SETTLING: &str = "Waiting for role assignments to reach all of Azure";
/// Message: the node pool does not exist yet.
pub const NODE_POOL_MISSING: &str = "HcpOpenShiftClustersNodePool resource not found";
/// Message of [`NODE_POOL_READY`] when ASO has not reported anything.
pub const NODE_POOL_DEFAULT: &str = "HcpOpenShiftClustersNodePool is not yet ready";
/// Message of [`ARO_MACHINE_POOL_READY`] when ASO has not reported anything.
pub const ARO_MACHINE_POOL_DEFAULT: &str = "ARO machine pool is not yet ready";
/// Message of [`NODE_POOL_READY`]: the spec has no node pool.
pub const NO_NODE_POOL: &str = "no redhatopenshift.azure.com HcpOpenShiftClustersNodePool defined in AROMachinePool spec.resources";

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
/// Reason of an event: an embedded resource names another namespace than its owner's, and is applied in the owner's.
pub const NAMESPACE_IGNORED: &str = "NamespaceIgnored";
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
/// Reason: an embedded resource cannot be written now; it is tried again.
pub const APPLY_FAILED: &str = "ApplyFailed";

/// Reason: a resource is to be deleted, and Azure refuses that, or Azure Service Operator cannot ask for it; it is tried
/// again.
pub const DELETION_FAILED: &str = "DeletionFailed";

/// What to do when Azure refuses to delete the last node pool of a cluster.
pub const LAST_NODE_POOL_HELP: &str =
    "add another node pool first, or delete the Cluster: Azure deletes its node pools with it";

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
/// Message: a resource left the list, and something that lives stands on it.
pub const KEPT_WHILE_NEEDED: &str = "No longer listed, but kept: a control plane, node pool or resource that still exists depends on it. It is deleted after that";
/// Message: a resource is not in the list, and its managed fields do not show that it ever was.
pub const NOT_APPLIED: &str = "Not listed, and kept: it names this object as its controller, but was not applied from its list, \
     so it may be a copy or restored from a backup. Delete it with kubectl if it is not needed";
/// Message: an embedded resource has no kind; the words of CAPZ's webhook.
pub const NO_KIND: &str = "resource must have kind";
/// Message: an embedded resource has no name; the words of CAPZ's webhook.
pub const NO_NAME: &str = "resource must have metadata.name";
/// Message: a resource left the list while its owner is paused.
pub const KEPT_WHILE_PAUSED: &str = "No longer listed; it is deleted after the pause";

/// Message of [`NODE_POOL_READY`]: the cluster has no control plane.
#[must_use]
pub fn no_control_plane(cluster: &str) -> String {
    format!("Waiting for the AROControlPlane of Cluster {cluster}, which does not exist")
}

/// Message of [`NODE_POOL_READY`] while the HCP cluster is not ready, and why it is not.
#[must_use]
pub fn hcp_cluster_awaited(control_plane: &str, why: &str) -> String {
    match why {
        "" => format!("Waiting for the HCP cluster of AROControlPlane {control_plane}"),
        why => format!("Waiting for the HCP cluster of AROControlPlane {control_plane}: {why}"),
    }
}

/// Message of [`EXTERNAL_AUTH_READY`]: the cluster has others, and may have one.
#[must_use]
pub fn one_external_auth(others: &[&str]) -> String {
    format!(
        "a cluster has one external authentication, and this one has {}: a new one is created once that is deleted",
        others.join(", ")
    )
}

/// Message of [`AGENT_POOLS_READY`]: something else scales the pool.
#[must_use]
pub fn replicas_managed_by_another(manager: &str, pool: &str) -> String {
    format!(
        "failed to enable autoscaling, replicas are already being managed by {manager} according to MachinePool {pool}'s {REPLICAS_MANAGED_BY} annotation"
    )
}

/// Message: the workload cluster cannot be reached.
#[must_use]
pub fn nodes_unknown(why: &str) -> String {
    format!("the nodes are those that were known last: {why}")
}

/// Message of a value that a person set, and that only the controller may set.
#[must_use]
pub fn incompatible(path: &str, set: &str, must: &str, reason: &str) -> String {
    format!(
        "incompatible value: value at {path} set by user to {set} but CAPZ must set it to {must} {reason}. The user-defined value must not be defined, or must match CAPZ's desired value."
    )
}

/// Reasons of a false condition after which only a change by a person helps.
const TERMINAL: &[&str] = &[
    INVALID_RESOURCE,
    DUPLICATE_RESOURCE,
    INCOMPATIBLE_VALUE,
    UNSUPPORTED_CONTROL_PLANE,
    UNSUPPORTED_INFRASTRUCTURE,
    ACTIVE_KEY_MISSING,
    KEY_VERSION_MISSING,
    VAULT_NAME_MISSING,
    KEY_NAME_MISSING,
    VAULT_NOT_DECLARED,
    HCP_CLUSTER_INVALID,
    NODE_POOL_INVALID,
    UNKNOWN_CLOUD,
];

/// Other reasons of a false condition that a person should know of.
const WORTH_A_LOOK: &[&str] = &[
    CLUSTER_NOT_FOUND,
    MACHINE_POOL_NOT_FOUND,
    WRITE_REFUSED,
    INVALID_ENDPOINT,
    NAMESPACE_NOT_ALLOWED_BY_IDENTITY,
    IDENTITY_NOT_FOUND,
    CREDENTIALS_REFUSED,
    CREDENTIALS_INVALID,
    CREDENTIALS_NOT_FOUND,
    CREDENTIAL_SECRET_FAILED,
    KEY_FAILED,
    KEY_ACCESS_DENIED,
    KEY_DELETED,
    KEY_UNUSABLE,
    VAULT_NETWORK_DENIED,
    VAULT_NOT_FOUND,
    VAULT_UNREACHABLE,
    KEY_MANAGEMENT_NOT_CONFIGURED,
    AWAITING_SECRET,
    KUBECONFIG_INVALID,
    KUBECONFIG_EXPIRING,
    KUBECONFIG_EXPIRED,
    FAILED,
];

/// Reasons of embedded resources, each of which has an event of its own.
const REPORTED: &[&str] = &[
    INVALID_RESOURCE,
    DUPLICATE_RESOURCE,
    NOT_OWNED,
    NOT_MANAGED,
    KIND_NOT_SERVED,
    APPLY_REFUSED,
    APPLY_FAILED,
];

/// Whether only a change by a person helps against a false condition: one of Capstan's own reasons, or a failure in
/// Azure that ASO does not retry, or retries in vain.
#[must_use]
pub fn is_terminal(reason: &str, message: &str) -> bool {
    TERMINAL.contains(&reason)
        || reason == aso::MULTIPLE_ERRORS_OCCURRED
        || message.starts_with("[Error] ")
        || message.contains(aso::IN_STATE_ERROR)
}

/// Whether a person should know of a false condition, and has not been told of the resource that it is about.
#[must_use]
pub fn needs_a_person(reason: &str, message: &str) -> bool {
    let is_retried = message.starts_with("[Warning] ") && !aso::WAITING.contains(&reason);
    let is_known = REPORTED.contains(&reason);
    !is_known && (is_terminal(reason, message) || is_retried || WORTH_A_LOOK.contains(&reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_azure_only_waits_for_needs_nobody() {
        let cases = [
            (
                WAITING_FOR_NODE_POOL,
                EXTERNAL_AUTH_DEFERRED,
                (false, false),
            ),
            ("WaitingForOwner", "[Warning] no owner", (false, false)),
            ("AuthorizationFailed", "[Warning] no right", (false, true)),
            ("InvalidRequestContent", "[Error] no", (true, true)),
            ("MultipleErrorsOccurred", "[Warning] 2", (true, true)),
            (KEY_VERSION_MISSING, KEY_VERSION_REQUIRED, (true, true)),
            (AWAITING_SECRET, "", (false, true)),
            ("Reconciling", "working", (false, false)),
        ];
        for (reason, message, expected) in cases {
            let found = (
                is_terminal(reason, message),
                needs_a_person(reason, message),
            );
            assert_eq!(found, expected, "{reason}: {message}");
        }
    }
}
