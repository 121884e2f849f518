//! What one revision changes against another, as it is read in a plan check.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde_json::Value as Json;

use super::changes;
use super::parts::{counted, list, unread_count, unread_text};
use super::unread::Unread;
use crate::api::{kinds, labels};
use crate::apply::{self, DeletionGuard, Member, PruneInput};
use crate::compile::Compiled;
use crate::model::{Action, Object, ObjectId, Payload, Step};
use crate::plan::{self, ApplySet, Changes, Plan, Rolled};

/// Objects that one revision has and another has not, or has otherwise.
pub(super) struct Differences {
    created: Vec<ObjectId>,
    changed: usize,
    /// Those of them with the same values in another order.
    reordered: Vec<ObjectId>,
    /// In words: what its policy makes of each.
    removed: Vec<String>,
    /// Those that stay in the cluster and leave only the set.
    released: Vec<ObjectId>,
    /// In words: the files that define nothing any more, and which of the objects leave for that.
    unread: Vec<String>,
    pub(super) changes: Changes,
    rolled: Rolled,
}

/// What `new` changes against `old`, as members of `set`.
pub(super) fn differences(set: &ApplySet, new: &Compiled, old: Option<&Plan>) -> Differences {
    let mut before: BTreeMap<&ObjectId, &Payload> = old
        .into_iter()
        .flat_map(|old| &old.steps)
        .map(|step| (&step.object, payload(step)))
        .collect();
    let differs = |object: &Object| {
        let old = before.get(&object.id);
        old.is_some_and(|old| old.hash() != plan::payload(object, set).hash())
    };
    let differing: Vec<bool> = new.objects.par_iter().map(differs).collect();
    let (mut created, mut changed, mut reordered) = (Vec::new(), 0, Vec::new());
    let mut changes = Changes::default();
    for (object, differs) in new.objects.iter().zip(differing) {
        match before.remove(&object.id) {
            None => created.push(object.id.clone()),
            Some(old) if differs => {
                changed += 1;
                let sent = plan::payload(object, set).json();
                if !changes.add(object, &old.json(), &sent) {
                    reordered.push(object.id.clone());
                }
            }
            Some(_) => {}
        }
    }
    created.sort();
    reordered.sort();
    let rolled = match changes.consequences().next() {
        None => Rolled::default(),
        Some(_) => {
            let objects: Vec<_> = new.objects.iter().map(plan::placed).collect();
            Rolled::count(objects.iter(), changes.consequences())
        }
    };
    // What the new revision names it keeps.
    for kept in new.graph.outside() {
        before.remove(&kept.id);
    }
    let gone = before.iter().map(|(id, payload)| (*id, *payload));
    let unread = Unread::of(&new.findings).lines(gone);
    let released = released(new, &before);
    before.retain(|id, _| !released.contains(*id));
    let pools = before.iter().filter(|(id, _)| id.kind == "AROMachinePool");
    let pools: Vec<Json> = pools.map(|(_, payload)| payload.json()).collect();
    changes.remove(&pools, &new.objects);
    Differences {
        changes,
        unread,
        released: released.into_iter().collect(),
        rolled,
        created,
        changed,
        reordered,
        removed: before.into_iter().map(removal).collect(),
    }
}

pub(super) fn payload(step: &Step) -> &Payload {
    let Action::Apply { payload, .. } = &step.action;
    payload
}

/// Which objects that are in the fleet no more are released: by their own policy, or with what they belong to
/// or what needs them.
fn released(new: &Compiled, gone: &BTreeMap<&ObjectId, &Payload>) -> BTreeSet<ObjectId> {
    let payloads: Vec<Json> = gone.values().map(|payload| payload.json()).collect();
    let members = gone.keys().zip(&payloads);
    let members = members.map(|(id, payload)| ((*id).clone(), Member::read(payload, None, None)));
    let mut refers = apply::references(&payloads);
    let leaving = gone.keys().map(|id| {
        let refers = refers.remove(*id).unwrap_or_default();
        ((*id).clone(), refers)
    });
    let steps = new.objects.iter().map(|object| object.id.clone()).zip(0..);
    let guard = DeletionGuard {
        prune: true,
        ..DeletionGuard::default()
    };
    let decisions = apply::prune(&PruneInput {
        members: &members.collect(),
        leaving: &leaving.collect(),
        steps: &steps.collect(),
        unapplied: &BTreeMap::new(),
        needed: &BTreeSet::new(),
        guard: &guard,
    });
    let released = decisions.into_iter();
    let released = released.filter(|(_, decision)| decision.is_release());
    released.map(|(id, _)| id).collect()
}

/// What becomes of an object that is in the fleet no more, by the policy it was applied with. Parts of a
/// cluster have none of their own.
fn removal((id, payload): (&ObjectId, &Payload)) -> String {
    let payload = payload.json();
    match payload["metadata"]["annotations"][labels::DELETION_POLICY].as_str() {
        None => format!("remove {id}"),
        Some("Delete") if id.is(kinds::CAPI, "Cluster") => format!(
            "delete {id} once a commit message ends in `{}: delete {}/{}`",
            labels::APPROVE,
            id.namespace,
            id.name
        ),
        Some("Delete") => format!("delete {id}"),
        Some(_) => format!("orphan {id}"),
    }
}

impl Differences {
    pub(super) fn title(&self) -> String {
        let (created, changed, removed) = (self.created.len(), self.changed, self.removed.len());
        let counts = match (created, changed, removed, self.released.len()) {
            (0, 0, 0, 0) => "no changes".to_owned(),
            (_, _, _, 0) => {
                format!("{created} to create, {changed} to change, {removed} to remove")
            }
            (_, _, 0, released) => {
                format!("{created} to create, {changed} to change, {released} to release")
            }
            (_, _, _, released) => format!(
                "{created} to create, {changed} to change, {removed} to remove, {released} to release"
            ),
        };
        let refused = match self.changes.refused() {
            0 => String::new(),
            more => format!("{} cannot be changed; ", counted(more, "field")),
        };
        let refused = match self.changes.without_pool() {
            0 => refused,
            more => format!(
                "{refused}{} would lose the last pool; ",
                counted(more, "cluster")
            ),
        };
        let rolled = match self.rolled {
            nothing if nothing == Rolled::default() => String::new(),
            rolled => format!("; {rolled}"),
        };
        format!("{refused}{counts}{rolled}{}", unread_count(&self.unread))
    }

    /// What leaves because of files that are not read, then what is created, released and removed, then the changed
    /// values.
    pub(super) fn text(&self) -> String {
        let created = self.created.iter().map(|id| format!("create {id}"));
        let reordered = self.reordered.iter();
        let reordered = reordered.map(|id| format!("change {id}: only the order of values"));
        let released = self.released.iter();
        let released = released.map(|id| format!("release {id}, which stays in the cluster"));
        let mut text =
            unread_text(&self.unread) + &list(created) + &list(reordered) + &list(released);
        text += &list(self.removed.iter().cloned());
        if !text.is_empty() {
            text.push('\n');
        }
        text + &changes::text(&self.changes)
    }
}
