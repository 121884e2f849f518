//! Losses: clusters and node pools that leave a fleet.
//!
//! In: objects. Out: the cluster or pool that each belongs to, and which of those that leave come back under another
//! name. It does not know what is approved, or what becomes of them.

mod cluster_part;
mod likeness;
mod pool;
mod unit;

pub use cluster_part::{ClusterPart, pools, units, units_of};
pub use likeness::{Likeness, renamed, renames};
pub use pool::Pool;
pub use unit::{Unit, cluster_of, within};
