//! The reasons of conditions and events, each once: what it means, and what follows from it.
//!
//! In: nothing. Out: a constant for each reason, and the rows that events, readiness, `failureMessage`, help and
//! `docs/controllers.md` are read from. It does not know when a reason is given.

use super::{
    AGENT_POOLS_READY, DELETING, ENCRYPTION_KEY_READY, EXTERNAL_AUTH_READY, HCP_CLUSTER_READY,
    IDENTITY_READY, KUBECONFIG_READY, NETWORK_INFRASTRUCTURE_READY, NODE_POOL_READY, PAUSED,
    PER_KIND, READY, RESOURCES_READY,
};

/// A reason.
#[derive(Debug)]
pub struct Reason {
    /// The reason as conditions and events give it.
    pub name: &'static str,
    /// A sentence that says when it is given.
    pub meaning: &'static str,
    /// The types of the conditions that give it, besides summaries; empty if any may, or if only an event does.
    pub conditions: &'static [&'static str],
    /// The event that it leads to.
    pub event: Event,
    /// The failure that it is.
    pub failure: Failure,
    /// What usually helps; empty where the message says it, or nothing is wrong.
    pub help: &'static str,
}

/// The event that the reason of a false condition leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// None, unless the message shows a failure in Azure.
    Silent,
    /// A warning when the condition changes.
    OnChange,
    /// One of its own, so none when the condition changes.
    Separate,
}

/// The failure that the reason of a false condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// None, unless the message shows a failure in Azure.
    No,
    /// One that is tried again: it may end when a person changes another object, Azure or the network.
    Retried,
    /// The same, if the condition is about the newest spec.
    RetriedIfCurrent,
    /// One that only a change of the spec ends.
    Terminal,
}

/// The conditions of a reason that any may give.
const ANY: &[&str] = &[];

/// The conditions of an AROControlPlane for the kinds among its resources, apart from the HCP cluster.
const OF_KINDS: [&str; PER_KIND.len() - 1] = {
    let mut names = [""; PER_KIND.len() - 1];
    let mut at = 0;
    while at < names.len() {
        names[at] = PER_KIND[at].1;
        at += 1;
    }
    names
};

/// Declares a constant and a row for each reason, so that there is none without a row. The comment above it is the
/// meaning.
macro_rules! reasons {
    ($($(#[doc = $meaning:literal])+ $id:ident = $name:literal, $conditions:expr, $event:ident, $failure:ident $(, $help:expr)?;)+) => {
        $($(#[doc = $meaning])+ pub const $id: &str = $name;)+

        /// Every reason, in the order of the documentation.
        pub const REASONS: &[Reason] = &[$(Reason {
            name: $name,
            meaning: concat!($($meaning),+).trim_ascii(),
            conditions: $conditions,
            event: Event::$event,
            failure: Failure::$failure,
            help: concat!($($help)?),
        }),+];
    };
}

/// The row of a reason.
#[must_use]
pub fn find(name: &str) -> Option<&'static Reason> {
    REASONS.iter().find(|reason| reason.name == name)
}

/// The reasons for which a condition of this type is a failure of this sort.
#[must_use]
pub fn failing(condition: &str, failure: Failure) -> Vec<&'static str> {
    let of = |reason: &&Reason| reason.conditions.contains(&condition);
    let rows = REASONS.iter().filter(of);
    let rows = rows.filter(|reason| reason.failure == failure);
    rows.map(|reason| reason.name).collect()
}

reasons! {
    // Any kind.
    /// It is in the requested state.
    SUCCEEDED = "Succeeded", ANY, Silent, No;
    /// It is not in the requested state, and no part of it says why.
    PROVISIONING = "Provisioning", ANY, Silent, No;
    /// A resource is refused or has failed; the message says which and why.
    FAILED = "Failed", &[RESOURCES_READY, HCP_CLUSTER_READY, EXTERNAL_AUTH_READY, NODE_POOL_READY, AGENT_POOLS_READY], OnChange, RetriedIfCurrent;
    /// The cluster refuses a write to the object itself, so nothing is done for it.
    WRITE_REFUSED = "WriteRefused", &[READY], OnChange, Retried,
        "grant the right that the message names, or remove what refuses the write: a policy, or a webhook configuration whose service does not exist";
    /// A kind that the object needs may not be watched, so nothing is done for it.
    KIND_NOT_READABLE = "KindNotReadable", &[READY], Separate, Retried;
    /// The Cluster that the object belongs to does not exist.
    CLUSTER_NOT_FOUND = "ClusterNotFound", &[READY], OnChange, No;
    /// The MachinePool that owns the object does not exist.
    MACHINE_POOL_NOT_FOUND = "MachinePoolNotFound", &[READY], OnChange, No;
    /// Cluster API has not set a Cluster as the owner yet.
    WAITING_FOR_OWNER_CLUSTER = "WaitingForCluster", &[READY], Silent, No,
        "usually nothing to do: Cluster API does so within seconds; if it persists, check that the object has the name that the Cluster gives it, and that Cluster API's core controllers run (Deployment capi-controller-manager in capi-system)";
    /// Cluster API has not set a MachinePool as the owner yet.
    WAITING_FOR_OWNER_MACHINE_POOL = "WaitingForMachinePool", &[READY], Silent, No,
        "usually nothing to do: Cluster API does so within seconds; if it persists, check that its core controllers run (Deployment capi-controller-manager in capi-system), with their feature gate MachinePool on";
    /// Cluster or object is paused.
    IS_PAUSED = "Paused", &[PAUSED], Silent, No;
    /// The object is being deleted.
    IS_DELETED = "Deleting", &[READY], Silent, No;
    /// It was paused, and is not any more.
    NOT_PAUSED = "NotPaused", &[PAUSED], Silent, No;
    /// The spec sets a field to another value than the one that the controller must set, such as a version of a key
    /// that is neither in use nor the newest.
    INCOMPATIBLE_VALUE = "IncompatibleValue", &[ENCRYPTION_KEY_READY, HCP_CLUSTER_READY, NODE_POOL_READY], OnChange, Terminal,
        "remove the value, so that the controller sets it, or set it to the one in the message";

    // Embedded resources.
    /// An embedded resource cannot be applied as it is written, or the API server finds a value in it invalid.
    INVALID_RESOURCE = "InvalidResource", &[RESOURCES_READY, HCP_CLUSTER_READY, NODE_POOL_READY], Separate, Terminal;
    /// Two embedded resources are the same object.
    DUPLICATE_RESOURCE = "DuplicateResource", &[RESOURCES_READY, HCP_CLUSTER_READY], Separate, Terminal;
    /// An embedded resource already exists in the cluster and is somebody else's.
    NOT_OWNED = "ResourceNotOwned", &[RESOURCES_READY, HCP_CLUSTER_READY], Separate, Retried;
    /// An embedded resource exists in Azure and is not the cluster's, or somebody made Azure Service Operator skip it.
    NOT_MANAGED = "ResourceNotManaged", &[RESOURCES_READY, HCP_CLUSTER_READY], Separate, Retried;
    /// The cluster does not serve the kind of an embedded resource.
    KIND_NOT_SERVED = "KindNotServed", &[RESOURCES_READY, HCP_CLUSTER_READY], Separate, Retried;
    /// The API server refuses an embedded resource, for another reason than an invalid value.
    APPLY_REFUSED = "ApplyRefused", &[RESOURCES_READY, HCP_CLUSTER_READY], Separate, Retried;
    /// An embedded resource cannot be written now; it is tried again.
    APPLY_FAILED = "ApplyFailed", &[RESOURCES_READY, HCP_CLUSTER_READY], Separate, No;
    /// An embedded resource names another namespace than its owner's, and is applied in the owner's.
    NAMESPACE_IGNORED = "NamespaceIgnored", ANY, Separate, No;

    /// A resource waits for a Secret or a resource that is missing, or has waited for another one for ten minutes; the message
    /// names both.
    WAITING_FOR_DEPENDENCY = "WaitingForDependency", &[RESOURCES_READY], OnChange, No,
        "create what the message names: a Secret, another resource, or the resource in Azure that the list only reads; if it is still being created, there is nothing to do";
    /// The MachinePool asks for another number of nodes than the node pool in the list, which decides.
    REPLICAS_NOT_USED = "ReplicasNotUsed", &[AGENT_POOLS_READY], Separate, No;

    // Deletion.
    /// Azure refuses to delete a resource, or Azure Service Operator cannot ask for it; it is tried again.
    DELETION_FAILED = "DeletionFailed", &[DELETING, RESOURCES_READY], Separate, No;
    /// The external authentication of the cluster is deleted first.
    WAITING_FOR_EXTERNAL_AUTH = "WaitingForExternalAuth", &[DELETING, EXTERNAL_AUTH_READY], Silent, No;
    /// Node pools are deleted before their cluster.
    WAITING_FOR_NODE_POOLS = "WaitingForNodePools", &[DELETING], Silent, No;
    /// The control plane is deleted before its infrastructure.
    WAITING_FOR_DELETED_CONTROL_PLANE = "WaitingForControlPlane", &[DELETING], Silent, No;
    /// Azure is deleting the resources.
    WAITING_FOR_RESOURCES = "WaitingForResources", &[DELETING], Silent, No;

    // AROCluster.
    /// Every embedded resource is ready.
    INFRASTRUCTURE_READY = "InfrastructureReady", &[RESOURCES_READY], Silent, No;
    /// Azure is working on the resources that the message counts.
    PROVISIONING_INFRASTRUCTURE = "ProvisioningInfrastructure", &[RESOURCES_READY], Silent, No;
    /// The control plane has no endpoint yet.
    EXTERNALLY_MANAGED_CONTROL_PLANE = "ExternallyManagedControlPlane", &[NETWORK_INFRASTRUCTURE_READY], Silent, No;
    /// The Cluster has another kind of control plane.
    UNSUPPORTED_CONTROL_PLANE = "UnsupportedControlPlane", &[NETWORK_INFRASTRUCTURE_READY], OnChange, Terminal;
    /// The URL of the API server cannot be read.
    INVALID_ENDPOINT = "InvalidEndpoint", &[NETWORK_INFRASTRUCTURE_READY], OnChange, Retried;

    // The identity of a cluster.
    /// Entra ID gave a token for the identity.
    CREDENTIALS_VALID = "CredentialsValid", &[IDENTITY_READY], Silent, No;
    /// Entra ID has not answered the request for a token yet.
    CHECKING_CREDENTIALS = "CheckingCredentials", &[IDENTITY_READY], Silent, No;
    /// Entra ID could not be asked.
    CREDENTIALS_UNCHECKED = "CredentialsUnchecked", &[IDENTITY_READY], Silent, No,
        "check that the daemon reaches Entra ID (network, proxy); for a managed identity, that it runs on a machine that has it";
    /// Entra ID gives no token for the credential, or the identity may not use its Secret.
    CREDENTIALS_REFUSED = "CredentialsRefused", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY, NODE_POOL_READY], OnChange, Retried,
        "correct the Secret of the AzureClusterIdentity, or its clientID and tenantID: Entra ID is asked again after each change, and every five minutes";
    /// The identity, its Secret or its certificate cannot be used.
    CREDENTIALS_INVALID = "CredentialsInvalid", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY, NODE_POOL_READY], OnChange, Retried,
        "correct what the message names in the AzureClusterIdentity, its Secret or its certificate";
    /// The Secret of the identity does not exist.
    CREDENTIALS_NOT_FOUND = "CredentialsNotFound", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY, NODE_POOL_READY], OnChange, Retried,
        "create the Secret that spec.clientSecret of the AzureClusterIdentity names, in the namespace of the identity";
    /// The Secret for Azure Service Operator could not be written.
    CREDENTIAL_SECRET_FAILED = "CredentialSecretFailed", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY, NODE_POOL_READY], OnChange, Retried,
        "the Secret for Azure Service Operator could not be written: correct what the message names";
    /// The identity does not allow the namespace of the cluster.
    NAMESPACE_NOT_ALLOWED_BY_IDENTITY = "NamespaceNotAllowedByIdentity", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY, NODE_POOL_READY], OnChange, Retried,
        "add the namespace to spec.allowedNamespaces of the AzureClusterIdentity, or use an identity that allows it";
    /// The AzureClusterIdentity does not exist.
    IDENTITY_NOT_FOUND = "IdentityNotFound", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY, NODE_POOL_READY, ENCRYPTION_KEY_READY], OnChange, Retried,
        "create the AzureClusterIdentity that identityRef names, or correct the name";
    /// The AzureClusterIdentity is in a namespace that `--watch-namespace` does not name.
    IDENTITY_NOT_WATCHED = "IdentityNotWatched", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY, NODE_POOL_READY, ENCRYPTION_KEY_READY], OnChange, Retried,
        "run the controllers with --watch-namespace for the namespace of the AzureClusterIdentity as well, or create one beside the cluster";
    /// `azureEnvironment` names no cloud of Azure.
    UNKNOWN_CLOUD = "UnknownCloud", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY, NODE_POOL_READY], OnChange, Terminal,
        "write AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud, or leave azureEnvironment out";
    /// AROCluster and AROControlPlane name different subscriptions.
    SUBSCRIPTIONS_DIFFER = "SubscriptionsDiffer", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY], OnChange, Terminal,
        "write the same subscriptionID on both, or leave it out of the AROCluster";
    /// It is not known yet whether the identity works.
    WAITING_FOR_IDENTITY = "WaitingForIdentity", &[IDENTITY_READY, NETWORK_INFRASTRUCTURE_READY, HCP_CLUSTER_READY, NODE_POOL_READY], Silent, No,
        "usually nothing to do: a token of Entra ID shows first that the identity works; if it persists, see the condition Ready of the AzureClusterIdentity";

    // AROControlPlane: the encryption key.
    /// The key exists, and the cluster uses it.
    KEY_READY = "KeyReady", &[ENCRYPTION_KEY_READY], Silent, No;
    /// The key has a newer version, which the cluster does not use.
    KEY_ROTATED = "KeyRotated", &[ENCRYPTION_KEY_READY], Silent, No;
    /// There is no `identityRef`: the key is managed by hand.
    MANUAL_KEY_MANAGEMENT = "ManualKeyManagement", &[ENCRYPTION_KEY_READY], Silent, No;
    /// The vault is not ready yet.
    WAITING_FOR_VAULT = "WaitingForVault", &[ENCRYPTION_KEY_READY], Silent, No,
        "check that the Vault is ready, and that kms.vaultName is its name in Azure";
    /// The key is being created, or the vault did not answer and is asked again.
    CREATING_KEY = "CreatingKey", &[ENCRYPTION_KEY_READY], Silent, No,
        "the identity in identityRef must exist, allow this namespace, and have the role Key Vault Crypto Officer on the vault";
    /// A RoleAssignment of Key Vault Crypto Officer is not ready yet, or the role assignments do not reach all of Azure
    /// yet.
    WAITING_FOR_ROLE_ASSIGNMENTS = "WaitingForRoleAssignments", &[ENCRYPTION_KEY_READY, HCP_CLUSTER_READY], Silent, No,
        "nothing to do: new role assignments take about two minutes to propagate in Azure";
    /// Neither `identityRef` nor a key: set `kms.activeKey`.
    ACTIVE_KEY_MISSING = "ActiveKeyMissing", &[ENCRYPTION_KEY_READY], OnChange, Terminal,
        "add an identityRef to the AROControlPlane or its definition, and Capstan creates the key; or create the key yourself and set its version in kms.activeKey.version, or in etcd.encryption.keyVersion of the definition";
    /// Neither `identityRef` nor the version of a key: set `kms.activeKey.version`.
    KEY_VERSION_MISSING = "KeyVersionMissing", &[ENCRYPTION_KEY_READY], OnChange, Terminal,
        "add an identityRef to the AROControlPlane or its definition, and Capstan creates the key; or create the key yourself and set its version in kms.activeKey.version, or in etcd.encryption.keyVersion of the definition";
    /// The spec names a key, but no vault.
    VAULT_NAME_MISSING = "VaultNameMissing", &[ENCRYPTION_KEY_READY], OnChange, Terminal,
        "add the Vault to spec.resources of the AROCluster, or let etcd.encryption.vault of a definition name one that exists";
    /// The spec names a vault, but no key.
    KEY_NAME_MISSING = "KeyNameMissing", &[ENCRYPTION_KEY_READY], OnChange, Terminal,
        "name the key in kms.activeKey.name of the HcpOpenShiftCluster, or in etcd.encryption.keyName of the definition: it is created if it does not exist";
    /// The vault is not among the resources of the AROCluster.
    VAULT_NOT_DECLARED = "VaultNotDeclared", &[ENCRYPTION_KEY_READY], OnChange, Terminal,
        "add the Vault to spec.resources of the AROCluster, or let etcd.encryption.vault of a definition name one that exists";
    /// The name of the vault does not resolve.
    VAULT_NOT_FOUND = "VaultNotFound", &[ENCRYPTION_KEY_READY], OnChange, Retried,
        "check that kms.vaultName is the name of the vault in Azure, and that this process resolves it; a vault with a private endpoint needs the zone privatelink.vaultcore.azure.net linked to the network that this process runs in";
    /// The identity lacks the role, or is of another tenant than the vault.
    KEY_ACCESS_DENIED = "KeyAccessDenied", &[ENCRYPTION_KEY_READY], OnChange, Retried,
        "assign the role in the message on the vault to the principal in it, in spec.resources of the AROCluster or with etcd.encryption.keyOfficerPrincipalID of a definition; a new assignment takes up to ten minutes";
    /// The firewall of the vault refuses this process, or the vault has private endpoints only.
    VAULT_NETWORK_DENIED = "VaultNetworkDenied", &[ENCRYPTION_KEY_READY], OnChange, Retried,
        "run Capstan where it reaches the private endpoint of the vault, or let the firewall of the vault admit its address";
    /// Nobody has answered at the address of the vault for three minutes: no route to its private endpoint, wrong DNS,
    /// a firewall.
    VAULT_UNREACHABLE = "VaultUnreachable", &[ENCRYPTION_KEY_READY], OnChange, Retried,
        "check the name of the vault, and that this process reaches port 443 of its public or private endpoint: the route, the zone privatelink.vaultcore.azure.net, firewalls and proxies";
    /// Somebody deleted the key, and it can be recovered.
    KEY_DELETED = "KeyDeleted", &[ENCRYPTION_KEY_READY], OnChange, Retried,
        "recover the key: az keyvault key recover --vault-name VAULT --name KEY; once purged, a new one is created";
    /// The newest version of the key is disabled, has expired, or is not RSA.
    KEY_UNUSABLE = "KeyUnusable", &[ENCRYPTION_KEY_READY], OnChange, Retried,
        "enable the newest version of the key in the vault, or create a new RSA version";
    /// Nothing here can create keys.
    KEY_MANAGEMENT_NOT_CONFIGURED = "KeyManagementNotConfigured", &[ENCRYPTION_KEY_READY], OnChange, Retried,
        "create the key yourself and set its version in etcd.encryption.keyVersion, without an identityRef";
    /// Any other error of the key that a retry does not fix, such as an identity that Entra ID refuses a token.
    KEY_FAILED = "KeyFailed", &[ENCRYPTION_KEY_READY], OnChange, Retried,
        "the identity in identityRef must allow this namespace, and get tokens for Key Vault: see its own condition Ready";

    // AROControlPlane: the HCP cluster.
    /// The HcpOpenShiftCluster does not exist yet.
    HCP_CLUSTER_NOT_FOUND = "HcpOpenShiftClusterNotFound", &[HCP_CLUSTER_READY], Silent, No;
    /// The spec has no HcpOpenShiftCluster, or more than one.
    HCP_CLUSTER_INVALID = "InvalidHcpOpenShiftCluster", &[HCP_CLUSTER_READY], OnChange, Terminal;
    /// The Cluster has another kind of infrastructure.
    UNSUPPORTED_INFRASTRUCTURE = "UnsupportedInfrastructure", &[HCP_CLUSTER_READY], OnChange, Terminal;
    /// The infrastructure is not ready yet.
    WAITING_FOR_INFRASTRUCTURE = "WaitingForInfrastructure", &[HCP_CLUSTER_READY], Silent, No;
    /// The encryption key is not there yet.
    WAITING_FOR_ENCRYPTION_KEY = "WaitingForEncryptionKey", &[HCP_CLUSTER_READY], Silent, No;
    /// Resources of a kind are not ready yet; the message names them.
    CREATING = "Creating", &OF_KINDS, Silent, No;

    // AROControlPlane: the kubeconfig and external authentication.
    /// Azure Service Operator has not written the kubeconfig yet.
    KUBECONFIG_AWAITED = "KubeconfigAwaited", &[KUBECONFIG_READY], Silent, No,
        "usually nothing to do: Azure Service Operator writes the kubeconfig within five minutes after the cluster becomes ready";
    /// The Secret holds something else than a kubeconfig.
    KUBECONFIG_INVALID = "InvalidKubeconfig", &[KUBECONFIG_READY], OnChange, Retried,
        "delete the Secret in the message: Azure Service Operator writes it again when it reconciles the HcpOpenShiftCluster next, after an hour at most";
    /// The kubeconfig expires soon, and Azure Service Operator has not renewed it.
    KUBECONFIG_EXPIRING = "KubeconfigExpiring", &[KUBECONFIG_READY], OnChange, No;
    /// The kubeconfig expired, and Azure Service Operator has not renewed it.
    KUBECONFIG_EXPIRED = "KubeconfigExpired", &[KUBECONFIG_READY], OnChange, Retried,
        "check that Azure Service Operator runs and reconciles the HcpOpenShiftCluster, then pause and resume the Cluster: that renews the credential";
    /// No node pool is ready yet.
    WAITING_FOR_NODE_POOL = "WaitingForNodePool", &[EXTERNAL_AUTH_READY], Silent, No,
        "nothing to do: external authentication is created when a node pool is ready";
    /// A person has to create the Secret of the console's client. The cluster counts as ready without it.
    AWAITING_SECRET = "AwaitingSecret", &[EXTERNAL_AUTH_READY], OnChange, No,
        "create the Secret in the message with the client secret of the application: until then nobody can log in to the console with it";
    /// The external authentication does not exist yet.
    RESOURCE_NOT_FOUND = "ResourceNotFound", &[EXTERNAL_AUTH_READY], Silent, No;

    // AROMachinePool.
    /// The node pool is ready.
    POOL_READY = "NodePoolReady", &[READY], Silent, No;
    /// The node pool does not exist yet.
    NODE_POOL_NOT_FOUND = "NodePoolNotFound", &[NODE_POOL_READY], Silent, No;
    /// The spec has no HcpOpenShiftClustersNodePool, or more than one, or one that Azure would reject.
    NODE_POOL_INVALID = "InvalidNodePool", &[NODE_POOL_READY], OnChange, Terminal;
    /// The HCP cluster is not ready yet, or has another version.
    WAITING_FOR_HCP_CLUSTER = "WaitingForHcpCluster", &[NODE_POOL_READY], Silent, No;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_one_row() {
        for (at, reason) in REASONS.iter().enumerate() {
            let others = &REASONS[at + 1..];
            assert!(
                others.iter().all(|other| other.name != reason.name),
                "{reason:?}"
            );
        }
    }

    #[test]
    fn a_failure_is_an_event() {
        for reason in REASONS {
            let is_failure = reason.failure != Failure::No;
            assert!(!is_failure || reason.event != Event::Silent, "{reason:?}");
        }
    }
}
