//! The engine without any server: its rules one by one, and what befalls it in any order.

#![allow(clippy::unwrap_used)]

mod orders;
mod random;
mod rules;
mod stage;
