//! Steps that failed for missing rights.
//!
//! In: which failed, and which have their rights again. Out: which of them to try. It does not know: when
//! one is tried.

use std::collections::BTreeSet;

use super::Kind;
use super::steps::{StepState, Steps};

/// The steps that lack rights.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    pub(crate) lacking: BTreeSet<usize>,
    /// The kind of the step that was tried last: another one is next, since rights are given by kind.
    tried: Option<Kind>,
    /// Whether a time is set for the next try.
    pub(crate) is_set: bool,
}

impl Rights {
    /// The step to try next, if one of them backs off.
    pub(crate) fn next(&mut self, steps: &Steps) -> Option<usize> {
        let waiting: Vec<usize> = self.waiting(steps).collect();
        let kinds: BTreeSet<&Kind> = waiting.iter().map(|at| steps.kind(*at)).collect();
        let after = kinds.iter().find(|kind| Some(**kind) > self.tried.as_ref());
        let kind = (*after.or(kinds.first())?).clone();
        let next = waiting.into_iter().find(|at| *steps.kind(*at) == kind);
        self.tried = Some(kind);
        next
    }

    /// Those that back off.
    pub(crate) fn waiting(&self, steps: &Steps) -> impl Iterator<Item = usize> {
        let backs_off = |at: &usize| matches!(steps.state(*at), StepState::BackingOff { .. });
        self.lacking.iter().copied().filter(backs_off)
    }
}
