//! The order of removals: dependents go first, what a released object needs is released before it, and nothing waits for
//! what is held.
//!
//! In: the decision of every member that leaves, without regard to the others. Out: the decisions. It does not know why one
//! leaves or is held.

use std::collections::BTreeMap;

use super::{PruneDecision, PruneInput, carries_clusters, holds_others, is_part};
use crate::api::platform::is_root;
use crate::model::ObjectId;

impl PruneInput<'_> {
    /// Makes deletions wait for what depends on the object, and releases for what the object depends
    /// on.
    pub(super) fn in_order(
        &self,
        mut decisions: BTreeMap<ObjectId, PruneDecision>,
    ) -> BTreeMap<ObjectId, PruneDecision> {
        self.release_dependencies(&mut decisions);
        let ordered = |(id, decision): (&ObjectId, &PruneDecision)| {
            let decision = match decision {
                PruneDecision::Delete => self.ordered(id, &decisions),
                PruneDecision::Orphan => self.released(id, &decisions),
                decision => decision.clone(),
            };
            (id.clone(), decision)
        };
        let ordered = decisions.iter().map(ordered).collect();
        hold_what_waits(&decisions, ordered)
    }

    /// Releases what released objects need: once they are released, it would not be known that they need
    /// it, and it would be deleted.
    fn release_dependencies(&self, decisions: &mut BTreeMap<ObjectId, PruneDecision>) {
        let with =
            |decision: PruneDecision| decisions.iter().filter(move |(_, one)| **one == decision);
        let mut released: Vec<ObjectId> = with(PruneDecision::Orphan)
            .map(|(id, _)| id.clone())
            .collect();
        while let Some(above) = released.pop() {
            for (id, decision) in decisions.iter_mut() {
                if *decision == PruneDecision::Delete && self.depends(&above, id) {
                    *decision = PruneDecision::Orphan;
                    released.push(id.clone());
                }
            }
        }
    }

    /// When it is the turn of `id`, which is to be released: after what it depends on, since those
    /// dependencies are not known any more once `id` was released.
    fn released(
        &self,
        id: &ObjectId,
        decisions: &BTreeMap<ObjectId, PruneDecision>,
    ) -> PruneDecision {
        let first = |(other, decision): (&ObjectId, &PruneDecision)| {
            let before = match self.root(id).as_ref() == Some(other) {
                // The root of a part goes last: without it the part has no owner.
                true => false,
                false => self.depends(id, other) || self.root(other).as_ref() == Some(id),
            };
            match decision {
                _ if other == id || !before => None,
                PruneDecision::Orphan => Some(PruneDecision::ReleaseAfter(other.clone())),
                PruneDecision::Until(step) => Some(PruneDecision::Until(step.clone())),
                PruneDecision::Held(why) => {
                    Some(PruneDecision::Held(format!("it needs {other}: {why}")))
                }
                PruneDecision::Unapproved(why) => {
                    Some(PruneDecision::Held(format!("it needs {other}: {why}")))
                }
                // It will be deleted together with what needs it.
                PruneDecision::Delete
                | PruneDecision::Going
                | PruneDecision::After(_)
                | PruneDecision::ReleaseAfter(_) => None,
            }
        };
        if let Some(user) = self.kept_user(id, decisions) {
            return PruneDecision::Held(format!("{user}, which is kept, needs it"));
        }
        decisions
            .iter()
            .find_map(first)
            .unwrap_or(PruneDecision::Orphan)
    }

    /// What leaves, is kept until somebody approves its loss, and needs `id` or is in it.
    fn kept_user(
        &self,
        id: &ObjectId,
        decisions: &BTreeMap<ObjectId, PruneDecision>,
    ) -> Option<ObjectId> {
        let is_kept = |decision: &PruneDecision| matches!(decision, PruneDecision::Unapproved(_));
        let mut kept = decisions.iter().filter(|(_, decision)| is_kept(decision));
        let user = kept.find(|(other, _)| self.depends(other, id));
        user.map(|(other, _)| other.clone())
    }

    fn ordered(
        &self,
        id: &ObjectId,
        decisions: &BTreeMap<ObjectId, PruneDecision>,
    ) -> PruneDecision {
        let mut held = None;
        let near: Vec<&ObjectId> = match holds_others(id) {
            true => self.members.keys().collect(),
            false => self.leaving.keys().collect(),
        };
        for other in near.into_iter().filter(|other| self.depends(other, id)) {
            match decisions.get(other) {
                Some(
                    PruneDecision::Delete
                    | PruneDecision::Going
                    | PruneDecision::After(_)
                    | PruneDecision::Until(_),
                ) => {
                    return PruneDecision::After(other.clone());
                }
                // A release of the other also releases `id`.
                Some(
                    PruneDecision::Orphan
                    | PruneDecision::ReleaseAfter(_)
                    | PruneDecision::Unapproved(_)
                    | PruneDecision::Held(_),
                )
                | None => held = Some(other),
            }
        }
        held.map_or(PruneDecision::Delete, |other| {
            PruneDecision::Held(format!("{other}, which is kept, needs it"))
        })
    }

    /// Whether `other` must be gone before `id` is deleted.
    fn depends(&self, other: &ObjectId, id: &ObjectId) -> bool {
        let Some(member) = self.members.get(other).filter(|_| other != id) else {
            return false;
        };
        let refers = self
            .leaving
            .get(other)
            .is_some_and(|refers| refers.contains(id));
        let inside = match (id.group.as_str(), id.kind.as_str()) {
            ("", "Namespace") => other.namespace == id.name,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => id
                .name
                .split_once('.')
                .is_some_and(|(_, group)| group == other.group),
            _ => false,
        };
        let carried = carries_clusters(id)
            && (is_root(other) || is_part(other) && !member.cluster.is_empty())
            && (other.namespace == id.namespace && self.leaving.contains_key(other));
        refers || inside || carried
    }
}

/// Holds what would wait for something that is held: its turn never comes. `alone` has the decision
/// for each without regard to the others.
fn hold_what_waits(
    alone: &BTreeMap<ObjectId, PruneDecision>,
    mut decisions: BTreeMap<ObjectId, PruneDecision>,
) -> BTreeMap<ObjectId, PruneDecision> {
    loop {
        let waits = |(id, decision): (&ObjectId, &PruneDecision)| {
            let (PruneDecision::After(other) | PruneDecision::ReleaseAfter(other)) = decision
            else {
                return None;
            };
            let why = match decisions.get(other)? {
                PruneDecision::Held(why) => why.clone(),
                PruneDecision::Unapproved(why) => why.to_string(),
                _ => return None,
            };
            let why = match alone.get(id) {
                Some(PruneDecision::Orphan) => format!("it needs {other}: {why}"),
                _ => format!("{other}, which is kept, needs it"),
            };
            Some((id.clone(), PruneDecision::Held(why)))
        };
        let held: Vec<_> = decisions.iter().filter_map(waits).collect();
        if held.is_empty() {
            return decisions;
        }
        decisions.extend(held);
    }
}
