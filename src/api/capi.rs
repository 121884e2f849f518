//! Constants of Cluster API, contract v1beta2: conditions, reasons, phases and finalizers.
//!
//! In: nothing. Out: constants. It does not know how to react to any of them.

/// Cluster: everything in it is available.
pub const AVAILABLE: &str = "Available";
/// Cluster: the infrastructure object is provisioned.
pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
/// Cluster: the control plane has responded at least once.
pub const CONTROL_PLANE_INITIALIZED: &str = "ControlPlaneInitialized";
/// Cluster: the control plane responds.
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
/// Blocks `clusterctl move` until the object's controller has released it.
pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
