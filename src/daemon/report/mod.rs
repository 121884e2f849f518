//! Checks from findings and progress. Pure.

mod asking;
mod base;
mod candidate;
mod changes;
mod differences;
mod followed;
mod leaving;
mod losses;
mod not_planned;
mod notes;
mod parts;
mod progress;
#[cfg(test)]
mod tests;
mod unread;
mod waiting;

pub(super) use crate::reporting::{plan_context, sync_context};
pub(super) use asking::asked;
pub(super) use base::Base;
pub(super) use candidate::{ForkMerge, Merge, broken_plan, conflicts, fork, plan};
pub(super) use followed::{emptied, paused, refused, stuck, superseded, suspended, unreadable};
pub(super) use losses::Holdings;
pub(super) use not_planned::{NotPlanned, not_planned};
pub(super) use notes::{Notes, noted};
pub(super) use progress::{progress, staying, unseen};
pub(super) use waiting::{left_behind, merged, planning, queued};
