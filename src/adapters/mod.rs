//! Where effects happen. No adapter imports another; the daemon routes between them.

pub mod kubernetes;
