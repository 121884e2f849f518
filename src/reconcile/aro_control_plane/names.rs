//! Names of a control plane and its parts.
//!
//! In: nothing, or the name of a Cluster. Out: names.

/// CAPZ's finalizer.
pub(super) const FINALIZER: &str = "arocontrolplanes/finalizer";
/// The kind of the cluster in Azure.
pub(super) const HCP: &str = "HcpOpenShiftCluster";
/// The kind of its external authentication.
pub(super) const EXTERNAL_AUTH: &str = "HcpOpenShiftClustersExternalAuth";
/// The kind of its node pools.
pub(super) const NODE_POOL: &str = "HcpOpenShiftClustersNodePool";

/// The name of the Secret with the kubeconfig, by Cluster API's contract.
pub(super) fn kubeconfig(cluster: &str) -> String {
    format!("{cluster}-kubeconfig")
}
