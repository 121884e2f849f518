//! The runtime that controllers run on: watches, decides, writes.

mod error;
pub(crate) mod runtime;
mod schedule;
pub(crate) mod watches;
pub(crate) mod writer;
