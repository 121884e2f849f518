//! The port for workload clusters: the nodes of a cluster that a controller made.
//!
//! In: a cluster and its kubeconfig. Out: its nodes, whenever they change. The caller does not know how the
//! cluster is reached.

use futures::stream::BoxStream;

use super::{AdapterError, ObjectId};

/// A node of a workload cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkloadNode {
    /// Its name.
    pub name: String,
    /// The value of its label `hypershift.openshift.io/nodePool`.
    pub pool: String,
    /// Its `spec.providerID`; empty until it has one.
    pub provider_id: String,
    /// Whether its condition `Ready` is true.
    pub ready: bool,
}

/// Connects to workload clusters.
pub trait Workloads: Send + Sync {
    /// All nodes of the workload cluster of `cluster`, a Cluster of Cluster API, which `kubeconfig` reaches: at once, and
    /// again after every change. The stream does not end by itself: after an error it tries again.
    fn nodes(
        &self,
        cluster: &ObjectId,
        kubeconfig: &[u8],
    ) -> BoxStream<'static, Result<Vec<WorkloadNode>, AdapterError>>;
}
