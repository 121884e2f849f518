//! Objects that something else applies, as the Fleet document names them in `outside`.
//!
//! In: the entries, the objects of the fleet, and references. Out: which references they answer, and a finding
//! (R05) for each entry without effect. It does not know whether the objects exist.

use crate::api::fleet::OutsideObject;
use crate::model::{Finding, ObjectId, QuickMap, message, rule_id};

/// What a fleet has to do with an entry. Of what its parts have, the last of these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Nothing,
    /// An object refers to it.
    Needed,
    /// It is an object of the fleet.
    Inside,
}

/// The entries, and what the fleet has to do with each.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere(Vec<(OutsideObject, Use)>);

impl Elsewhere {
    /// The entries in a fleet without objects.
    #[must_use]
    pub fn unused(entries: &[OutsideObject]) -> Self {
        Self::of(entries, &QuickMap::default())
    }

    /// The entries, before any reference is known.
    pub(super) fn of(entries: &[OutsideObject], fleet: &QuickMap<ObjectId, usize>) -> Self {
        let is_inside = |entry: &OutsideObject| fleet.keys().any(|id| entry.is(id));
        let with_use = |entry: &OutsideObject| {
            let inside = is_inside(entry).then_some(Use::Inside);
            (entry.clone(), inside.unwrap_or(Use::Nothing))
        };
        Self(entries.iter().map(with_use).collect())
    }

    /// Whether an entry names the object that a reference needs.
    pub(super) fn has(&mut self, id: &ObjectId) -> bool {
        let outside = self.0.iter_mut().filter(|(_, used)| *used != Use::Inside);
        let its = outside.filter(|(entry, _)| entry.is(id));
        its.map(|(_, used)| *used = Use::Needed).count() > 0
    }

    /// Adds what another part of the fleet has to do with the same entries.
    pub fn add(&mut self, other: &Self) {
        for ((_, used), (_, other)) in self.0.iter_mut().zip(&other.0) {
            *used = (*used).max(*other);
        }
    }

    /// The findings for entries that name an object of the fleet, and for those to which nothing refers.
    pub fn unneeded(&self) -> impl Iterator<Item = Finding> {
        self.0.iter().filter_map(|(entry, used)| match used {
            Use::Needed => None,
            Use::Inside => {
                let message = message!(
                    "`outside` in the Fleet document names {entry}, which is in the fleet",
                    entry
                );
                let help = "remove it from `outside`, or from the fleet";
                Some(Finding::warning(rule_id::UNNEEDED_OUTSIDE, message).help(help))
            }
            Use::Nothing => {
                let message = message!(
                    "`outside` in the Fleet document names {entry}, to which nothing refers",
                    entry
                );
                let help = "remove it, or correct its kind, namespace and name";
                Some(Finding::warning(rule_id::UNNEEDED_OUTSIDE, message).help(help))
            }
        })
    }
}
