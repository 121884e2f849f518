//! The kinds of embedded resources, recorded on their owner before anything of a kind is applied.
//!
//! In: an owner and the resources it wants. Out: the annotation, and what it says. It does not know what is applied.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::items;
use crate::api::capi::BLOCK_MOVE;
use crate::api::fleet::FirstApply;
use crate::api::labels::OWNED_KINDS;
use crate::health::Live;
use crate::reconcile::outcome::{Outcome, Write, apply, patch_of};
use crate::reconcile::settings::ProcessIdentity;
use crate::reconcile::world::{GroupKind, World};

/// An owner of embedded resources, and what there is to know for them.
#[derive(Clone, Copy)]
pub(in crate::reconcile) struct Ledger<'a> {
    /// What is known of the cluster.
    pub(in crate::reconcile) world: World<'a>,
    /// The owner.
    pub(in crate::reconcile) owner: Live<'a>,
    /// The name of its Cluster, for the tag in Azure.
    pub(in crate::reconcile) cluster: &'a str,
    /// The Secret with the credential for resources that name none; empty if Azure Service Operator chooses.
    pub(in crate::reconcile) credential: &'a str,
    /// How a resource is applied for the first time.
    pub(in crate::reconcile) first_apply: FirstApply,
    /// Whether resources that are deleted stay in Azure.
    pub(in crate::reconcile) stays_in_azure: bool,
    /// The identity of this process, if it has one.
    pub(in crate::reconcile) process: Option<&'a ProcessIdentity>,
    /// The time.
    pub(in crate::reconcile) now: Timestamp,
}

/// Puts on the owner its finalizer and the record of kinds, with more of its fields in `spec`.
pub(in crate::reconcile) fn mark(
    ledger: &Ledger<'_>,
    finalizer: &str,
    list: &[Value],
    spec: Value,
    outcome: &mut Outcome,
) {
    let owner = ledger.owner;
    let record = record(ledger, list);
    let mut annotations = json!({BLOCK_MOVE: "true"});
    if !record.is_empty() {
        annotations[OWNED_KINDS] = json!(record);
    } else if owner
        .at(&["metadata", "annotations", OWNED_KINDS])
        .is_some()
    {
        let mut patch = patch_of(owner);
        patch["metadata"]["annotations"] = json!({OWNED_KINDS: null});
        outcome.write(Write::Merge(patch));
    }
    let mut patch = patch_of(owner);
    patch["metadata"]["finalizers"] = json!([finalizer]);
    patch["metadata"]["annotations"] = annotations;
    if !spec.is_null() {
        patch["spec"] = spec;
    }
    outcome.maybe(apply(owner, patch));
}

/// The kinds recorded on the owner. Only once they are synced is it known what the owner controls.
pub(super) fn recorded(owner: Live<'_>) -> impl Iterator<Item = GroupKind> {
    let entries = owner.annotation(OWNED_KINDS).split(';');
    let parts = entries.filter_map(parts);
    parts.map(|[kind, _, group]| GroupKind::new(group, kind))
}

/// Kind, version and group of an entry of the record; `None` if it cannot be read.
fn parts(entry: &str) -> Option<[&str; 3]> {
    let (kind, rest) = entry.split_once('.')?;
    let (version, group) = rest.split_once('.')?;
    let complete = !kind.is_empty() && !group.is_empty();
    complete.then_some([kind, version, group])
}

/// The kinds in the list, and those recorded before of which there may still be something.
fn record(ledger: &Ledger<'_>, list: &[Value]) -> String {
    let mut kinds: BTreeSet<[&str; 3]> = items::kinds(list).collect();
    for entry in ledger.owner.annotation(OWNED_KINDS).split(';') {
        let Some([kind, version, group]) = parts(entry) else {
            continue;
        };
        let is_listed = kinds
            .iter()
            .any(|listed| (listed[0], listed[2]) == (kind, group));
        if !is_listed && may_have(ledger, &GroupKind::new(group, kind)) {
            kinds.insert([kind, version, group]);
        }
    }
    let entries: Vec<String> = kinds.iter().map(|parts| parts.join(".")).collect();
    entries.join(";")
}

/// Whether the owner may have something of a kind.
fn may_have(ledger: &Ledger<'_>, kind: &GroupKind) -> bool {
    let mut owned = ledger.world.owned_ids(ledger.owner.uid());
    !ledger.world.is_synced(kind) || owned.any(|id| GroupKind::from(id) == *kind)
}
