//! Labels, annotations and finalizers, Capstan's and others'.

/// The tool that manages an object; Capstan's value is [`MANAGED_BY_VALUE`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Capstan's value of [`MANAGED_BY`].
pub const MANAGED_BY_VALUE: &str = "capstan";
/// The Cluster API cluster of an object.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// The ApplySet of which an object is a member (KEP-3659).
pub const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// On the parent of an ApplySet: its ID.
pub const APPLY_SET_ID: &str = "applyset.kubernetes.io/id";
/// On the parent of an ApplySet: the tool that manages it, `name/version`.
pub const APPLY_SET_TOOLING: &str = "applyset.kubernetes.io/tooling";
/// On the parent of an ApplySet: the kinds of its members, `Kind.group`, sorted.
pub const APPLY_SET_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// On the parent of an ApplySet: the other namespaces of its members, sorted.
pub const APPLY_SET_NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
/// The file an object came from.
pub const SOURCE: &str = "capstan.dev/source";
/// The sha256 of the applied payload without this key.
pub const APPLIED: &str = "capstan.dev/applied";
/// What happens to the object when it is removed from the fleet.
pub const DELETION_POLICY: &str = "capstan.dev/deletion-policy";
/// On a HostedCluster: the range of the subnet to create for the addresses of its Private Link Service.
pub const NAT_SUBNET_RANGE: &str = "capstan.dev/nat-subnet-range";
/// On a HostedCluster: the AzureClusterIdentity for its Private Endpoint and DNS zones, `NAMESPACE/NAME`.
pub const LINK_IDENTITY: &str = "capstan.dev/private-link-identity";
/// On a HostedCluster: the Secret in its namespace with the credential of Azure Service Operator for the same.
pub const LINK_CREDENTIAL: &str = "capstan.dev/private-link-credential-from";
/// On the parent: the namespace and name of the Lease of the process that writes the fleet.
pub const LEASE: &str = "capstan.dev/lease";
/// On the parent of an ApplySet: since when no daemon serves the fleet any more, because its Fleet object left the one that did.
pub const UNSERVED: &str = "capstan.dev/unserved-since";
/// The finalizer of a Fleet whose objects are removed before it goes.
pub const FLEET_FINALIZER: &str = "capstan.dev/fleet";
/// On a Fleet: which of several daemons follows it.
pub const SHARD: &str = "capstan.dev/shard";
/// On the parent of an ApplySet: when the fleet was suspended; nothing is applied until it is gone.
pub const SUSPENDED: &str = "capstan.dev/suspended";
/// On the parent of an ApplySet: when somebody asked the daemon to look for commits at once.
pub const SYNC_REQUESTED: &str = "capstan.dev/sync-requested";
/// On a Fleet, or on the parent of an ApplySet: what a webhook asked of a process that does not follow the fleet, for the one that does.
pub const WEBHOOK_RECEIVED: &str = "capstan.dev/webhook-received";
/// On the parent of an ApplySet: losses that are approved of the revision that is applied, each as in a trailer, separated by
/// commas or lines. The daemon takes it off when it counts.
pub const APPROVE_ANNOTATION: &str = "capstan.dev/approve";
/// The trailer of a commit that approves a deletion: `delete <namespace>/<name>`.
pub const APPROVE: &str = "Capstan-Approve";
/// On a cluster that was made over the service provider's API, and on its definition: the ID of its instance.
pub const SERVICE_INSTANCE: &str = "dcm-instance-id";
/// On a definition or a HostedCluster: the request of the service provider's API that it was made of, in JSON.
pub const REQUEST: &str = "capstan.dev/request";
/// On the same: when the request came.
pub const REQUESTED_AT: &str = "capstan.dev/requested-at";
/// On the same: the version that was asked for.
pub const REQUESTED_VERSION: &str = "capstan.dev/requested-version";
/// On the same: the sha256 of the request's `Idempotency-Key`.
pub const REQUEST_KEY: &str = "capstan.dev/request-key";
/// Lets the fleet take over an existing object.
pub const ADOPT: &str = "capstan.dev/adopt";
/// The ApplySet that an object was released from; that set takes it back without adoption.
pub const ORPHANED_FROM: &str = "capstan.dev/orphaned-from";
/// Fields that are left to others once the object exists: JSON pointers, separated by commas.
pub const IGNORE: &str = "capstan.dev/ignore";
/// Lets an apply take over fields from other managers.
pub const FORCE_CONFLICTS: &str = "capstan.dev/force-conflicts";
/// Objects that come first, as in other tools: `group/namespaces/ns/Kind/name`, separated by commas.
pub const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
/// ASO: the Secret with the credential for one resource.
pub const CREDENTIAL_FROM: &str = "serviceoperator.azure.com/credential-from";
/// ASO: the Secret with the credential for the resources of a namespace.
pub const NAMESPACE_CREDENTIAL: &str = "aso-credential";
/// On a Secret: the other namespaces whose AzureClusterIdentities may use it, separated by commas; `*` for all.
pub const IDENTITY_NAMESPACES: &str = "capstan.dev/identity-namespaces";
/// On the Secret with a cluster's credential for ASO: what it was made of. It holds no secret.
pub const CREDENTIAL_VERSION: &str = "capstan.dev/credential-version";
/// On the same Secret: whose credential it is, in which cloud and for which subscription, in JSON. It holds no secret.
pub const CREDENTIAL_SOURCE: &str = "capstan.dev/credential-source";
/// The finalizer of the same Secret: resources are deleted in Azure with it.
pub const CREDENTIAL_FINALIZER: &str = "capstan.dev/credential";
/// clusterctl, on a definition: objects of the kind are looked at by `clusterctl move`.
pub const CLUSTERCTL: &str = "clusterctl.cluster.x-k8s.io";
/// clusterctl: the object moves with its namespace, and all that it owns.
pub const MOVE_HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";
/// clusterctl: the object moves with its namespace.
pub const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
/// ASO: manage, skip or detach-on-delete.
pub const RECONCILE_POLICY: &str = "serviceoperator.azure.com/reconcile-policy";
/// ASO: the ARM ID; if present, the resource exists in Azure.
pub const RESOURCE_ID: &str = "serviceoperator.azure.com/resource-id";
/// ASO's finalizer.
pub const ASO_FINALIZER: &str = "serviceoperator.azure.com/finalizer";
/// CAPI: on what belongs to a provider, which one it is.
pub const PROVIDER: &str = "cluster.x-k8s.io/provider";
/// CAPZ's value of [`PROVIDER`].
pub const INFRASTRUCTURE_AZURE: &str = "infrastructure-azure";
/// The finalizer of an AROCluster, CAPZ's and ours.
pub const ARO_CLUSTER_FINALIZER: &str = "arocluster/finalizer";
/// The finalizers of AROCluster, AROControlPlane and AROMachinePool, CAPZ's and ours.
pub const ARO_FINALIZERS: [&str; 3] = [
    ARO_CLUSTER_FINALIZER,
    "arocontrolplanes/finalizer",
    "aromachinepool/finalizer",
];
/// CAPI: who manages the replicas of a MachinePool.
pub const REPLICAS_MANAGED_BY: &str = "cluster.x-k8s.io/replicas-managed-by";
/// The ARO provider's value of [`REPLICAS_MANAGED_BY`], which its controller sets for a node pool with autoscaling.
pub const REPLICAS_MANAGED_BY_ARO: &str = "aro-hcp";

/// A [`RECONCILE_POLICY`]: ASO creates, updates and deletes. The default.
pub const MANAGE: &str = "manage";
/// A [`RECONCILE_POLICY`]: ASO only reads.
pub const SKIP: &str = "skip";
/// CAPZ: the kinds that an owner's embedded resources may have, `Kind.version.group;...`.
pub const OWNED_KINDS: &str = "sigs.k8s.io/cluster-api-provider-azure-owned-aso-kinds";
/// CAPZ: the [`RECONCILE_POLICY`] that a paused resource had before; empty if it had none.
pub const PRE_PAUSE_POLICY: &str =
    "sigs.k8s.io/cluster-api-provider-azure-pre-pause-reconcile-policy";
/// Lets the controllers manage a resource that exists in Azure and is not the cluster's: on an embedded resource, or on
/// the object that lists it.
pub const ADOPT_EXISTING: &str = "capstan.dev/adopt-existing";
/// On an embedded resource: a digest of what was applied, by which it is noticed that a field left the list.
pub const APPLIED_DIGEST: &str = "capstan.dev/applied-digest";
/// On an embedded resource: a digest of what we added to it as a field manager of our own.
pub const ADDED_DIGEST: &str = "capstan.dev/added-digest";
/// On an embedded resource that existed before: the [`RECONCILE_POLICY`] that somebody wrote by hand, and that stays.
pub const KEPT_POLICY: &str = "capstan.dev/kept-policy";
/// Azure: the value of the tag that [`ownership_tag`] names.
pub const OWNED: &str = "owned";

/// Azure: the tag of resources that belong to a cluster.
#[must_use]
pub fn ownership_tag(cluster: &str) -> String {
    format!("sigs.k8s.io_cluster-api-provider-azure_cluster_{cluster}")
}

/// On AROCluster, AROControlPlane and AROMachinePool: since when our controllers step back for CAPZ's, and why. They take it
/// off when they act.
pub const STEPPED_BACK: &str = "capstan.dev/stepped-back";
/// On AROCluster, AROControlPlane and AROMachinePool: the uid of their Cluster, which was seen being deleted.
pub const CLUSTER_DELETED: &str = "capstan.dev/cluster-deleted";
/// On one of them whose Cluster is gone: its own uid, by which a person lets it go and leaves its resources in Azure.
pub const KEEP_IN_AZURE: &str = "capstan.dev/keep-in-azure";
/// On one of them whose Cluster is gone: its own uid, by which a person has its resources deleted in Azure.
pub const DELETE_IN_AZURE: &str = "capstan.dev/delete-in-azure";

/// HyperShift, on a node of a workload cluster: its node pool.
pub const NODE_POOL: &str = "hypershift.openshift.io/nodePool";
/// CAPZ: when the kubeconfig of a cluster was last brought into Cluster API's form.
pub const KUBECONFIG_LAST_UPDATED: &str = "aro.azure.com/kubeconfig-last-updated";
/// CAPZ: `true` asks for the kubeconfig to be brought into Cluster API's form again.
pub const KUBECONFIG_REFRESH_NEEDED: &str = "aro.azure.com/kubeconfig-refresh-needed";
/// CAPZ: when the credential in a kubeconfig expires.
pub const TOKEN_EXPIRES_AT: &str = "aro.azure.com/token-expires-at";
/// On an AROControlPlane: the uid of its HcpOpenShiftCluster, which may be deleted and made again if it is in state
/// 'error'. It is good for this one only.
pub const RECREATE: &str = "capstan.dev/recreate";
