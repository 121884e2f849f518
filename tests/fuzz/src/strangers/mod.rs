//! What reads bytes of strangers: servers of git, whoever pushes, forges, API servers, and authors of kubeconfigs.
//!
//! The files are those of the program. Their modules are named again here, without what reaches the network.

pub mod checks;
pub mod git;
pub mod http;
pub mod kubernetes;
