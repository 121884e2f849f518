//! Where fleets stand, by what the cluster holds alone.
//!
//! In: what a survey [`Found`]. Out: a [`Scene`]: each object's [`Standing`], what it waits for in the
//! end and what usually helps, and the same summed up by cluster and fleet.
//!
//! ```text
//! Found ─► graph of live objects ─► Scene ─► chain (why) ─► overview (status)
//! ```
//!
//! It does not know: how anything was read, what is in git.

mod chain;
mod found;
mod overview;
mod phase;
mod scene;
#[cfg(test)]
mod tests;

pub use chain::Chain;
pub use found::{Found, Gap, Lack};
pub use overview::{ClusterView, FleetView, Stray};
pub use phase::{Phase, Standing};
pub use scene::Scene;
