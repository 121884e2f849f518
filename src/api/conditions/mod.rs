//! Condition types, reasons and messages of the kinds that our controllers write.
//!
//! The messages are CAPZ's, so that tools which read them keep
//! working.

mod keys;
mod reasons;

pub use keys::*;
pub use reasons::*;

use super::aso;
use super::labels::REPLICAS_MANAGED_BY;
use crate::model::ObjectId;

/// `status` of a true condition.
pub const TRUE: &str = "True";
/// `status` of a false condition.
pub const FALSE: &str = "False";
/// `status` of a condition that cannot be decided yet.
pub const UNKNOWN: &str = "Unknown";

/// The one condition of ASO resources, and the summary condition of many others.
pub const READY: &str = "Ready";

/// Message of [`READY`] while an object is being deleted.
pub const SEE_DELETING: &str = "The condition Deleting says what the deletion waits for";

/// Message of [`READY`] when another condition is the reason, which has the text.
#[must_use]
pub fn part_is_false(part: &str) -> String {
    format!("{part} is False")
}

/// Any kind: the parts of it that are gone, and what the deletion waits for.
pub const DELETING: &str = "Deleting";
/// The reasons of an object that Cluster API has not taken up yet.
pub const WITHOUT_OWNER: [&str; 2] = [WAITING_FOR_OWNER_CLUSTER, WAITING_FOR_OWNER_MACHINE_POOL];
/// Any kind of Cluster API: its controllers leave it alone.
pub const PAUSED: &str = "Paused";

/// The start of the reasons of what waits for another object.
pub const WAITING_FOR: &str = "WaitingFor";

/// AROCluster: all embedded resources are ready.
pub const RESOURCES_READY: &str = "ResourcesReady";
/// AROCluster: the API endpoint is known.
pub const NETWORK_INFRASTRUCTURE_READY: &str = "NetworkInfrastructureReady";
/// Message: the identity does not allow this namespace.
pub const NAMESPACE_NOT_ALLOWED: &str =
    "AzureClusterIdentity list of allowed namespaces doesn't include current cluster namespace";

/// Message of [`IDENTITY_READY`] while nobody names the identity.
pub const IDENTITY_AWAITED: &str = "Waiting for the AROControlPlane, which names the identity of the cluster; if this object has an identityRef, it does not wait";

/// Message of [`IDENTITY_READY`]: the AROCluster and the AROControlPlane of these names have these subscriptions.
#[must_use]
pub fn subscriptions_differ(names: (&str, &str), of: (&str, &str)) -> String {
    format!(
        "AROCluster {} has the subscriptionID {}, and AROControlPlane {} has {}: a cluster is in one subscription, so nothing is applied until they are the same",
        names.0, of.0, names.1, of.1
    )
}

/// Message of [`IDENTITY_READY`] when true, although the AROCluster names another identity than its control plane.
#[must_use]
pub fn identity_overridden(named: &ObjectId, plane: &str, used: &ObjectId) -> String {
    format!(
        "{named}, which identityRef names, is not used: AROControlPlane {plane} names {used}, which is that of the whole cluster"
    )
}

/// AROCluster, AROControlPlane: the Azure credential of the cluster works, and its namespace may use it.
pub const IDENTITY_READY: &str = "IdentityReady";

/// AROControlPlane: the ARO HCP cluster is ready.
pub const HCP_CLUSTER_READY: &str = "HcpClusterReady";
/// AROControlPlane: the kubeconfig is there in the form that Cluster API reads.
pub const KUBECONFIG_READY: &str = "KubeconfigReady";
/// AROControlPlane: external authentication is configured.
pub const EXTERNAL_AUTH_READY: &str = "ExternalAuthReady";

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

/// What to do when Azure refuses to delete the last node pool of a cluster.
pub const LAST_NODE_POOL_HELP: &str =
    "add another node pool first, or delete the Cluster: Azure deletes its node pools with it";

/// Message: the HCP cluster is ready.
pub const CLUSTER_PROVISIONED: &str = "Cluster is provisioned and ready";
/// Message: an embedded resource does not exist yet.
pub const WAITING_TO_BE_CREATED: &str = "Waiting to be created";
/// Message: ASO did not report on the newest spec of a resource yet.
pub const WAITING_FOR_ASO: &str = "Waiting for Azure Service Operator to reconcile it";
/// What to do about a resource that the list only reads, and that is not in Azure.
pub const SKIPPED_AND_MISSING: &str = "the annotation serviceoperator.azure.com/reconcile-policy: skip in spec.resources lets Azure Service Operator only read it, so create it in Azure, or remove the annotation";
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

/// The `replicas` that Cluster API gives a MachinePool that has none, so that nobody may have asked for it.
pub const DEFAULT_REPLICAS: i64 = 1;

/// Message of [`AGENT_POOLS_READY`] when true: a MachinePool has so many replicas, and the field at `path` says another number.
#[must_use]
pub fn replicas_not_used(pool: &str, asked: i64, path: &str, set: i64) -> String {
    let origin = match asked {
        DEFAULT_REPLICAS => ", the default of Cluster API,",
        _ => "",
    };
    format!(
        "MachinePool {pool} has replicas: {asked}{origin} but {path} is {set} and decides: change it there, or remove it so that the MachinePool decides"
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

/// Returns true if only a change by a person helps against a false condition: one of Capstan's own reasons, or a failure
/// in Azure that ASO does not retry, or retries in vain. What waits for another object repeats the failure of that one.
#[must_use]
pub fn is_terminal(reason: &str, message: &str) -> bool {
    let row = find(reason);
    if row.is_some() && reason.starts_with(WAITING_FOR) {
        return false;
    }
    row.is_some_and(|row| row.failure == Failure::Terminal)
        || reason == aso::MULTIPLE_ERRORS_OCCURRED
        || message.starts_with("[Error] ")
        || message.contains(aso::IN_STATE_ERROR)
}

/// Returns true if a person should know of a false condition, and no other event says it.
#[must_use]
pub fn needs_a_person(reason: &str, message: &str) -> bool {
    // Nobody but a person makes a Secret.
    let waits = aso::WAITING.contains(&reason) && reason != aso::SECRET_NOT_FOUND;
    let is_retried = message.starts_with("[Warning] ") && !waits;
    match find(reason).map_or(Event::Silent, |row| row.event) {
        Event::OnChange => true,
        Event::Separate => false,
        Event::Silent => is_retried || is_terminal(reason, message),
    }
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
            ("SecretNotFound", "[Warning] no Secret", (false, true)),
            ("InvalidRequestContent", "[Error] no", (true, true)),
            ("MultipleErrorsOccurred", "[Warning] 2", (true, true)),
            (KEY_VERSION_MISSING, KEY_VERSION_REQUIRED, (true, true)),
            (AWAITING_SECRET, "", (false, true)),
            (UNKNOWN_CLOUD, "", (true, true)),
            (KIND_NOT_READABLE, "add a rule", (false, false)),
            (
                WAITING_FOR_HCP_CLUSTER,
                "Waiting for the HCP cluster: [Error] it is in state 'error', can't update",
                (false, false),
            ),
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
