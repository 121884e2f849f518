//! The kinds of embedded resources, recorded on their owner before anything of a kind is applied.
//!
//! In: an owner and the resources it wants. Out: the annotation, and what it says. It does not know what is applied.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::items;
use crate::api::capi::BLOCK_MOVE;
use crate::api::fleet::FirstApply;
use crate::api::kinds::is_aso;
use crate::api::labels::OWNED_KINDS;
use crate::health::Live;
use crate::reconcile::outcome::{Need, Outcome, Write, apply, patch_of};
use crate::reconcile::settings::{ProcessIdentity, Settings};
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

impl<'a> Ledger<'a> {
    /// An owner that belongs to a Cluster of this name, before its credential is known.
    pub(in crate::reconcile) fn new(
        (world, owner, now): (World<'a>, Live<'a>, Timestamp),
        cluster: &'a str,
        settings: &'a Settings,
    ) -> Self {
        Self {
            world,
            owner,
            cluster,
            credential: "",
            first_apply: settings.first_apply,
            stays_in_azure: false,
            process: settings.identity.as_ref(),
            now,
        }
    }
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

/// Whether an owner has any resource. Needs every kind of which it may have one.
pub(in crate::reconcile) fn has_any(
    world: World<'_>,
    owner: Live<'_>,
    outcome: &mut Outcome,
) -> bool {
    outcome.needs.extend(recorded(owner).map(Need::Synced));
    world.owned_ids(owner.uid()).any(|id| is_aso(&id.group))
}

/// Records on an owner the kinds of resources that it is about to have; `None` if they are recorded.
pub(super) fn record_also(owner: Live<'_>, resources: &[Live<'_>]) -> Option<Write> {
    let known: BTreeSet<GroupKind> = recorded(owner).collect();
    let resources = resources.iter().copied();
    let new = resources.filter(|live| !known.contains(&GroupKind::from(&live.id())));
    let new: BTreeSet<String> = new
        .map(|live| [live.kind(), live.version(), live.group()].join("."))
        .collect();
    if new.is_empty() {
        return None;
    }
    let held = owner.annotation(OWNED_KINDS).split(';');
    let held = held.filter(|entry| !entry.is_empty());
    let all: Vec<&str> = held.chain(new.iter().map(String::as_str)).collect();
    let mut patch = patch_of(owner);
    // Others may be about to record kinds here, too.
    patch["metadata"]["resourceVersion"] = json!(owner.text(&["metadata", "resourceVersion"]));
    patch["metadata"]["annotations"] = json!({OWNED_KINDS: all.join(";")});
    Some(Write::Merge(patch))
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
