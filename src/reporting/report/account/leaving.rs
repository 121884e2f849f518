//! What becomes of the objects that a candidate no longer has.
//!
//! In: those objects as they were applied, the candidate, and what holds losses back. Out: the clusters and node pools that
//! are lost, and by object, what happens to the rest. It does not know the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::Member;
use super::kept::Kept;
use super::loss::Loss;
use crate::api::platform::{HYPER_SHIFT, Platform, Role};
use crate::api::{kinds, labels, timeline};
use crate::apply::{self, DeletionGuard, PruneDecision, PruneInput};
use crate::model::{ObjectId, Payload};
use crate::plan::Plan;
use crate::plan::approvals::{Verb, What};
use crate::plan::losses::{self, ClusterPart, Unit};

/// What becomes of objects that leave the fleet.
#[derive(Default)]
pub(in crate::reporting::report) struct Leaving {
    /// The clusters and pools that go, by name; none while pruning is off.
    pub(in crate::reporting::report) losses: Vec<Loss>,
    /// In words, what becomes of each other object that is deleted and belongs to no cluster that goes.
    pub(super) removed: Vec<String>,
    /// In words, what is kept until a person acts, and why.
    pub(super) held: Vec<String>,
    /// All that stay in the cluster and leave only the set.
    pub(super) released: Vec<ObjectId>,
    /// Those of them that belong to no cluster that goes.
    pub(super) released_others: Vec<ObjectId>,
    /// The number of those that stay although they left, since pruning is off.
    pub(super) kept: usize,
    /// The time that the deletions usually take.
    pub(super) takes: Duration,
}

impl Leaving {
    /// Tells what becomes of `gone`, which is of the plan `old`; `created` is what comes instead, and `kept` what the cluster
    /// has beside that plan.
    pub(super) fn of(
        new: &[Member<'_>],
        (old, gone): (Option<&Plan>, &BTreeMap<&ObjectId, &Payload>),
        created: &BTreeSet<ObjectId>,
        guard: &DeletionGuard,
        kept: &Kept<'_>,
    ) -> Self {
        let payloads: Vec<Json> = gone.values().map(|payload| payload.json()).collect();
        let comes = |id: &ObjectId| Role::of(id).is_some() && created.contains(id);
        let coming = new.iter().filter(|member| comes(member.id));
        let coming = coming.map(|member| member.kept.payload().json());
        let renamed = losses::renames(payloads.iter(), coming);
        let units = losses::units_of(payloads.iter());
        let decisions = decisions(new, gone, &payloads, &renamed, guard);
        let mut leaving = Self::default();
        if guard.prune {
            leaving.losses = lost(&decisions, gone, &payloads, &units, &renamed);
            count_nodes(&mut leaving.losses, old);
        }
        let goes: BTreeSet<Unit> = leaving
            .losses
            .iter()
            .map(|loss| loss.unit.clone())
            .collect();
        for (id, payload) in gone.keys().copied().zip(&payloads) {
            let unit = units.get(id).cloned();
            let unit = unit.or_else(|| labelled(id, payload));
            let is_lost = |unit: &Unit| goes.contains(unit) || goes.contains(&unit.root());
            let is_of_loss = unit.as_ref().is_some_and(is_lost);
            match decisions.get(id) {
                _ if unit.as_ref().is_some_and(|unit| kept.is_unmade(unit)) => {}
                _ if !guard.prune => leaving.kept += 1,
                Some(decision) if decision.is_release() => {
                    leaving.released.push(id.clone());
                    let other = (!is_of_loss).then(|| id.clone());
                    leaving.released_others.extend(other);
                }
                Some(PruneDecision::Unapproved(_)) => {}
                Some(PruneDecision::Held(_)) if is_of_loss => {}
                Some(PruneDecision::Held(why)) => {
                    leaving.held.push(format!("keep {id}: {why}"));
                }
                _ => leaving.delete(id, is_of_loss),
            }
        }
        let losses = leaving.losses.into_iter();
        leaving.losses = losses.filter_map(|loss| kept.real(loss, guard)).collect();
        leaving
    }

    /// The approvals that are asked for.
    pub(in crate::reporting::report) fn unapproved(&self) -> Vec<What> {
        let losses = self.losses.iter().filter(|loss| !loss.is_approved);
        losses
            .map(|loss| What::Named(loss.verb, loss.unit.clone()))
            .collect()
    }

    fn delete(&mut self, id: &ObjectId, is_of_loss: bool) {
        let takes = timeline::deletion(behind(id).as_ref().unwrap_or(id));
        self.takes = self.takes.max(takes);
        if !is_of_loss {
            self.removed.push(format!("delete {id}"));
        }
    }
}

/// The resource in Azure that an object of Cluster API stands for.
fn behind(id: &ObjectId) -> Option<ObjectId> {
    Platform::of(id).filter(|platform| platform.mirrors)?;
    let kind = match Role::of(id)? {
        Role::Root => "HcpOpenShiftCluster",
        Role::Pool => "HcpOpenShiftClustersNodePool",
        Role::Part => return None,
    };
    Some(ObjectId::new(kinds::RED_HAT_OPENSHIFT, kind, "", ""))
}

/// The cluster that a label names.
fn labelled(id: &ObjectId, object: &Json) -> Option<Unit> {
    let name = object["metadata"]["labels"][labels::CLUSTER_NAME].as_str()?;
    Some(Unit::new(&id.namespace, name))
}

/// The clusters and pools that go. A pool that goes with its cluster is no loss of its own.
fn lost(
    decisions: &BTreeMap<ObjectId, PruneDecision>,
    gone: &BTreeMap<&ObjectId, &Payload>,
    payloads: &[Json],
    units: &BTreeMap<ObjectId, Unit>,
    renamed: &BTreeMap<Unit, Unit>,
) -> Vec<Loss> {
    let mut lost: BTreeMap<Unit, Loss> = BTreeMap::new();
    for (id, payload) in gone.keys().copied().zip(payloads) {
        let (Some(Role::Root | Role::Pool), Some(unit)) = (Role::of(id), units.get(id)) else {
            continue;
        };
        let Some(decision) = decisions.get(id) else {
            continue;
        };
        let asked = match decision {
            PruneDecision::Unapproved(loss) => Some(loss.verb),
            _ => None,
        };
        let policy = &payload["metadata"]["annotations"][labels::DELETION_POLICY];
        let is_deleted = match unit.pool {
            Some(_) => *policy != "Orphan",
            None => *policy == "Delete",
        };
        let to = renamed.get(unit).cloned();
        let verb = match (&to, is_deleted) {
            (Some(_), _) => Verb::Rename,
            (None, true) => Verb::Delete,
            (None, false) => Verb::Release,
        };
        let loss = Loss {
            verb: asked.unwrap_or(verb),
            renamed: to,
            is_deleted,
            is_in_azure: Platform::of(id) != Some(&HYPER_SHIFT),
            nodes: 0,
            is_approved: asked.is_none(),
            unit: unit.clone(),
        };
        let known = lost.entry(unit.clone()).or_insert_with(|| loss.clone());
        known.is_approved &= loss.is_approved;
    }
    let roots: BTreeSet<Unit> = lost
        .keys()
        .filter(|unit| unit.pool.is_none())
        .cloned()
        .collect();
    lost.retain(|unit, _| unit.pool.is_none() || !roots.contains(&unit.root()));
    lost.into_values().collect()
}

/// Counts the nodes of each loss. The object that has them may stay: Cluster API deletes it with its MachinePool.
fn count_nodes(losses: &mut [Loss], old: Option<&Plan>) {
    if losses.is_empty() {
        return;
    }
    let steps = old.into_iter().flat_map(|old| &old.steps);
    let parts = steps.filter(|step| Role::of(&step.object).is_some());
    let parts = parts.filter_map(|step| {
        let part = ClusterPart::of(&step.object, &step.action.payload.json())?;
        Some((&*step.object, part))
    });
    let parts: Vec<(&ObjectId, ClusterPart)> = parts.collect();
    let pools = losses::pools(parts.iter().map(|(id, part)| (*id, part)));
    for loss in losses {
        let lost = losses::within(&pools, &loss.unit);
        let lost = lost.filter(|(pool, _)| loss.unit.pool.is_none() || **pool == loss.unit);
        loss.nodes = lost.map(|(_, pool)| pool.nodes).sum();
    }
}

/// What pruning decides, by their own policy, or with what they belong to or what needs them.
fn decisions(
    new: &[Member<'_>],
    gone: &BTreeMap<&ObjectId, &Payload>,
    payloads: &[Json],
    renamed: &BTreeMap<Unit, Unit>,
    guard: &DeletionGuard,
) -> BTreeMap<ObjectId, PruneDecision> {
    let members = gone.keys().zip(payloads);
    let members =
        members.map(|(id, payload)| ((*id).clone(), apply::Member::read(payload, None, None)));
    let mut refers = apply::references(payloads);
    let leaving = gone.keys().map(|id| {
        let refers = refers.remove(*id).unwrap_or_default();
        ((*id).clone(), refers)
    });
    let steps = new.iter().map(|member| Arc::clone(member.id));
    let steps = steps.zip(0..);
    apply::prune(&PruneInput {
        members: &members.collect(),
        leaving: &leaving.collect(),
        steps: &steps.collect(),
        unapplied: &BTreeMap::new(),
        needed: &BTreeSet::new(),
        renamed,
        guard,
    })
}
