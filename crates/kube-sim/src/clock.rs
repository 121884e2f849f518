//! The server's time, and simulated time: an epoch, and tokio's clock made faster.
//!
//! In: the epoch, and a speed. Out: a [`Clock`]. On a paused runtime tokio's clock jumps to the next
//! timer whenever nothing else is left to do, so hours pass in no time and always the same way. It
//! does not know who waits for what.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells the time, which may run faster than outside.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// How long to sleep outside for `duration` to pass on this clock.
    fn real(&self, duration: Duration) -> Duration;
}

/// A clock that shows `epoch` when it is made and runs `speed` times as fast as tokio's.
#[derive(Clone, Copy, Debug)]
pub struct SimClock {
    epoch: Timestamp,
    start: Instant,
    speed: u32,
}

impl SimClock {
    /// A clock that shows `epoch` now. A speed of zero counts as one.
    #[must_use]
    pub fn new(epoch: Timestamp, speed: u32) -> Self {
        Self {
            epoch,
            start: Instant::now(),
            speed: speed.max(1),
        }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let elapsed = self.start.elapsed().saturating_mul(self.speed);
        let elapsed = SignedDuration::try_from(elapsed).unwrap_or(SignedDuration::MAX);
        self.epoch.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    fn real(&self, duration: Duration) -> Duration {
        duration / self.speed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_hour_passes_when_everybody_sleeps() {
        let epoch: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        for speed in [1, 60] {
            let clock = SimClock::new(epoch, speed);
            let hour = Duration::from_secs(3600);
            tokio::time::sleep(clock.real(hour)).await;
            assert_eq!(
                clock.now(),
                "2026-01-01T01:00:00Z".parse::<Timestamp>().unwrap()
            );
        }
    }
}
