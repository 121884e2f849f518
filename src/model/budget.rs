//! What one tree may make a computer do, counted before it is done.
//!
//! In: what is about to be read, copied or compared. Out: whether the limit still allows it. The limits are far
//! above real fleets, and stop input that is small and becomes large: aliases, one file under many names, patches
//! on everything. Several threads may count at once: whether a limit is exceeded depends on the sum alone, so the
//! same tree always gives the same answer. It does not know what is counted, or what to say about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// The keys and values of all files, counting what anchors and aliases copy.
    Values,
    /// The documents of all files, and the items of lists.
    Documents,
    /// The distinct regular expressions in the targets of patches. One that is too large counts many times.
    Patterns,
    /// The values that definitions become, with what overlays merge into them.
    Objects,
    /// The steps of selecting and patching. A value that a patch adds counts as several.
    Overlays,
}

/// The counts of one tree.
#[derive(Debug)]
pub struct Budget {
    used: [AtomicU64; Limit::ALL.len()],
    most: [u64; Limit::ALL.len()],
    /// The budget of the whole tree, which counts the same. Its limits hold.
    whole: Option<Arc<Self>>,
}

/// The amount that something takes of each limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost([u64; Limit::ALL.len()]);

impl Limit {
    /// All of them, in the order in which a tree meets them.
    pub const ALL: [Self; 5] = [
        Self::Values,
        Self::Documents,
        Self::Patterns,
        Self::Objects,
        Self::Overlays,
    ];

    /// A value that stays in memory weighs as much as so many that are only looked at.
    pub const STEPS_PER_VALUE: u64 = 4;

    /// The most that a tree may count. 10,000 definitions need about half of it.
    #[must_use]
    pub const fn most(self) -> u64 {
        match self {
            Self::Values => 5_000_000,
            Self::Documents => 200_000,
            Self::Patterns => 2_000,
            Self::Objects => 100_000_000,
            Self::Overlays => 200_000_000,
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            used: Default::default(),
            most: Limit::ALL.map(Limit::most),
            whole: None,
        }
    }
}

impl Budget {
    /// Counts for a part of a tree, and in `whole`, whose limits hold.
    #[must_use]
    pub fn of_part(whole: &Arc<Self>) -> Self {
        Self {
            whole: Some(Arc::clone(whole)),
            ..Self::default()
        }
    }

    /// All that is counted.
    #[must_use]
    pub fn cost(&self) -> Cost {
        Cost(Limit::ALL.map(|limit| self.used(limit)))
    }

    /// Counts what something took when it was counted one by one.
    pub fn spend(&self, cost: Cost) {
        for (limit, more) in Limit::ALL.into_iter().zip(cost.0) {
            self.allows(limit, more);
        }
    }

    /// The same limits, with another one for `limit`.
    #[must_use]
    pub fn with(mut self, limit: Limit, most: u64) -> Self {
        self.most[limit as usize] = most;
        self
    }

    /// Counts `more`, and returns whether the limit still holds. Once exceeded, it never holds again.
    pub fn allows(&self, limit: Limit, more: u64) -> bool {
        let used = &self.used[limit as usize];
        // A count that is over its limit stays there, and does not overflow.
        let more = more.min(1 << 40);
        let now = used.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        match &self.whole {
            Some(whole) => whole.allows(limit, more),
            None => now <= self.most[limit as usize],
        }
    }

    /// How much of a limit is counted.
    #[must_use]
    pub fn used(&self, limit: Limit) -> u64 {
        self.used[limit as usize].load(Ordering::Relaxed)
    }

    /// The most that may be counted.
    #[must_use]
    pub const fn most(&self, limit: Limit) -> u64 {
        self.most[limit as usize]
    }

    /// The first limit that is exceeded.
    #[must_use]
    pub fn exceeded(&self) -> Option<Limit> {
        Limit::ALL.into_iter().find(|limit| self.exceeds(*limit))
    }

    /// Returns true if the limit is exceeded.
    #[must_use]
    pub fn exceeds(&self, limit: Limit) -> bool {
        match &self.whole {
            Some(whole) => whole.exceeds(limit),
            None => self.used(limit) > self.most(limit),
        }
    }

    /// Takes a count back to an earlier one, to count the same again.
    pub fn rewind(&self, limit: Limit, used: u64) {
        self.used[limit as usize].store(used, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_up_to_its_number_and_never_again_after_it() {
        let budget = Budget::default().with(Limit::Values, 10);
        assert!(budget.allows(Limit::Values, 10));
        assert_eq!(budget.exceeded(), None);
        assert!(!budget.allows(Limit::Values, 1));
        assert!(!budget.allows(Limit::Values, 0));
        assert!(budget.allows(Limit::Documents, 1), "another limit");
        assert_eq!(budget.exceeded(), Some(Limit::Values));
    }

    #[test]
    fn a_part_counts_for_itself_and_in_the_whole() {
        let whole = Arc::new(Budget::default().with(Limit::Values, 10));
        let part = Budget::of_part(&whole);
        assert!(part.allows(Limit::Values, 6));
        let cost = part.cost();
        assert_eq!((cost, whole.cost()), (Cost([6, 0, 0, 0, 0]), cost));
        whole.spend(cost);
        assert_eq!(part.exceeded(), Some(Limit::Values));
        assert!(!part.allows(Limit::Values, 0) && part.cost() == cost);
    }

    #[test]
    fn a_count_does_not_overflow() {
        let budget = Budget::default();
        for _ in 0..1000 {
            assert!(!budget.allows(Limit::Objects, u64::MAX));
        }
    }
}
