//! How far a fleet has come, for people: counts, what is being worked on, how long it will take.
//!
//! In: one [`Progress`] for each object that reaches a state. Out: a [`Summary`] of the fleet and of each
//! cluster. It does not know: who shows them.

mod state;
mod summary;
mod tracker;

#[cfg(test)]
mod tests;

pub use state::{Progress, State};
pub use summary::{ClusterSummary, Summary};
pub use tracker::Tracker;
