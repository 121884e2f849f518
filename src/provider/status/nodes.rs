//! The nodes of a cluster, counted.
//!
//! In: a HostedCluster and its NodePools. Out: how many nodes there are to be, and how many are ready. Numbers that cannot be
//! are zero. It does not know single nodes.

use serde_json::Value;

use super::table::{AVAILABLE, Answer, answer};
use crate::health::Live;

/// The nodes of a control plane, unless a cluster is to have one only.
const REPLICATED: u32 = 3;

/// Nodes of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCount {
    /// So many are ready.
    pub ready: u32,
    /// So many there are to be.
    pub total: u32,
}

/// The nodes of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// The replicas of the control plane: all are ready while it is available, and none otherwise.
    pub control_plane: NodeCount,
    /// The nodes of all pools.
    pub worker: NodeCount,
}

/// Returns the nodes of `cluster` and of its `pools`. The control plane has `requested` replicas if a request said so, else as
/// many as its availability policy means.
#[must_use]
pub fn nodes(cluster: &Value, pools: &[&Value], requested: Option<u32>) -> Nodes {
    let cluster = Live(cluster);
    let total = requested.unwrap_or_else(|| replicas(cluster));
    let is_available = answer(cluster, AVAILABLE) == Answer::True;
    Nodes {
        control_plane: NodeCount {
            ready: if is_available { total } else { 0 },
            total,
        },
        worker: pools.iter().fold(NodeCount::default(), |sum, pool| {
            let pool = Live(pool);
            NodeCount {
                ready: sum.ready.saturating_add(ready(pool)),
                total: sum.total.saturating_add(wanted(pool)),
            }
        }),
    }
}

fn replicas(cluster: Live<'_>) -> u32 {
    if cluster.text(&["spec", "controllerAvailabilityPolicy"]) == "SingleReplica" {
        1
    } else {
        REPLICATED
    }
}

/// The nodes that a pool is to have; with an autoscaler the least number, or those it made of that.
fn wanted(pool: Live<'_>) -> u32 {
    match pool.number(&["spec", "replicas"]) {
        Some(fixed) => number(fixed),
        None => {
            let least = pool.number(&["spec", "autoScaling", "min"]);
            least.map_or(0, |least| number(least).max(ready(pool)))
        }
    }
}

/// The nodes of a pool that are available.
fn ready(pool: Live<'_>) -> u32 {
    if let Some(available) = pool.number(&["status", "replicas"]) {
        return number(available);
    }
    let versions = pool.list(&["status", "nodesInfo", "nodeVersions"]);
    let counts = versions
        .iter()
        .map(|of| Live(of).count(&["readyNodeCount"]));
    counts.map(number).fold(0, u32::saturating_add)
}

fn number(count: i64) -> u32 {
    u32::try_from(count.max(0)).unwrap_or(u32::MAX)
}
