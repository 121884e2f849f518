//! The kinds of embedded resources, recorded on their owner before anything of a kind is applied.
//!
//! In: an owner and the resources it wants. Out: the annotation, and what it says. It does not know what is applied.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::capi::BLOCK_MOVE;
use crate::api::fleet::FirstApply;
use crate::health::Live;
use crate::reconcile::outcome::{Outcome, apply, patch_of};
use crate::reconcile::world::{GroupKind, World};

/// Where the kinds are recorded: `Kind.version.group;…`.
pub(super) const LEDGER: &str = "sigs.k8s.io/cluster-api-provider-azure-owned-aso-kinds";

/// An owner of embedded resources, and what there is to know for them.
#[derive(Clone, Copy)]
pub(in crate::reconcile) struct Ledger<'a> {
    /// What is known of the cluster.
    pub(in crate::reconcile) world: World<'a>,
    /// The owner.
    pub(in crate::reconcile) owner: Live<'a>,
    /// The name of its Cluster, for the tag in Azure.
    pub(in crate::reconcile) cluster: &'a str,
    /// How a resource is applied for the first time.
    pub(in crate::reconcile) first_apply: FirstApply,
    /// The time.
    pub(in crate::reconcile) now: Timestamp,
}

/// Puts on the owner its finalizer and the record of kinds, with more of its fields in `spec`.
pub(in crate::reconcile) fn mark(
    ledger: &Ledger<'_>,
    finalizer: &str,
    items: &[Value],
    spec: Value,
    outcome: &mut Outcome,
) {
    let mut patch = patch_of(ledger.owner);
    patch["metadata"]["finalizers"] = json!([finalizer]);
    patch["metadata"]["annotations"] = json!({BLOCK_MOVE: "true", LEDGER: record(items)});
    if !spec.is_null() {
        patch["spec"] = spec;
    }
    outcome.maybe(apply(ledger.owner, patch));
}

/// The kinds recorded on the owner. Only once they are synced is it known what the owner controls.
pub(super) fn recorded(owner: Live<'_>) -> impl Iterator<Item = GroupKind> {
    let entries = owner.annotation(LEDGER).split(';');
    entries.filter_map(|entry| {
        let mut parts = entry.splitn(3, '.');
        let (kind, group) = (parts.next()?, parts.nth(1)?);
        Some(GroupKind::new(group, kind))
    })
}

fn record(items: &[Value]) -> String {
    let kind = |item: &Value| {
        let live = Live(item);
        let version = live.version();
        format!("{}.{version}.{}", live.kind(), live.group())
    };
    let kinds: BTreeSet<String> = items.iter().map(kind).collect();
    kinds.into_iter().collect::<Vec<_>>().join(";")
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
        let written = record(&items);
        assert_eq!(
            written,
            "Vault.v1.keyvault.azure.com;VirtualNetwork.v1.network.azure.com"
        );
        let owner = json!({"metadata": {"annotations": {LEDGER: written}}});
        let kinds: Vec<GroupKind> = recorded(Live(&owner)).collect();
        assert_eq!(
            kinds,
            [
                GroupKind::new("keyvault.azure.com", "Vault"),
                GroupKind::new("network.azure.com", "VirtualNetwork")
            ]
        );
        assert_eq!(recorded(Live(&json!({}))).count(), 0);
    }
}
