//! Labels, annotations and finalizers, ours and others'.

/// Says who made an object; ours is [`MANAGED_BY_VALUE`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Our value of [`MANAGED_BY`].
pub const MANAGED_BY_VALUE: &str = "capstan";
/// Names the Cluster API cluster an object belongs to.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// Names the ApplySet an object is a member of (KEP-3659).
pub const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// On the parent of an ApplySet: its id.
pub const APPLY_SET_ID: &str = "applyset.kubernetes.io/id";
/// On the parent of an ApplySet: the tool that keeps it, `name/version`.
pub const APPLY_SET_TOOLING: &str = "applyset.kubernetes.io/tooling";
/// On the parent of an ApplySet: the kinds of its members, `Kind.group`, sorted.
pub const APPLY_SET_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// On the parent of an ApplySet: the namespaces of its members besides its own, sorted.
pub const APPLY_SET_NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
/// Names the file an object came from.
pub const SOURCE: &str = "capstan.dev/source";
/// The sha256 of the applied payload without this key.
pub const APPLIED: &str = "capstan.dev/applied";
/// What happens to the object when its file goes away.
pub const DELETION_POLICY: &str = "capstan.dev/deletion-policy";
/// The trailer of a commit that approves a deletion: `delete <namespace>/<name>`.
pub const APPROVE: &str = "Capstan-Approve";
/// Lets the fleet take over an object that is not its own.
pub const ADOPT: &str = "capstan.dev/adopt";
/// Names the ApplySet that an object was released from; that set takes it back without adoption.
pub const ORPHANED_FROM: &str = "capstan.dev/orphaned-from";
/// Fields that are left to others once the object is made: JSON pointers, comma-separated.
pub const IGNORE: &str = "capstan.dev/ignore";
/// Lets an apply take fields from other managers.
pub const FORCE_CONFLICTS: &str = "capstan.dev/force-conflicts";
/// Names objects that come first, as in other tools: `group/namespaces/ns/Kind/name`, comma-separated.
pub const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
/// ASO: the Secret that holds the credential for one resource.
pub const CREDENTIAL_FROM: &str = "serviceoperator.azure.com/credential-from";
/// ASO: manage, skip or detach-on-delete.
pub const RECONCILE_POLICY: &str = "serviceoperator.azure.com/reconcile-policy";
/// ASO: the ARM id; its presence says that the resource exists in Azure.
pub const RESOURCE_ID: &str = "serviceoperator.azure.com/resource-id";
/// ASO's finalizer.
pub const ASO_FINALIZER: &str = "serviceoperator.azure.com/finalizer";
/// CAPI: who sets the replicas of a MachinePool.
pub const REPLICAS_MANAGED_BY: &str = "cluster.x-k8s.io/replicas-managed-by";
