//! Where effects live: each adapter speaks to one part of the world, and none of them knows another.

pub mod checks;
pub mod git;
