//! U04: new objects that own in Azure what objects own that leave the fleet.
//!
//! In: the objects that leave, as they were applied, and those of the new revision. Out: the findings of the rule. It
//! does not know what the objects own.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;

use super::Changes;
use crate::api::embedded;
use crate::health::Live;
use crate::model::{Node, Object, ObjectId, Origin, Span};
use crate::rules;

/// Returns true if an object is a resource of Azure or has some.
#[must_use]
pub fn owns_resources(id: &ObjectId) -> bool {
    rules::has_resources(id)
}

impl Changes {
    /// Looks for second owners of what `gone` owns in Azure: objects as they were applied that the new revision with
    /// `objects` lacks, whether they are deleted or kept. `is_new` says which of `objects` are created. Objects that
    /// were [added](Self::add) before count, too, since they may lose resources.
    pub fn succeed<'a>(
        &mut self,
        gone: impl IntoIterator<Item = &'a Json>,
        objects: &[Object],
        is_new: impl Fn(&ObjectId) -> bool,
    ) {
        let applied = Origin::new(Span::top(&Arc::from("")));
        let read = |json: &Json| {
            let owns = rules::has_resources(&Live(json).id());
            owns.then(|| Object::from_node(Node::from_json(json, &applied), ""))?
        };
        let mut left: Vec<Object> = gone.into_iter().filter_map(read).collect();
        left.extend(self.lessened.iter().filter_map(read));
        self.second_owners = rules::second_owners(&left, objects, is_new);
    }

    /// The namespaces of the objects that were [added](Self::add) and lose embedded resources.
    pub fn lessened(&self) -> impl Iterator<Item = &str> {
        self.lessened.iter().map(|object| Live(object).namespace())
    }

    /// Keeps `before` if the object `now` lacks a resource that it had, and returns whether it does. Both have this id.
    pub(in crate::plan) fn note_lost(&mut self, id: &ObjectId, now: &Json, before: &Json) -> bool {
        if !embedded::carries(id) {
            return false;
        }
        let [now, had] = [now, before].map(|object| -> BTreeSet<ObjectId> {
            let resources = Live(object).list(&["spec", "resources"]).iter();
            let resources = resources.map(|one| ObjectId {
                namespace: id.namespace.clone(),
                ..Live(one).id()
            });
            resources.collect()
        });
        let is_less = !had.is_subset(&now);
        self.lessened.extend(is_less.then(|| before.clone()));
        is_less
    }

    /// The number of resources that would have a second owner.
    #[must_use]
    pub const fn owned_twice(&self) -> usize {
        self.second_owners.len()
    }
}
