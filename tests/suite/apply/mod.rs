//! The runner against the in-process API, on a paused clock.

mod comparing;
mod faults;
mod marks;
mod order;
pub(crate) mod stage;
mod time;
mod traffic;
