//! The world in one process: a Kubernetes API server in memory, and the controllers around it.
//!
//! It is for tests, rehearsals and the embedded cluster, and never on the production path.

pub mod actors;
pub mod api;
pub mod clock;
pub mod crds;
