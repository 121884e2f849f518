//! What an AROMachinePool and the kinds around it are called.

/// The finalizer of an AROMachinePool, CAPZ's own.
pub(super) const FINALIZER: &str = "aromachinepool/finalizer";
/// The kind of the cluster in Azure.
pub(super) const HCP: &str = "HcpOpenShiftCluster";
/// The kind of its external authentication.
pub(super) const EXTERNAL_AUTH: &str = "HcpOpenShiftClustersExternalAuth";
/// The kind of its node pools.
pub(super) const NODE_POOL: &str = "HcpOpenShiftClustersNodePool";
