//! Where effects live: each adapter speaks to one part of the world, and none of them knows another.
//! The daemon routes between them.

pub mod admission;
pub mod azure;
pub mod azure_sim;
pub mod checks;
pub mod git;
pub mod http;
pub mod kubernetes;
pub mod service_provider;
