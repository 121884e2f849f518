//! What is said of a revision, and whether it was written. Pure.
//!
//! In: checks, answers of those who write them, and the time. Out: what to write, and when to look again. It does not know who
//! writes, or which forge there is.

mod context;
mod desk;
mod findings_log;
mod fleet_status;
pub(crate) mod report;
mod throttle;
mod verdict;

pub(crate) use context::{is_plan, plan_context, sync_context};
pub(crate) use desk::{CheckDesk, Next, Now};
pub(crate) use findings_log::lines as finding_lines;
pub(crate) use fleet_status::{ObservedFleet, Stall, fleet_status, stalled};
pub(crate) use verdict::Verdict;
