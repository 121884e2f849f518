//! Which vertices make up one cluster, and in which order sync applies the fleet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{Executor, Graph, Place, Vertex, references};
use crate::api::platform::{Platform, Role, is_root};
use crate::model::Needed;

/// The field in which a node pool names its cluster.
const CLUSTER_NAME: &str = "clusterName";

impl Graph {
    /// Finds the clusters. The edges are sorted.
    pub(super) fn find_clusters(&self) -> BTreeMap<usize, Vec<usize>> {
        let roots = self.vertices.iter().enumerate();
        let roots = roots.filter(|(_, vertex)| is_hosted(vertex));
        let mut clusters: BTreeMap<usize, BTreeSet<usize>> =
            roots.map(|(at, _)| (at, [at].into())).collect();
        for edge in &self.edges {
            let (from, to) = (&self.vertices[edge.from].id, &self.vertices[edge.to].id);
            let (Some(platform), Some(other)) = (Platform::of(from), Platform::of(to)) else {
                continue;
            };
            if !platform.is_ordered || platform != other {
                continue;
            }
            // A Cluster names its parts; another HostedCluster may only have to be ready before.
            if is_root(from) && platform.mirrors {
                clusters
                    .entry(edge.from)
                    .or_default()
                    .extend([edge.from, edge.to]);
            }
            if Role::of(from) == Some(Role::Pool) && is_root(to) && &*edge.why == CLUSTER_NAME {
                let members = clusters.entry(edge.to).or_default();
                members.extend([edge.from, edge.to]);
                members.extend(self.pool_parts(edge.from));
            }
        }
        let clusters = clusters.into_iter();
        let sorted = clusters.map(|(root, members)| (root, members.into_iter().collect()));
        sorted.collect()
    }

    /// The parts of the same cluster that a node pool names, such as the AROMachinePool of a MachinePool.
    fn pool_parts(&self, pool: usize) -> impl Iterator<Item = usize> {
        let named = self.needs(pool).map(|edge| edge.to);
        named.filter(|to| references::sync_rank(&self.vertices[*to].id).is_some())
    }

    /// The top-level vertices so that each stands behind what sync applies before it; otherwise in
    /// the order of the fleet. Those in a cycle are left out.
    #[must_use]
    pub fn apply_order(&self) -> Vec<usize> {
        let top = |at: usize| matches!(self.vertices[at].place, Place::TopLevel(_));
        let edges = self.edges.iter();
        let waits = edges.filter(|edge| edge.executor == Executor::Sync && top(edge.to));
        // The users of each vertex follow each other.
        let mut users: Vec<(usize, usize)> = waits.map(|edge| (edge.to, edge.from)).collect();
        users.sort_unstable();
        let mut open = vec![0_usize; self.vertices.len()];
        users.iter().for_each(|(_, user)| open[*user] += 1);
        let free = (0..open.len()).filter(|at| top(*at) && open[*at] == 0);
        let mut free: BinaryHeap<Reverse<usize>> = free.map(Reverse).collect();
        let mut order = Vec::new();
        while let Some(Reverse(at)) = free.pop() {
            order.push(at);
            let first = users.partition_point(|(vertex, _)| *vertex < at);
            let its = users[first..]
                .iter()
                .take_while(|(vertex, _)| *vertex == at);
            for (_, user) in its {
                open[*user] -= 1;
                if open[*user] == 0 {
                    free.push(Reverse(*user));
                }
            }
        }
        order
    }

    /// For each vertex, how many waits for readiness lie before its apply, one after the other: the wave of an engine
    /// that applies in waves and waits until each is healthy. What only needs another object to be there is in the
    /// wave of that object, since the parts of a cluster become ready together.
    #[must_use]
    pub fn waves(&self) -> Vec<usize> {
        let mut waves = vec![0; self.vertices.len()];
        for vertex in self.apply_order() {
            let top = |at: usize| matches!(self.vertices[at].place, Place::TopLevel(_));
            let waited = self
                .needs(vertex)
                .filter(|edge| edge.executor == Executor::Sync);
            let after = waited.filter(|edge| top(edge.to)).map(|edge| {
                let waits = usize::from(edge.until == Needed::Ready);
                waves[edge.to] + waits
            });
            waves[vertex] = after.max().unwrap_or(0);
        }
        waves
    }
}

/// Returns true for a cluster that has no other parts than its pools, and may have none.
fn is_hosted(vertex: &Vertex) -> bool {
    let platform = Platform::of(&vertex.id);
    let is_hosted = platform.is_some_and(|platform| platform.is_ordered && !platform.mirrors);
    is_hosted && is_root(&vertex.id) && matches!(vertex.place, Place::TopLevel(_))
}
