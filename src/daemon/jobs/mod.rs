//! The commands of the follower, carried out: a function for each, and what they need.
//!
//! In: a command. Out: events. [`Source`] holds what is followed, in parts: its revisions, and what compiles them, plans
//! candidates, and collects approvals.

mod approvals;
mod attribution;
mod away;
mod commands;
mod comments;
mod commit_approvals;
mod compiler;
mod conditions;
mod earlier_checks;
mod examine;
pub(super) mod failure;
pub(super) mod fork;
mod fork_planner;
mod in_progress;
mod last_applied;
mod missing_rights;
mod origin;
mod planner;
mod press;
mod record_file;
mod recorded_approvals;
mod recreation;
mod revisions;
pub(super) mod runner;
mod signatures;
mod source;
mod startup_refs;

pub(super) use away::{WrittenChecks, report_absence};
pub(crate) use commit_approvals::in_checkout as approvals_in_checkout;
pub(super) use compiler::local_trees;
pub(super) use origin::Origin;
pub(super) use source::Source;
#[cfg(test)]
pub(super) use {attribution::Purpose, examine::examine, last_applied::LastApplied};
