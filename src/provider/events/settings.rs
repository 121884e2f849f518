//! The times and limits of publication.
//!
//! In: nothing. Out: durations and numbers, with defaults.

use std::time::Duration;

/// How long a failed delivery waits before it is tried again, at first; each time twice as long.
const RETRY: Duration = Duration::from_secs(1);
/// The longest such wait.
const MOST_RETRY: Duration = Duration::from_secs(60);

/// The times and limits of publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long the state of an instance is to last before it is published.
    pub debounce: Duration,
    /// How long a state is held back at most while it keeps changing.
    pub most_wait: Duration,
    /// How many messages are under way at a time; at least one is.
    pub in_flight: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            debounce: Duration::from_secs(1),
            most_wait: Duration::from_secs(10),
            in_flight: 64,
        }
    }
}

/// The wait after so many failures in a row, of which there is one at least.
pub(super) fn backoff(failures: u32) -> Duration {
    let factor = 1 << failures.saturating_sub(1).min(16);
    RETRY.saturating_mul(factor).min(MOST_RETRY)
}
