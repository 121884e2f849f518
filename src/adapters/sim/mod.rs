//! A Kubernetes API server in memory.
//!
//! It is for tests, rehearsals and the embedded cluster, and never on the production path.

pub mod api;
pub mod clock;
