//! Checks from findings and progress. Pure.

mod account;
mod asking;
mod base;
mod candidate;
mod changes;
mod comparison;
mod followed;
mod kept;
mod losses;
mod not_planned;
mod notes;
mod parts;
mod progress;
mod proposal;
#[cfg(test)]
mod tests;
mod unread;
mod waiting;

pub(crate) use asking::{ApprovalWays, Trailers, asked};
pub(crate) use base::Base;
pub(crate) use candidate::{ForkMerge, Merge, Told, broken_plan, conflicts, fork, plan, told};
pub(crate) use comparison::Comparison;
pub(crate) use followed::{
    AWAY, away, checked, checked_broken, checked_unreadable, emptied, paused, refused, stuck,
    superseded, suspended, unreadable,
};
pub(crate) use losses::{HeldObject, Holdings};
pub(crate) use not_planned::{NotPlanned, not_planned};
pub(crate) use notes::{Notes, noted};
pub(crate) use parts::Fault;
pub(crate) use progress::{progress, staying, unseen};
pub(crate) use proposal::Proposal;
pub(crate) use waiting::{left_behind, merged, planning, queued};
