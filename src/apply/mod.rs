//! Applying a plan: what is known of the cluster, what may be done next, and how far it has come.
//!
//! In: a plan, and what happens in the cluster, as `Event`s. Out: `Command`s: requests to send, times to
//! wake up at, and [`Report`]s; a [`Tracker`] turns those into "31/54 ready, HCP cluster, about 9 min left".
//!
//! ```text
//! Event ─► Engine ─► Command
//!            ├ steps: where each step is         inventory: the members, and whether they drifted
//!            ├ removals: where each member is that leaves    kinds: what is watched
//!            └ parent: what the set's parent holds
//! ```
//!
//! It does not know: how a request is made, who reads the reports.

mod applied;
mod assignment;
mod backoff;
mod drift;
mod embedded;
mod engine;
mod event;
mod kinds;
mod late;
mod member;
mod members;
mod membership;
mod newest;
mod ownership;
mod parent;
mod parent_state;
mod progress;
mod prune;
mod reasons;
mod remains;
mod removals;
mod repairs;
mod report;
mod rights;
mod source_error;
mod steering;
mod steps;
mod takeover;
mod transfer;

pub use assignment::{ApprovalsAnswer, ApprovalsRequest, Assignment};
pub use drift::{Drift, DriftState, without};
pub use member::{Member, Owner};
pub use members::Members;
pub use membership::{is_applied, is_member, trim as trim_managed_fields};
pub use newest::Newest;
pub use ownership::{Claim, Foreign, claim, handover, release, yielded};
pub(crate) use parent::{APPLYING, APPROVALS, NEWEST, SOURCE_ERROR};
pub use parent::{CONTENT, NotOurs, Parent, whole_seconds};
pub use progress::{ClusterSummary, Progress, State, Summary, Tracker};
pub use prune::{
    DeletionGuard, LeftBehind, PruneDecision, PruneInput, Unapproved, prune, references,
};
pub use reasons::{Reason, Reasons};
pub use report::{Outcome, PruneStatus, Report, Suspension};
pub use source_error::SourceError;
pub use steering::Steering;
pub(crate) use takeover::hand_over;
pub(crate) use transfer::{MOVER, relabel, settle};

pub(crate) use applied::{AppliedRevision, AppliedState};
pub(crate) use backoff::backoff;
pub(crate) use embedded::{Embedded, Kind};
pub(crate) use engine::{Engine, Settings};
pub(crate) use event::{
    Applied, ApplyPrecondition, Command, Event, Failure, FailureCause, GroupKind, Interruption,
    Removal, RetryTarget, Warning, WatchEvent, WatchScope, What,
};
pub(crate) use remains::remains;
