//! Words of Cluster API, contract v1beta2: conditions, reasons, phases and finalizers.
//!
//! In: nothing. Out: constants. It does not know what anybody does about them.

/// Cluster: everything below it works.
pub const AVAILABLE: &str = "Available";
/// Cluster: the infrastructure object is provisioned.
pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
/// Cluster: the control plane answered once.
pub const CONTROL_PLANE_INITIALIZED: &str = "ControlPlaneInitialized";
/// Cluster: the control plane answers now.
pub const CONTROL_PLANE_AVAILABLE: &str = "ControlPlaneAvailable";
/// Cluster: the machine pools have their nodes.
pub const WORKERS_AVAILABLE: &str = "WorkersAvailable";
/// Cluster: it is being deleted.
pub const DELETING: &str = "Deleting";

/// The finalizer of a Cluster.
pub const CLUSTER_FINALIZER: &str = "cluster.cluster.x-k8s.io";
/// The finalizer of a MachinePool.
pub const MACHINE_POOL_FINALIZER: &str = "machinepool.cluster.x-k8s.io";
/// Pauses the controllers of one object.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// Keeps `clusterctl move` from taking an object before its controller let go.
pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
