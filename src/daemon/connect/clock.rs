//! The time outside.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::model::Clock;

/// The time now. The one reading of the system's clock: everything else counts from here.
#[must_use]
pub fn wall_time() -> Timestamp {
    Timestamp::now()
}

/// The clock of a real cluster: the time at the start plus what has passed since.
#[derive(Debug)]
pub struct WallClock {
    epoch: Timestamp,
    start: Instant,
}

impl WallClock {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        Self {
            epoch: wall_time(),
            start: Instant::now(),
        }
    }
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        self.epoch + self.start.elapsed()
    }

    fn real(&self, duration: Duration) -> Duration {
        duration
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_goes_as_the_time_outside_from_the_time_at_the_start() {
        let (before, clock, after) = (wall_time(), WallClock::start(), wall_time());
        let start = clock.now();
        assert!(before <= start && start <= after);
        let hour = Duration::from_secs(3600);
        tokio::time::sleep(clock.real(hour)).await;
        assert_eq!(clock.now(), start + hour);
    }
}
