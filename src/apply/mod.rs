//! Applying a plan: what is known of the cluster, what may be done next, and how far it has come.
//!
//! It does not know: how a request is made.

mod embedded;
mod execution;
mod member;
mod ownership;
mod parent;
mod progress;
mod prune;
mod repairs;
mod report;

pub use embedded::{Embedded, Kind};
pub use execution::Execution;
pub use member::{Drift, DriftState, Member, Owner, without};
pub use ownership::{Claim, Foreign, claim, handover, release, yielded};
pub use parent::{NotOurs, Parent};
pub use progress::{ClusterSummary, Progress, State, Summary, Tracker};
pub use prune::{DeletionGuard, PruneDecision, PruneInput, prune, references};
pub use repairs::Repairs;
pub use report::{PruneStatus, Report};
