//! Where effects happen. No adapter imports another; the daemon routes between them.

pub mod kubernetes;
//! Where effects live: each adapter speaks to one part of the world, and none of them knows another.

pub mod git;
