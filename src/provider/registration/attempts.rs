//! Attempts at something, one after the other.
//!
//! In: the time, and how attempts end. Out: when the next one begins. It does not know what is attempted.

use std::time::Duration;

/// The wait after the first failure, and the shortest between two attempts.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest wait after failures.
const LONGEST: Duration = Duration::from_secs(300);
/// The longest wait that others can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);

/// Attempts, one after the other.
#[derive(Debug)]
pub(super) struct Attempts {
    /// The longest time that an attempt may take.
    patience: Duration,
    seed: u64,
    /// The number of those that began.
    begun: u64,
    /// The number of the last ones that failed.
    failures: u32,
    phase: Phase,
    /// The next one does not begin before.
    not_before: Duration,
}

#[derive(Debug)]
enum Phase {
    /// Nobody wants one.
    Idle,
    /// One is wanted, at this time.
    Due(Duration),
    /// One is under way, and has failed at this time.
    UnderWay { deadline: Duration },
}

impl Attempts {
    pub(super) const fn new(patience: Duration, seed: u64) -> Self {
        Self {
            patience,
            seed,
            begun: 0,
            failures: 0,
            phase: Phase::Idle,
            not_before: Duration::ZERO,
        }
    }

    /// Wants one at this time, or as soon after it as may be. An attempt under way stays the only one.
    pub(super) fn want(&mut self, at: Duration) {
        if !self.is_under_way() {
            self.phase = Phase::Due(at.max(self.not_before));
        }
    }

    /// Begins one if it is due, and returns its number.
    pub(super) fn begin(&mut self, now: Duration) -> Option<u64> {
        if !matches!(self.phase, Phase::Due(at) if at <= now) {
            return None;
        }
        let deadline = now.saturating_add(self.patience.max(SHORTEST));
        self.phase = Phase::UnderWay { deadline };
        self.begun = self.begun.saturating_add(1);
        Some(self.begun)
    }

    pub(super) const fn is_under_way(&self) -> bool {
        matches!(self.phase, Phase::UnderWay { .. })
    }

    /// Returns true if the attempt with this number is the one under way.
    pub(super) const fn is_current(&self, number: u64) -> bool {
        self.is_under_way() && self.begun == number
    }

    /// Returns true if the attempt under way takes too long.
    pub(super) fn is_overdue(&self, now: Duration) -> bool {
        matches!(self.phase, Phase::UnderWay { deadline } if deadline <= now)
    }

    /// Ends the attempt with a decision, and returns the number of failures before it.
    pub(super) fn succeeded(&mut self, now: Duration) -> u32 {
        self.ended(now);
        std::mem::take(&mut self.failures)
    }

    /// Ends the attempt as a failure that may pass, wants another one, and returns the wait until it. `asked` is the wait
    /// that others ask for.
    pub(super) fn failed(&mut self, now: Duration, asked: Option<Duration>) -> Duration {
        self.ended(now);
        self.failures = self.failures.saturating_add(1);
        let asked = asked.unwrap_or_default().min(LONGEST_ASKED);
        let wait = self.backoff().max(asked);
        self.not_before = now.saturating_add(wait);
        self.want(now);
        wait
    }

    /// Returns the time of the next thing to do, whatever it is.
    pub(super) const fn alarm(&self) -> Option<Duration> {
        match self.phase {
            Phase::Idle => None,
            Phase::Due(at) | Phase::UnderWay { deadline: at } => Some(at),
        }
    }

    fn ended(&mut self, now: Duration) {
        self.phase = Phase::Idle;
        self.not_before = now.saturating_add(SHORTEST);
    }

    /// Doubles from one second to five minutes. Up to a quarter is taken away at random, so that providers that failed
    /// together do not try again together.
    fn backoff(&self) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(16);
        let full = SHORTEST.saturating_mul(1 << doublings).min(LONGEST);
        let part = u32::from(random_byte(self.seed, self.begun));
        let jitter = full.saturating_mul(part) / 1024;
        full.saturating_sub(jitter).max(SHORTEST)
    }
}

/// The finalizer of SplitMix64.
const fn random_byte(seed: u64, number: u64) -> u8 {
    let mut z = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 56) as u8
}
