//! What an earlier revision lost and nobody approved: the cluster has it, and the new name of a rename was never made.
//!
//! In: those losses, the clusters and pools of a candidate, and losses as files show them. Out: losses as the cluster has
//! them. It does not know the objects.

use std::collections::BTreeSet;

use super::loss::Loss;
use crate::apply::{DeletionGuard, Unapproved};
use crate::plan::losses::Unit;

/// The losses that wait, beside the candidate.
pub(super) struct Kept<'a> {
    losses: &'a BTreeSet<Unapproved>,
    /// The clusters and pools of the candidate.
    units: &'a BTreeSet<Unit>,
}

impl<'a> Kept<'a> {
    /// Joins losses that wait with the clusters and pools of a candidate.
    pub(super) const fn new(losses: &'a BTreeSet<Unapproved>, units: &'a BTreeSet<Unit>) -> Self {
        Self { losses, units }
    }

    /// Returns true for what the candidate has again, and the cluster still has.
    pub(super) fn is_back(&self, unit: &Unit) -> bool {
        let mut kept = self.losses.iter().map(|loss| &loss.unit);
        kept.any(|kept| is_within(unit, kept))
    }

    /// Returns true for what was never made: its rename waits.
    pub(super) fn is_unmade(&self, unit: &Unit) -> bool {
        let mut new = self.losses.iter().filter_map(|loss| loss.to.as_deref());
        new.any(|new| is_within(unit, new))
    }

    /// Returns true for what a candidate makes although the files had it before: its rename ends, since the candidate has the
    /// old name again beside it.
    pub(super) fn is_made(&self, unit: &Unit) -> bool {
        let ended = self
            .losses
            .iter()
            .filter(|loss| self.units.contains(&loss.unit));
        let mut new = ended.filter_map(|loss| loss.to.as_deref());
        new.any(|new| is_within(unit, new))
    }

    /// Names in a loss what the cluster has in place of what was never made; `None` where the candidate has that again, so
    /// that nothing is lost.
    pub(super) fn real(&self, loss: Loss, guard: &DeletionGuard) -> Option<Loss> {
        let mut renames = self.losses.iter();
        let Some(rename) = renames.find(|one| one.to.as_deref() == Some(&loss.unit)) else {
            return Some(loss);
        };
        let unit = rename.unit.clone();
        (!self.units.contains(&unit)).then(|| Loss {
            is_approved: guard.approves(loss.verb, &unit),
            unit,
            ..loss
        })
    }
}

/// Returns true for the unit itself, and for a pool of it.
fn is_within(one: &Unit, unit: &Unit) -> bool {
    one == unit || one.root() == *unit
}
