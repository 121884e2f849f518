//! The program's only source of wall time.

use std::time::Duration;

use jiff::Timestamp;

/// A clock, which may run faster than real time (a rehearsal, an embedded cluster). Modules that wait
/// hold one and sleep for the [`Clock::real`] duration.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// How long to sleep in real time for `duration` to pass on this clock.
    fn real(&self, duration: Duration) -> Duration;
}
