//! U04 between a plan that is applied and the objects of a new revision.
//!
//! In: both. Out: the findings of the rule. It does not know: what is done about them.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde_json::Value as Json;

use super::diff::{Changes, owns_resources};
use super::{ApplySet, Plan};
use crate::api::embedded;
use crate::graph::Graph;
use crate::model::{Finding, Object, ObjectId, Payload};

/// U04: which of `objects`, as members of `set`, would own what an object of `applied` owns in Azure. What `graph`
/// names without applying it stays as it is.
#[must_use]
pub fn second_owners(
    set: &ApplySet,
    objects: &[Object],
    graph: &Graph,
    applied: &Plan,
) -> Vec<Finding> {
    let owners = applied.steps.iter();
    let owners = owners.filter(|step| owns_resources(&step.object));
    let before: BTreeMap<&ObjectId, &Payload> = owners
        .map(|step| {
            let payload = &step.action.payload;
            (&step.object, payload)
        })
        .collect();
    let carriers = objects.par_iter();
    let carriers = carriers.filter(|object| embedded::carries(&object.id));
    let changed: Vec<(&Object, &Payload)> = carriers
        .filter_map(|object| Some((object, *before.get(&object.id)?)))
        .filter(|(object, old)| old.hash() != super::payload(object, set).hash())
        .collect();
    let mut changes = Changes::default();
    for (object, old) in changed {
        changes.note_lost(object, &old.json());
    }
    let mut gone = before.clone();
    let outside = graph.outside().map(|named| &named.id);
    for kept in objects.iter().map(|object| &object.id).chain(outside) {
        gone.remove(kept);
    }
    let gone: Vec<Json> = gone.values().map(|payload| payload.json()).collect();
    changes.succeed(&gone, objects, |id| !before.contains_key(id));
    changes.refusals().cloned().collect()
}
