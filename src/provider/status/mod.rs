//! The status of an instance. Pure.
//!
//! In: a HostedCluster and its NodePools as the API server sent them, and the time. Out: one [`Status`] for reads and for events,
//! and when it may change without another look at the cluster. A field that is absent or of another type reads as empty. It
//! does not know git, other clusters, or who asks.
//!
//! [`Mapping::Strict`] is the proposal's table. [`Mapping::Tolerant`] is the table for what HyperShift does: while a cluster is
//! brought up its operator reports `Degraded` and `Progressing=False` of one that is well, and `Available` before the cluster
//! is whole. So it reads `status.version.history`, which the operator begins in the pass that writes the first conditions.
//!
//! Conditions about an older generation count, since they describe the cluster that runs; only a fault of the spec does not,
//! since the newer spec may have mended it. A paused cluster has the state that its conditions say. A pool that is being
//! deleted says nothing of the cluster.

mod nodes;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod tolerant;
mod verdict;

use jiff::Timestamp;
use serde_json::Value;

use crate::health::Live;
use crate::model::words::said;

pub use nodes::{NodeCount, Nodes, nodes};
pub use state::State;
use verdict::Verdict;

pub use crate::api::fleet::{StatusMapping as Mapping, StatusVocabulary as Vocabulary};

/// The beginning of a message that a NodePool gave.
const OF_POOL: &str = "NodePool: ";

/// The status of an instance, as answers and messages report it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its state.
    pub state: State,
    /// The reason in the words of the operator, on one line of at most 1,024 characters; empty if there is none.
    pub message: String,
}

/// A status, and how long it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// The status.
    pub status: Status,
    /// The time at which the same objects may have another status; `None` if that takes another object.
    pub again: Option<Timestamp>,
}

/// Returns the status of the instance that `cluster` is, with its `pools`. Without a cluster it is deleted.
///
/// The worst state is that of the whole. Of several objects that have it, the cluster gives the message, or else the first
/// pool by name that has one.
#[must_use]
pub fn assess(
    cluster: Option<&Value>,
    pools: &[&Value],
    mapping: Mapping,
    now: Timestamp,
) -> Assessment {
    let Some(cluster) = cluster.map(Live) else {
        return whole(Verdict::new(State::Deleted, ""), &[]);
    };
    let mut pools: Vec<Live<'_>> = pools.iter().map(|pool| Live(pool)).collect();
    pools.retain(|pool| !pool.is_deleting());
    pools.sort_by_key(|pool| pool.name());
    let pools = pools.into_iter();
    match mapping {
        Mapping::Strict => {
            let pools: Vec<_> = pools.filter_map(table::pool).collect();
            whole(table::cluster(cluster), &pools)
        }
        Mapping::Tolerant => {
            let rollout = tolerant::Rollout::of(cluster);
            let of_pool = |pool| tolerant::pool(pool, rollout, now);
            let pools: Vec<_> = pools.filter_map(of_pool).collect();
            whole(tolerant::cluster(cluster, rollout, now), &pools)
        }
    }
}

fn whole(cluster: Verdict<'_>, pools: &[Verdict<'_>]) -> Assessment {
    let all = || pools.iter().chain([&cluster]);
    let worst = all().map(|one| one.state).max();
    let state = worst.unwrap_or(cluster.state);
    let is_told = cluster.state == state && !cluster.message.is_empty();
    let message = if is_told {
        said(cluster.message)
    } else {
        let mut worst = pools.iter().filter(|pool| pool.state == state);
        let told = worst.find(|pool| !pool.message.is_empty());
        told.map_or_else(String::new, |pool| {
            format!("{OF_POOL}{}", said(pool.message))
        })
    };
    Assessment {
        status: Status { state, message },
        again: all().filter_map(|one| one.again).min(),
    }
}
