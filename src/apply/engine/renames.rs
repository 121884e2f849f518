//! Clusters and pools that come under another name: of a rename that nobody approved, neither half happens.
//!
//! In: what leaves, and the steps that would create something. Out: the steps that wait. Until it is known what leaves, no
//! cluster or pool is created that may be one of those.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::super::prune::Unapproved;
use super::super::steps::payload;
use super::super::{PruneDecision, State};
use super::{EarlierKind, Engine};
use crate::api::platform::Role;
use crate::model::ObjectId;
use crate::plan::losses::{self, Likeness, Unit};

/// The new names of what stays, since nobody approved its rename.
pub(super) fn unapproved_renames(
    decisions: &BTreeMap<ObjectId, PruneDecision>,
    renamed: &BTreeMap<Unit, Unit>,
) -> BTreeMap<Unit, Unapproved> {
    let losses = decisions.values().filter_map(|decision| match decision {
        PruneDecision::Unapproved(loss) => Some(loss),
        _ => None,
    });
    let held = losses.filter_map(|loss| Some((renamed.get(&loss.unit)?.clone(), loss.clone())));
    held.collect()
}

impl Engine {
    /// The clusters and pools that leave and that steps create under another name. What was recognised once for a revision
    /// stays so, also when its new name is there.
    pub(super) fn renamed(&mut self) -> BTreeMap<Unit, Unit> {
        let gone: Vec<&Likeness> = self.work.removals.likenesses().collect();
        if gone.is_empty() {
            return self.work.renamed.clone();
        }
        let steps = self.work.steps.plan().steps.iter();
        let parts = steps.filter(|step| Role::of(&step.object).is_some());
        let parts: Vec<(&ObjectId, Json)> = parts
            .map(|step| (&*step.object, payload(step).json()))
            .collect();
        let units = losses::units_of(parts.iter().map(|(_, json)| json));
        let new = parts
            .iter()
            .filter(|(id, _)| !self.inventory.contains_key(*id));
        let new = new.filter_map(|(id, json)| Likeness::of_unit(json, units.get(*id)?.clone()));
        let mut renamed = losses::renamed(&gone, &new.collect::<Vec<_>>());
        renamed.extend(std::mem::take(&mut self.work.renamed));
        self.work.renamed.clone_from(&renamed);
        self.work.units = units;
        renamed
    }

    /// The cluster or pool that a step makes, as far as that was asked for or its object names it.
    fn unit(&self, id: &ObjectId, cluster: &str) -> Option<Unit> {
        let known = self.work.units.get(id).cloned();
        known.or_else(|| Unit::of(id, cluster))
    }

    /// Holds the creation of these; what is not held any more is begun.
    pub(super) fn hold(&mut self, held: BTreeMap<Unit, Unapproved>) {
        if self.work.held.as_ref() == Some(&held) {
            return;
        }
        self.work.held = Some(held);
        self.work.steps.queue_unapproved();
        self.work.removals.stir();
    }

    /// Why a step does not create its object now, and whether only a person can help; `None` if nothing speaks against it.
    pub(super) fn rename_in_doubt(&self, at: usize) -> Option<(State, String)> {
        let object = self.work.steps.object(at);
        if self.inventory.contains_key(object) || !self.work.guard.prune {
            return None;
        }
        let unit = self.unit(object, payload(self.work.steps.step(at)).cluster())?;
        match &self.work.held {
            Some(held) => {
                let loss = held.get(&unit).or_else(|| held.get(&unit.root()))?;
                let why = format!(
                    "it is {} under another name, and nothing is created before somebody approves that: {loss}",
                    loss.unit
                );
                Some((State::Failed, why))
            }
            None => self.may_rename().then(|| {
                let why = "it is not known yet whether it is in the cluster under another name";
                (State::Waiting, why.to_owned())
            }),
        }
    }

    /// Whether a cluster or a pool may leave.
    fn may_rename(&self) -> bool {
        let is_open = |(kind, earlier): (&(String, String), &EarlierKind)| {
            let is_known = match earlier {
                EarlierKind::Asked => false,
                EarlierKind::At(kind) => self.kinds.is_listed(kind),
                EarlierKind::Unserved => true,
            };
            !is_known && Role::of(&ObjectId::new(&*kind.0, &*kind.1, "", "")).is_some()
        };
        let mut leaving = self.work.removals.leaving();
        leaving.any(|id| Role::of(id).is_some()) || self.work.earlier.iter().any(is_open)
    }

    /// The objects that were not applied yet and are not held, each with its cluster.
    pub(super) fn unapplied_but_held(&self) -> BTreeMap<Arc<ObjectId>, String> {
        let held = self.work.held.as_ref();
        let is_held = |id: &ObjectId, cluster: &str| {
            let unit = self.unit(id, cluster).zip(held);
            unit.is_some_and(|(unit, held)| {
                held.contains_key(&unit) || held.contains_key(&unit.root())
            })
        };
        let unapplied = self.work.steps.unapplied().iter();
        let unapplied = unapplied.filter(|(id, cluster)| !is_held(id, cluster));
        unapplied
            .map(|(id, cluster)| (Arc::clone(id), cluster.clone()))
            .collect()
    }
}
