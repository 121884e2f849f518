//! How long a change takes until everything is ready again.
//!
//! In: the graph of the fleet, what is created and what changes. Out: a duration, by what each kind usually takes in
//! Azure. It does not know what is removed.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use super::Changes;
use crate::api::timeline;
use crate::graph::{Graph, Pace, Place, Schedule};
use crate::model::ObjectId;

/// How long it takes until what is `created` and what `changes` is ready, if new role assignments need `settle`.
#[must_use]
pub fn estimate(
    graph: &Graph,
    created: &HashSet<&ObjectId>,
    changes: &Changes,
    settle: Duration,
) -> Duration {
    let changed = changed(changes);
    let is_new = |at: usize, id: &ObjectId| match graph.vertices[at].place {
        Place::TopLevel(_) => created.contains(id),
        Place::Embedded(carrier) => {
            created.contains(&*graph.vertices[carrier].id) || changed.get(id) == Some(&true)
        }
        Place::Outside => false,
    };
    let pace = |at: usize, id: &ObjectId| match is_new(at, id) {
        true => Pace::Pending(timeline::creation(id)),
        false if changed.contains_key(id) => Pace::Pending(timeline::update(id)),
        false => Pace::Done,
    };
    Schedule::new(graph, pace, settle).total()
}

/// The objects and embedded resources that change, and whether they are new.
fn changed(changes: &Changes) -> BTreeMap<&ObjectId, bool> {
    let mut changed = BTreeMap::new();
    for field in changes.fields() {
        changed.entry(&field.object).or_insert(false);
        let is_new = field.name.is_empty() && field.old.value().is_none();
        *changed.entry(&field.part).or_insert(false) |= is_new && field.part != field.object;
    }
    changed
}
