//! The work of controllers in numbers.
//!
//! In: each decision, and each write that ended. Out: their numbers since the start. It does not know who reads them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The work since the start.
#[derive(Debug, Default)]
pub struct Counts {
    decisions: AtomicU64,
    /// Writes that the cluster took, and those that it did not.
    writes: [AtomicU64; 2],
}

impl Counts {
    /// An object was decided about.
    pub(super) fn decided(&self) {
        self.decisions.fetch_add(1, Ordering::Relaxed);
    }

    /// A write ended.
    pub(super) fn written(&self, worked: bool) {
        self.writes[usize::from(!worked)].fetch_add(1, Ordering::Relaxed);
    }

    /// How often an object was decided about.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.decisions.load(Ordering::Relaxed)
    }

    /// How many writes the cluster took, and how many it did not.
    #[must_use]
    pub fn writes(&self) -> [u64; 2] {
        [&self.writes[0], &self.writes[1]].map(|count| count.load(Ordering::Relaxed))
    }
}
