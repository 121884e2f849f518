//! Requests of earlier assignments that are still under way. Two requests about one object at a time could
//! arrive in the wrong order, and the older content would win: a newer one waits.
//!
//! In: what an assignment had under way when it was replaced, and what was answered since. Out: whether a
//! request about an object is under way. It does not know: who waits.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::ObjectId;

/// Requests of earlier assignments, by the number of the assignment.
#[derive(Debug, Default)]
pub(crate) struct LateRequests {
    /// Applies, by step.
    pub(crate) applies: BTreeMap<(u64, usize), ObjectId>,
    pub(crate) removals: BTreeSet<(u64, ObjectId)>,
}

impl LateRequests {
    /// Whether an apply is not answered yet.
    pub(crate) fn has_applies(&self) -> bool {
        !self.applies.is_empty()
    }

    /// Whether one of them is about this object.
    pub(crate) fn are_about(&self, object: &ObjectId) -> bool {
        self.applies.values().any(|other| other == object)
            || self.removals.iter().any(|(_, other)| other == object)
    }
}
