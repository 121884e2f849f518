//! What is reported of a value of the wrong type, and what is not.

use std::collections::HashSet;

use crate::model::{Finding, Segment, rule_id};

/// The paths of values that have the wrong type.
pub(super) struct Mistyped<'a>(HashSet<&'a [Segment]>);

impl<'a> Mistyped<'a> {
    /// Those that were found.
    pub(super) fn of(found: &'a [Finding]) -> Self {
        let types = found.iter().filter(|found| found.id == rule_id::WRONG_TYPE);
        let paths = types.filter_map(|found| Some(found.field.as_ref()?.0.as_slice()));
        Self(paths.collect())
    }

    /// Returns true if a finding is about such a value, or about a part of one.
    pub(super) fn has(&self, finding: &Finding) -> bool {
        let path = finding.field.as_ref().map(|field| field.0.as_slice());
        path.is_some_and(|path| (0..=path.len()).any(|at| self.0.contains(&path[..at])))
    }
}
