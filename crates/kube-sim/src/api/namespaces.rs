//! The end of a namespace.
//!
//! In: a namespace that is being deleted. Out: its content is deleted, its status lists what is left,
//! and it is let go once it is empty. Source: the namespace controller of kube-controller-manager.

use std::collections::BTreeMap;

use serde_json::Value;

use super::address::Address;
use super::conditions::{condition, set_condition};
use super::delete;
use super::managers::{CONTROLLERS, Hand};
use super::metadata::{self, KUBERNETES};
use super::options::{DeleteOptions, Propagation};
use super::part::Part;
use super::resources::Resource;
use super::rules::{
    namespace_finalizers as finalizers, set_namespace_finalizers as set_finalizers,
};
use super::store::State;

/// Deletes what is in a namespace, and lets the namespace go once it is empty.
pub(super) fn terminate(state: &mut State, namespaces: &Resource, address: &Address, now: &str) {
    let is_finalized = |state: &State| {
        let namespace = state.get(address).map(super::object::Stored::stored_value);
        namespace.is_none_or(|namespace| finalizers(&namespace).next().is_none())
    };
    if is_finalized(state) {
        return;
    }
    let left = delete_content(state, address.name(), now);
    let hand = |part| Hand {
        resource: namespaces,
        part,
        manager: CONTROLLERS,
        now,
    };
    delete::edit(state, hand(Part::Status), address, |namespace| {
        for condition in left.conditions() {
            set_condition(namespace, condition, now);
        }
    });
    if left.objects.is_empty() {
        delete::edit(state, hand(Part::Finalize), address, |namespace| {
            let kept: Vec<Value> = finalizers(namespace)
                .filter(|one| *one != KUBERNETES)
                .cloned()
                .collect();
            set_finalizers(namespace, &kept);
        });
    }
}

/// What could not be deleted yet.
#[derive(Default)]
struct Left {
    /// How many objects, by `resource.group`.
    objects: BTreeMap<String, usize>,
    /// How many objects wait for a finalizer.
    finalizers: BTreeMap<String, usize>,
}

fn delete_content(state: &mut State, namespace: &str, now: &str) -> Left {
    let options = DeleteOptions {
        propagation: Some(Propagation::Background),
        ..DeleteOptions::default()
    };
    let mut left = Left::default();
    let resources: Vec<_> = state.registry.all().cloned().collect();
    for resource in resources.iter().filter(|resource| resource.namespaced) {
        for content in state.addresses(&resource.collection, namespace) {
            // It was there a moment ago and nobody else writes in between.
            let _ = delete::delete(state, resource, &content, &options, now);
            let Some(held) = state.get(&content) else {
                continue;
            };
            let name = format!("{}.{}", resource.plural, resource.group);
            *left.objects.entry(name).or_default() += 1;
            for finalizer in metadata::finalizers(&held.stored_value()) {
                *left.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
    }
    left
}

impl Left {
    fn conditions(&self) -> [Value; 5] {
        let counted = |counts: &BTreeMap<String, usize>, joint: &str| {
            let counted = counts
                .iter()
                .map(|(name, count)| format!("{name} {joint} {count} resource instances"));
            counted.collect::<Vec<_>>().join(", ")
        };
        let fine =
            |kind: &str, reason: &str, message: &str| condition(kind, "False", reason, message);
        let content = match self.objects.is_empty() {
            true => fine(
                "NamespaceContentRemaining",
                "ContentRemoved",
                "All content successfully removed",
            ),
            false => {
                let message = format!(
                    "Some resources are remaining: {}",
                    counted(&self.objects, "has")
                );
                condition(
                    "NamespaceContentRemaining",
                    "True",
                    "SomeResourcesRemain",
                    &message,
                )
            }
        };
        let finalizers = match self.finalizers.is_empty() {
            true => fine(
                "NamespaceFinalizersRemaining",
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
            false => {
                let counted = counted(&self.finalizers, "in");
                let message =
                    format!("Some content in the namespace has finalizers remaining: {counted}");
                condition(
                    "NamespaceFinalizersRemaining",
                    "True",
                    "SomeFinalizersRemain",
                    &message,
                )
            }
        };
        [
            fine(
                "NamespaceDeletionDiscoveryFailure",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            fine(
                "NamespaceDeletionGroupVersionParsingFailure",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            fine(
                "NamespaceDeletionContentFailure",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            content,
            finalizers,
        ]
    }
}
