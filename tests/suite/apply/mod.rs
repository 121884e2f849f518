//! The runner against the in-process API, on a paused clock.

mod comparing;
mod faults;
pub(crate) mod fixture;
mod marks;
mod order;
mod time;
mod traffic;
