//! What one revision changes against another, as it is read in a plan check.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use rayon::prelude::*;
use serde_json::Value as Json;

use super::changes;
use super::leaving::Leaving;
use super::parts::{counted, list, unread_count, unread_text};
use super::unread::Unread;
use crate::apply::DeletionGuard;
use crate::compile::Compiled;
use crate::graph::about;
use crate::model::markdown::markdown;
use crate::model::{Change, Object, ObjectId, Payload, Step};
use crate::plan::{self, ApplySet, Changes, Plan, Rolled};

/// The most clusters that are named.
const NAMED: usize = 5;

/// Objects that one revision has and another has not, or has otherwise.
pub(super) struct Differences {
    created: Vec<ObjectId>,
    /// Those with the same values in another order.
    reordered: Vec<ObjectId>,
    /// What becomes of those that it lacks.
    pub(super) leaving: Leaving,
    /// In words: the files that define nothing any more, and which of the objects leave for that.
    unread: Vec<String>,
    pub(super) changes: Changes,
    rolled: Rolled,
    /// The clusters that any of this touches, and how many the revision has.
    clusters: (BTreeSet<String>, usize),
    /// How long it takes until all is ready.
    takes: Duration,
}

/// What `new` changes against `old`, as members of `set`, if new role assignments need `settle`.
pub(super) fn differences(
    set: &ApplySet,
    new: &Compiled,
    old: Option<&Plan>,
    guard: &DeletionGuard,
    settle: Duration,
) -> Differences {
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
    let (mut created, mut reordered) = (Vec::new(), Vec::new());
    let (mut changes, mut clusters) = (Changes::default(), BTreeSet::new());
    for (object, differs) in new.objects.iter().zip(differing) {
        let is_changed = match before.remove(&object.id) {
            None => {
                created.push(object.id.clone());
                true
            }
            Some(old) if differs => {
                let sent = plan::payload(object, set).json();
                if !changes.add(object, &old.json(), &sent) {
                    reordered.push(object.id.clone());
                }
                true
            }
            Some(_) => false,
        };
        if is_changed {
            clusters.extend(plan::cluster(object));
        }
    }
    created.sort();
    reordered.sort();
    let rolled = rolled(&changes, new);
    // What the new revision names it keeps.
    for kept in new.graph.outside() {
        before.remove(&kept.id);
    }
    let gone = before.iter().map(|(id, payload)| (*id, *payload));
    let unread = Unread::of(&new.findings).lines(gone);
    let owners = before.iter().filter(|(id, _)| plan::owns_resources(id));
    let owners: Vec<Json> = owners.map(|(_, payload)| payload.json()).collect();
    changes.succeed(&owners, &new.objects, |id| {
        created.binary_search(id).is_ok()
    });
    let leaving = Leaving::of(new, &before, guard);
    before.retain(|id, _| id.kind == "AROMachinePool" && !leaving.released.contains(*id));
    let pools: Vec<Json> = before.values().map(|payload| payload.json()).collect();
    changes.remove(&pools, &new.objects);
    clusters.extend(leaving.clusters.iter().cloned());
    let is_new: HashSet<&ObjectId> = created.iter().collect();
    let takes = plan::estimate(&new.graph, &is_new, &changes, settle).max(leaving.takes);
    Differences {
        clusters: (clusters, new.graph.clusters().len()),
        takes,
        changes,
        unread,
        leaving,
        rolled,
        created,
        reordered,
    }
}

/// The nodes that are replaced.
fn rolled(changes: &Changes, new: &Compiled) -> Rolled {
    if changes.consequences().next().is_none() {
        return Rolled::default();
    }
    let objects: Vec<_> = new.objects.iter().map(plan::placed).collect();
    Rolled::count(objects.iter(), changes.consequences())
}

pub(super) fn payload(step: &Step) -> &Payload {
    &step.action.payload
}

impl Differences {
    /// The objects by what happens to them.
    fn counts(&self) -> BTreeMap<Change, usize> {
        let mut changed: BTreeMap<&ObjectId, Change> = BTreeMap::new();
        for field in self.changes.fields() {
            let change = changed.entry(&field.object).or_insert(Change::InPlace);
            *change = (*change).max(field.change());
        }
        let reordered = self.reordered.iter().map(|_| Change::InPlace);
        let created = self.created.iter().map(|_| Change::Create);
        let mut counts = BTreeMap::new();
        for change in changed.into_values().chain(reordered).chain(created) {
            *counts.entry(change).or_default() += 1;
        }
        self.leaving.count(&mut counts);
        counts
    }

    /// `1 to create, 2 to update; rolls 2 nodes of 1 cluster; about 9 min; 1 warning`
    pub(super) fn title(&self, warnings: usize) -> String {
        let mut parts = Vec::new();
        let mut fault = |count: usize, noun: &str, what: &str| {
            if count > 0 {
                parts.push(format!("{} {what}", counted(count, noun)));
            }
        };
        fault(
            self.changes.without_pool(),
            "cluster",
            "would lose the last pool",
        );
        fault(
            self.changes.owned_twice(),
            "resource",
            "in Azure would have two owners",
        );
        fault(self.changes.refused(), "field", "cannot be changed");
        let unapproved = self.leaving.unapproved.len();
        fault(
            unapproved,
            "deletion",
            match unapproved {
                1 => "needs approval",
                _ => "need approval",
            },
        );
        let counts = self.counts();
        match counts.is_empty() {
            true => parts.push("no fleet change".to_owned()),
            false => parts.push(plan::counts(&counts)),
        }
        if self.rolled != Rolled::default() {
            parts.push(self.rolled.to_string());
        }
        if self.takes > Duration::ZERO {
            parts.push(about(self.takes));
        }
        if warnings > 0 {
            parts.push(counted(warnings, "warning"));
        }
        parts.join("; ") + &unread_count(&self.unread)
    }

    /// Which clusters it touches, how many nodes it replaces, and how long it takes; empty without changes.
    pub(super) fn reach(&self) -> String {
        if self.counts().is_empty() {
            return String::new();
        }
        let (touched, all) = &self.clusters;
        let named: Vec<&str> = touched.iter().take(NAMED).map(String::as_str).collect();
        let more = match touched.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let clusters = match touched.len() {
            0 => "No cluster is touched".to_owned(),
            count => format!(
                "Touches {count} of {}: {}{more}",
                counted((*all).max(count), "cluster"),
                markdown(&named.join(", "))
            ),
        };
        let nodes = match self.rolled.nodes {
            0 => "no node is replaced".to_owned(),
            1 => "1 node is replaced".to_owned(),
            count => format!("{count} nodes are replaced"),
        };
        let time = match self.takes {
            Duration::ZERO => String::new(),
            takes => format!(
                " It takes {} until all is ready, as long as Azure usually needs.",
                about(takes)
            ),
        };
        format!("{clusters}; {nodes}.{time}\n\n")
    }

    /// What leaves because of files that are not read, then what is created, released and removed, then the changed
    /// values.
    pub(super) fn text(&self) -> String {
        let created = self.created.iter().map(|id| format!("create {id}"));
        let reordered = self.reordered.iter();
        let reordered = reordered.map(|id| format!("change {id}: only the order of values"));
        let released = self.leaving.released.iter();
        let released = released.map(|id| format!("release {id}, which stays in the cluster"));
        let mut text =
            unread_text(&self.unread) + &list(created) + &list(reordered) + &list(released);
        text += &list(self.leaving.removed.iter().cloned());
        if self.leaving.kept > 0 {
            let kept = counted(self.leaving.kept, "object");
            text +=
                &format!("- keep {kept} that the fleet no longer has: `spec.apply.prune` is off\n");
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text + &changes::text(&self.changes)
    }
}
