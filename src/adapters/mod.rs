//! Everything that touches the world, one folder per outside system. No adapter names another.

pub mod sim;
