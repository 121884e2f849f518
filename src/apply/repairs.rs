//! How often an object was repaired, and when that is a fight (DESIGN §7).

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;

/// How many repairs within [`SPAN`] are not a fight yet.
const TOLERATED: usize = 5;
/// What is counted.
const SPAN: Duration = Duration::from_secs(600);
/// The first back-off; each further one is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_secs(60);

/// The repairs of one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repairs {
    times: VecDeque<Timestamp>,
    backoffs: u32,
}

impl Repairs {
    /// Asks when to repair it at `now`: at once, or, if another writer keeps changing it, after the
    /// returned time.
    pub(crate) fn note(&mut self, now: Timestamp) -> Option<Duration> {
        let old = |time: &Timestamp| {
            Duration::try_from(now.duration_since(*time)).unwrap_or_default() > SPAN
        };
        while self.times.front().is_some_and(old) {
            self.times.pop_front();
        }
        self.times.push_back(now);
        if self.times.len() <= TOLERATED {
            self.backoffs = 0;
            return None;
        }
        let backoff = FIRST_BACKOFF.saturating_mul(1 << self.backoffs.min(3));
        self.backoffs += 1;
        Some(backoff)
    }

    /// How often it was repaired lately.
    pub(crate) fn count(&self) -> usize {
        self.times.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_five_in_ten_minutes_are_a_fight_which_backs_off_longer_each_time() {
        let mut repairs = Repairs::default();
        let mut note = |second| {
            let now = Timestamp::from_second(second).expect("in range");
            repairs.note(now).map(|wait| wait.as_secs())
        };
        let waits: Vec<_> = (0..10).map(&mut note).collect();
        assert_eq!(waits[..5], [None; 5]);
        assert_eq!(waits[5..], [60, 120, 240, 480, 480].map(Some));
        assert_eq!(note(700), None, "ten quiet minutes end it");
    }
}
