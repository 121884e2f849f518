//! How many requests a forge still takes before its limit is renewed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number that its last answer named. Clones share it.
#[derive(Clone, Debug)]
pub struct RateRemaining(Arc<AtomicU64>);

impl RateRemaining {
    /// Stands for a number that no answer has named.
    const UNKNOWN: u64 = u64::MAX;

    /// Notes what an answer says.
    pub fn set(&self, remaining: u64) {
        self.0.store(remaining, Ordering::Relaxed);
    }

    /// Lets go of it: another credential has a limit of its own.
    pub fn forget(&self) {
        self.set(Self::UNKNOWN);
    }

    /// The number, if an answer has named one.
    #[must_use]
    pub fn get(&self) -> Option<u64> {
        let remaining = self.0.load(Ordering::Relaxed);
        (remaining != Self::UNKNOWN).then_some(remaining)
    }
}

impl Default for RateRemaining {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(Self::UNKNOWN)))
    }
}
