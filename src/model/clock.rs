//! The only source of wall time in the program.

use std::time::Duration;

use jiff::Timestamp;

/// Tells the time, which may run faster than outside (a rehearsal, an embedded cluster). Rooms that
/// wait hold one and sleep for [`Clock::real`] of what they mean.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// How long to sleep outside for `duration` to pass on this clock.
    fn real(&self, duration: Duration) -> Duration;
}
