//! A Kubernetes API server in one process, for tests and rehearsals.
//!
//! [`Server`] is a tower service that `kube::Client::new` takes, and an axum router for a port. It
//! lives in memory, and the same requests always get the same answers.
//!
//! ```text
//! api ─► verdict ─► cel
//!  │        └─────► kube-schema
//!  └───► apply ───► typed ─► types
//! ```
//!
//! In: HTTP requests and a [`Clock`]. Out: what a real API server would answer. The crate does not
//! know the controllers that work on it, or any cloud.

mod api;
mod apply;
mod cel;
mod clock;
mod faults;
mod typed;
mod types;
mod verdict;

pub use api::Server;
pub use clock::{Clock, SimClock};

pub(crate) use apply::{Conflict, Refusal, apply, create, fits, update};
pub use faults::structural_faults;
pub(crate) use faults::unknown_formats;
pub(crate) use types::Types;
pub(crate) use verdict::{judge, judge_stranger};

/// The example in the README, compiled and run by `cargo test`.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
