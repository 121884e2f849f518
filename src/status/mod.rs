//! The status of fleets, by what the cluster holds alone.
//!
//! In: what a survey [`Found`]. Out: a [`StatusGraph`]: each object's [`ObjectStatus`], what it ultimately waits
//! for and what usually helps, and the same for each cluster and fleet.
//!
//! ```text
//! Found ─► graph of live objects ─► StatusGraph ─► chain (why) ─► overview (status)
//! ```
//!
//! It does not know: how anything was read, what is in git.

mod chain;
mod fleet_object;
mod found;
mod graph;
mod heartbeat;
mod overview;
mod phase;
#[cfg(test)]
mod tests;

pub use chain::Chain;
pub use fleet_object::{FleetObjectState, ObjectSuspension};
pub use found::{Found, ReadError, ReadErrorReason};
pub use graph::StatusGraph;
pub use heartbeat::Heartbeat;
pub use overview::{ClusterView, FleetView, Stray};
pub use phase::{ObjectStatus, Phase};
