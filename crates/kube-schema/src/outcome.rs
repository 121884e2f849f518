//! What came of checking a value against one schema.

use super::violation::Violation;

/// What came of one schema: what is wrong, and how many checks applied. The alternative of a union to
/// which most checks applied is the one the API server speaks of.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) violations: Vec<Violation>,
    pub(crate) applied: usize,
}

impl Outcome {
    pub(crate) fn wrong(violation: Violation) -> Self {
        Self {
            violations: vec![violation],
            applied: 0,
        }
    }

    pub(crate) fn fine() -> Self {
        Self::default()
    }

    pub(crate) fn add(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    pub(crate) fn count(&mut self) {
        self.applied += 1;
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.applied += other.applied;
        self.violations.extend(other.violations);
    }

    pub(crate) fn is_fine(&self) -> bool {
        self.violations.is_empty()
    }
}
