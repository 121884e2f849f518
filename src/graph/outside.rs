//! Objects that something else applies, as the Fleet document names them in `outside`.
//!
//! In: the entries, the objects of the fleet, and references. Out: which references they answer, and a finding
//! (R05) for each entry without effect. It does not know whether the objects exist.

use std::collections::HashMap;

use crate::api::fleet::OutsideObject;
use crate::model::{Finding, ObjectId, message, rule_id};

/// The entries, and whether anything refers to them.
#[derive(Default)]
pub(super) struct Elsewhere(Vec<(OutsideObject, bool)>);

impl Elsewhere {
    /// The entries, and the findings for those that name an object of the fleet.
    pub(super) fn of(
        entries: &[OutsideObject],
        fleet: &HashMap<ObjectId, usize>,
    ) -> (Self, Vec<Finding>) {
        let is_inside = |entry: &&OutsideObject| fleet.keys().any(|id| entry.is(id));
        let (inside, outside): (Vec<_>, Vec<_>) = entries.iter().partition(is_inside);
        let outside = outside.into_iter().map(|entry| (entry.clone(), false));
        let findings = inside.into_iter().map(|entry| {
            let message = message!(
                "`outside` in the Fleet document names {entry}, which is in the fleet",
                entry
            );
            let help = "remove it from `outside`, or from the fleet";
            Finding::warning(rule_id::UNNEEDED_OUTSIDE, message).help(help)
        });
        (Self(outside.collect()), findings.collect())
    }

    /// Whether an entry names the object that a reference needs.
    pub(super) fn has(&mut self, id: &ObjectId) -> bool {
        let mut has = false;
        for (_, used) in self.0.iter_mut().filter(|(entry, _)| entry.is(id)) {
            *used = true;
            has = true;
        }
        has
    }

    /// The findings for entries to which nothing refers.
    pub(super) fn unused(self) -> impl Iterator<Item = Finding> {
        let unused = self.0.into_iter().filter(|(_, used)| !used);
        unused.map(|(entry, _)| {
            let message = message!(
                "`outside` in the Fleet document names {entry}, to which nothing refers",
                entry
            );
            let help = "remove it, or correct its kind, namespace and name";
            Finding::warning(rule_id::UNNEEDED_OUTSIDE, message).help(help)
        })
    }
}
