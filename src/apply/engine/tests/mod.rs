//! The engine without any server: its rules one by one, and what befalls it in any order.

#![allow(clippy::unwrap_used)]

mod cluster;
mod fixture;
mod new_kinds;
mod orders;
mod others;
mod random;
mod recorded;
mod removals;
mod renames;
mod rules;
