//! The runner against the in-process API, on a paused clock.

mod faults;
mod marks;
mod order;
mod stage;
mod time;
mod traffic;
