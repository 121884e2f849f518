//! Checks from findings and progress. Pure.

mod candidate;
mod changes;
mod differences;
mod followed;
mod parts;
#[cfg(test)]
mod tests;

pub(super) use candidate::{broken_plan, conflicts, plan};
pub(super) use followed::{
    emptied, paused, progress, refused, stuck, superseded, suspended, unreadable,
};
pub(super) use parts::{plan_context, sync_context};
