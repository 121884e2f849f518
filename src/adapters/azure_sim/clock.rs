//! The simulator's clock as the program's clock.

use std::time::Duration;

use jiff::Timestamp;
use kube_sim::SimClock;

use crate::model::Clock;

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        kube_sim::Clock::now(self)
    }

    fn real(&self, duration: Duration) -> Duration {
        kube_sim::Clock::real(self, duration)
    }
}
