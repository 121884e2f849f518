//! U04 between a plan that is applied and that of a new revision.
//!
//! In: both, and the objects of some namespaces of the new revision. Out: the findings of the rule. It does not know: what is done about them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::Plan;
use super::diff::{Changes, owns_resources};
use crate::api::embedded;
use crate::model::{Finding, Object, ObjectId, Payload};

/// U04: what `new` would own of what an object of `applied` owns in Azure. `objects` are those of `new` in these namespaces;
/// they are asked for only if something leaves. What `new` names without applying it stays as it is.
#[must_use]
pub fn second_owners(
    new: &Plan,
    applied: &Plan,
    objects: impl FnOnce(&BTreeSet<&str>) -> Vec<Object>,
) -> Vec<Finding> {
    let owners = applied.steps.iter();
    let owners = owners.filter(|step| owns_resources(&step.object));
    let before: BTreeMap<&ObjectId, &Payload> = owners
        .map(|step| (&*step.object, &step.action.payload))
        .collect();
    let mut gone = before.clone();
    let kept = new.steps.iter().map(|step| &*step.object);
    for kept in kept.chain(&new.outside) {
        gone.remove(kept);
    }
    let mut changes = Changes::default();
    let mut lessened: BTreeSet<&ObjectId> = BTreeSet::new();
    for step in &new.steps {
        let (id, payload) = (&*step.object, &step.action.payload);
        let old = before.get(id).filter(|_| embedded::carries(id));
        let old = old.filter(|old| old.hash() != payload.hash());
        if old.is_some_and(|old| changes.note_lost(id, &payload.json(), &old.json())) {
            lessened.insert(id);
        }
    }
    if gone.is_empty() && lessened.is_empty() {
        return Vec::new();
    }
    let is_new = |id: &&ObjectId| owns_resources(id) && !before.contains_key(id);
    let fresh = new.steps.iter().map(|step| &*step.object).filter(is_new);
    let namespaces = fresh.chain(gone.keys().copied()).chain(lessened);
    let namespaces = namespaces.map(|id| id.namespace.as_str()).collect();
    let gone: Vec<Json> = gone.values().map(|payload| payload.json()).collect();
    changes.succeed(&gone, &objects(&namespaces), |id| !before.contains_key(id));
    changes.refusals().cloned().collect()
}
