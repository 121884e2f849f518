//! Embedded resources: applying those of a list, deleting those that left it, and reporting which are
//! ready (facts/aro-controllers.md §6).
//!
//! In: an owner and the resources it wants. Out: writes, what was looked at, and an entry for each.
//! Kinds are recorded on the owner before anything of the kind is applied, so that a restart in
//! between orphans nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::conditions::NewCondition;
use super::links;
use super::outcome::{Need, Outcome, Write, apply, covers, delete, patch_of, release};
use super::world::{GroupKind, World};
use crate::api::capi::BLOCK_MOVE;
use crate::api::conditions::{self, READY};
use crate::health::Live;
use crate::model::ObjectId;

/// Where the kinds are recorded: `Kind.version.group;…`.
const LEDGER: &str = "sigs.k8s.io/cluster-api-provider-azure-owned-aso-kinds";

/// How far one embedded resource is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// What names it.
    pub(super) id: ObjectId,
    /// The version it is written at.
    pub(super) version: String,
    /// Whether ASO reports its newest spec as ready.
    pub(super) ready: bool,
}

/// Copies of the embedded resources of `owner`.
pub(super) fn wanted(owner: Live<'_>) -> Vec<Value> {
    owner.list(&["spec", "resources"]).to_vec()
}

/// The id of an embedded resource, which lives in its owner's namespace whatever it specifies.
pub(super) fn id(owner: Live<'_>, item: &Value) -> ObjectId {
    let item = Live(item);
    ObjectId::new(item.group(), item.kind(), owner.namespace(), item.name())
}

/// The owner's finalizer and the record of kinds, with more of the owner's fields in `patch`.
pub(super) fn mark(
    owner: Live<'_>,
    finalizer: &str,
    items: &[Value],
    spec: Value,
) -> Option<Write> {
    let mut patch = patch_of(owner);
    patch["metadata"]["finalizers"] = json!([finalizer]);
    patch["metadata"]["annotations"] = json!({BLOCK_MOVE: "true", LEDGER: ledger(items)});
    if !spec.is_null() {
        patch["spec"] = spec;
    }
    apply(owner, patch)
}

/// The kinds recorded on the owner. Only once they are synced is it known what the owner controls.
fn recorded(owner: Live<'_>) -> impl Iterator<Item = Need> {
    let entries = owner.annotation(LEDGER).split(';');
    entries.filter_map(|entry| {
        let mut parts = entry.splitn(3, '.');
        let (kind, group) = (parts.next()?, parts.nth(1)?);
        Some(Need::Synced(GroupKind::new(group, kind)))
    })
}

fn ledger(items: &[Value]) -> String {
    let kind = |item: &Value| {
        let live = Live(item);
        let version = live.version();
        format!("{}.{version}.{}", live.kind(), live.group())
    };
    let kinds: BTreeSet<String> = items.iter().map(kind).collect();
    kinds.into_iter().collect::<Vec<_>>().join(";")
}

/// Applies `items` and deletes what the owner had besides.
pub(super) fn reconcile(
    world: World<'_>,
    owner: Live<'_>,
    items: &[Value],
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for item in items {
        let id = id(owner, item);
        let live = world.get(&id).present();
        outcome.need(id.clone());
        let patch = payload(owner, item);
        let held = live.is_some_and(|live| live.is_deleting() || covers(live.0, &patch));
        if !held {
            outcome.write(Write::Apply(patch));
        }
        let version = Live(item).version().to_owned();
        let ready = live.is_some_and(|live| live.holds(READY));
        entries.push(Entry { id, version, ready });
    }
    let kept: BTreeSet<ObjectId> = entries.iter().map(|entry| entry.id.clone()).collect();
    entries.extend(remove(world, owner, &kept, outcome));
    entries
}

/// What is sent for an embedded resource.
fn payload(owner: Live<'_>, item: &Value) -> Value {
    let mut patch = item.clone();
    patch["metadata"]["namespace"] = json!(owner.namespace());
    patch["metadata"]["ownerReferences"] = json!([links::owned_by(owner, true)]);
    patch
}

/// Deletes what the owner controls beyond `kept`; an entry for each that is still there.
pub(super) fn remove(
    world: World<'_>,
    owner: Live<'_>,
    kept: &BTreeSet<ObjectId>,
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let controls = |live: &Live<'_>| {
        let owners = live.list(&["metadata", "ownerReferences"]).iter();
        owners
            .map(Live)
            .any(|held| held.text(&["uid"]) == owner.uid() && held.flag(&["controller"]))
    };
    outcome.needs.extend(recorded(owner));
    let mut left = Vec::new();
    for live in world.owned(owner.uid()).filter(controls) {
        if kept.contains(&live.id()) {
            continue;
        }
        outcome.need(live.id());
        outcome.maybe(delete(live));
        left.push(Entry {
            id: live.id(),
            version: live.version().to_owned(),
            ready: false,
        });
    }
    left
}

/// Deletes all that the owner controls, then releases the owner. The entries that are left.
pub(super) fn take_down(world: World<'_>, owner: Live<'_>, outcome: &mut Outcome) -> Vec<Entry> {
    let left = remove(world, owner, &BTreeSet::new(), outcome);
    if left.is_empty() {
        outcome.write(release(owner));
    }
    left
}

/// Entries as the status holds them.
pub(super) fn listed(entries: &[Entry]) -> Value {
    let entry = |entry: &Entry| {
        let Entry { id, version, ready } = entry;
        let resource =
            json!({"group": id.group, "version": version, "kind": id.kind, "name": id.name});
        json!({"resource": resource, "ready": ready})
    };
    entries.iter().map(entry).collect()
}

/// The Ready condition that ASO reports of a resource, with its severity in brackets.
pub(super) fn reported(
    resource: Option<Live<'_>>,
    missing: NewCondition,
    default: &str,
) -> NewCondition {
    let Some(resource) = resource else {
        return missing;
    };
    let ready = resource
        .condition(conditions::READY)
        .filter(|ready| resource.is_current(*ready));
    match ready {
        Some(ready) if ready.is_true() => NewCondition::yes(conditions::SUCCEEDED, ""),
        Some(ready) => {
            let prefix = match ready.severity() {
                severity @ ("Error" | "Warning") => format!("[{severity}] "),
                _ => String::new(),
            };
            NewCondition::no(ready.reason(), format!("{prefix}{}", ready.message()))
        }
        None => NewCondition::no(conditions::PROVISIONING, default),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_recorded_and_read_back() {
        let item = |api_version: &str, kind: &str| json!({"apiVersion": api_version, "kind": kind});
        let items = [
            item("network.azure.com/v1", "VirtualNetwork"),
            item("keyvault.azure.com/v1", "Vault"),
            item("keyvault.azure.com/v1", "Vault"),
        ];
        let written = ledger(&items);
        assert_eq!(
            written,
            "Vault.v1.keyvault.azure.com;VirtualNetwork.v1.network.azure.com"
        );
        let owner = json!({"metadata": {"annotations": {LEDGER: written}}});
        let needs: Vec<Need> = recorded(Live(&owner)).collect();
        let synced = |group, kind| Need::Synced(GroupKind::new(group, kind));
        assert_eq!(
            needs,
            [
                synced("keyvault.azure.com", "Vault"),
                synced("network.azure.com", "VirtualNetwork")
            ]
        );
        assert_eq!(recorded(Live(&json!({}))).count(), 0);
    }
}
