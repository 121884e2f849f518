//! Embedded resources, case by case: a world goes in, writes and entries come out.
//!
//! Most cases are those of facts/aro-controllers.md §9; tests named after a defect of §6, §8 or §10 hold what is done
//! instead.

#![allow(
    clippy::needless_pass_by_value,
    clippy::panic,
    reason = "cases are written in place"
)]

mod fixture;
mod handing;
mod lists;
mod pausing;
mod probing;
mod properties;
mod pruning;
mod recording;
mod reporting;
