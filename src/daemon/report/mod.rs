//! Checks from findings and progress. Pure.

mod base;
mod candidate;
mod changes;
mod differences;
mod followed;
mod notes;
mod parts;
mod progress;
#[cfg(test)]
mod tests;
mod unread;

pub(super) use base::BrokenBase;
pub(super) use candidate::{broken_plan, conflicts, plan};
pub(super) use followed::{emptied, paused, refused, stuck, superseded, suspended, unreadable};
pub(super) use notes::{Notes, noted};
pub(super) use parts::{plan_context, sync_context};
pub(super) use progress::progress;
