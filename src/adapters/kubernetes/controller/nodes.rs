//! The nodes of workload clusters, watched while somebody needs them.
//!
//! In: Clusters, each with its kubeconfig. Out: the nodes of each, whenever they change. A new kubeconfig starts the watch
//! again. It does not know how a workload cluster is reached.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::stream::{AbortHandle, BoxStream, SelectAll, StreamExt as _, abortable};

use crate::model::{AdapterError, ObjectId, WorkloadNode, Workloads};

/// What was heard of a workload cluster.
pub(super) type Heard = (ObjectId, Result<Vec<WorkloadNode>, AdapterError>);

/// The watches of workload clusters.
pub(super) struct NodeWatches {
    workloads: Arc<dyn Workloads>,
    /// By Cluster: the kubeconfig it is watched with, and how to stop.
    running: BTreeMap<ObjectId, (Vec<u8>, AbortHandle)>,
    streams: SelectAll<BoxStream<'static, Heard>>,
}

impl NodeWatches {
    /// No watch yet.
    pub(super) fn new(workloads: Arc<dyn Workloads>) -> Self {
        Self {
            workloads,
            running: BTreeMap::new(),
            streams: SelectAll::new(),
        }
    }

    /// Watches the nodes of `cluster` with this kubeconfig, unless that is being done.
    pub(super) fn start(&mut self, cluster: &ObjectId, kubeconfig: Vec<u8>) {
        let same = |(known, _): &(Vec<u8>, _)| *known == kubeconfig;
        if self.running.get(cluster).is_some_and(same) {
            return;
        }
        self.stop(cluster);
        let id = cluster.clone();
        let nodes = self.workloads.nodes(cluster, &kubeconfig);
        let (nodes, handle) = abortable(nodes.map(move |nodes| (id.clone(), nodes)));
        self.streams.push(nodes.boxed());
        self.running.insert(cluster.clone(), (kubeconfig, handle));
    }

    /// Stops watching the nodes of `cluster`. Returns whether they were watched.
    pub(super) fn stop(&mut self, cluster: &ObjectId) -> bool {
        let running = self.running.remove(cluster);
        running.as_ref().inspect(|(_, handle)| handle.abort());
        running.is_some()
    }

    /// The next thing heard of any cluster.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        self.streams.next().await
    }
}
