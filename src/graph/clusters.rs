//! Which vertices make up one cluster, and in which order sync applies the fleet.

use std::collections::{BTreeMap, BTreeSet};

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
        let mut open = vec![0_usize; self.vertices.len()];
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.vertices.len()];
        let top = |at: usize| matches!(self.vertices[at].place, Place::TopLevel(_));
        for edge in self
            .edges
            .iter()
            .filter(|edge| edge.executor == Executor::Sync && top(edge.to))
        {
            open[edge.from] += 1;
            users[edge.to].push(edge.from);
        }
        let mut free: BTreeSet<usize> = (0..open.len())
            .filter(|at| top(*at) && open[*at] == 0)
            .collect();
        let mut order = Vec::new();
        while let Some(at) = free.pop_first() {
            order.push(at);
            for &user in &users[at] {
                open[user] -= 1;
                if open[user] == 0 {
                    free.insert(user);
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
