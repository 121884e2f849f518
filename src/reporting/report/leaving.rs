//! What becomes of the objects that a candidate no longer has.
//!
//! In: those objects as they were applied, the candidate, and what holds deletions back. Out: by object, what happens
//! to it, in words. It does not know the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value as Json;

use crate::api::{kinds, labels, timeline};
use crate::apply::{self, DeletionGuard, Member, PruneDecision, PruneInput};
use crate::compile::Compiled;
use crate::model::{Change, ObjectId, Payload};

/// What becomes of objects that leave the fleet.
#[derive(Default)]
pub(super) struct Leaving {
    /// In words, what becomes of each that is not released.
    pub(super) removed: Vec<String>,
    /// Those that stay in the cluster and leave only the set.
    pub(super) released: Vec<ObjectId>,
    /// The clusters, `namespace/name`, whose deletion nobody approved.
    pub(super) unapproved: Vec<String>,
    /// All clusters, `namespace/name`, that leave.
    pub(super) clusters: BTreeSet<String>,
    /// How many are deleted, or would be.
    deleted: usize,
    /// How many stay although they left, since pruning is off.
    pub(super) kept: usize,
    /// How long the deletions usually take.
    pub(super) takes: Duration,
}

impl Leaving {
    /// What becomes of `gone`.
    pub(super) fn of(
        new: &Compiled,
        gone: &BTreeMap<&ObjectId, &Payload>,
        guard: &DeletionGuard,
    ) -> Self {
        let decisions = decisions(new, gone, guard);
        let mut leaving = Self::default();
        for id in gone.keys().copied() {
            let is_cluster = id.is(kinds::CAPI, "Cluster");
            let name = format!("{}/{}", id.namespace, id.name);
            if is_cluster {
                leaving.clusters.insert(name.clone());
            }
            match decisions.get(id) {
                _ if !guard.prune => leaving.kept += 1,
                Some(decision) if decision.is_release() => leaving.released.push(id.clone()),
                Some(PruneDecision::Held(_)) if is_cluster => leaving.await_approval(id, name),
                _ => leaving.delete(id),
            }
        }
        leaving
    }

    fn await_approval(&mut self, id: &ObjectId, name: String) {
        self.deleted += 1;
        let trailer = format!("`{}: delete {name}`", labels::APPROVE);
        self.removed.push(format!(
            "delete {id} once a commit message ends in {trailer}"
        ));
        self.unapproved.push(name);
    }

    fn delete(&mut self, id: &ObjectId) {
        self.deleted += 1;
        self.takes = self.takes.max(timeline::deletion(id));
        self.removed.push(format!("delete {id}"));
    }

    /// Adds them to the counts of a plan.
    pub(super) fn count(&self, changes: &mut BTreeMap<Change, usize>) {
        for (change, count) in [
            (Change::Orphan, self.released.len()),
            (Change::Delete, self.deleted),
        ] {
            if count > 0 {
                *changes.entry(change).or_default() += count;
            }
        }
    }
}

/// What pruning decides, by their own policy, or with what they belong to or what needs them.
fn decisions(
    new: &Compiled,
    gone: &BTreeMap<&ObjectId, &Payload>,
    guard: &DeletionGuard,
) -> BTreeMap<ObjectId, PruneDecision> {
    let payloads: Vec<Json> = gone.values().map(|payload| payload.json()).collect();
    let members = gone.keys().zip(&payloads);
    let members = members.map(|(id, payload)| ((*id).clone(), Member::read(payload, None, None)));
    let mut refers = apply::references(&payloads);
    let leaving = gone.keys().map(|id| {
        let refers = refers.remove(*id).unwrap_or_default();
        ((*id).clone(), refers)
    });
    let steps = new.objects.iter().map(|object| object.id.clone()).zip(0..);
    apply::prune(&PruneInput {
        members: &members.collect(),
        leaving: &leaving.collect(),
        steps: &steps.collect(),
        unapplied: &BTreeMap::new(),
        needed: &BTreeSet::new(),
        guard,
    })
}
