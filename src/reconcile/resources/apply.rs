//! Applies embedded resources.
//!
//! In: an owner and the resources it wants. Out: writes, and an entry for each.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::entry::Entry;
use super::ledger::Ledger;
use super::prune;
use crate::api::conditions::READY;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::links;
use crate::reconcile::outcome::{Outcome, Write, covers};

/// The field manager of embedded resources: CAPZ's own, so that after a handover in either direction a field that leaves
/// the list is removed.
const MANAGER: &str = "capz-manager";

/// Applies `items` and deletes what the owner had besides.
pub(in crate::reconcile) fn reconcile(
    ledger: &Ledger<'_>,
    items: &[Value],
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for item in items {
        let id = super::id(ledger.owner, item);
        let live = ledger.world.get(&id).present();
        outcome.need(id.clone());
        let patch = payload(ledger.owner, item);
        let held = live.is_some_and(|live| live.is_deleting() || covers(live.0, &patch));
        if !held {
            outcome.write(Write::ApplyAs(MANAGER, patch));
        }
        let version = Live(item).version().to_owned();
        let ready = live.is_some_and(|live| live.holds(READY));
        entries.push(Entry {
            id,
            version,
            ready,
            message: String::new(),
            concern: None,
        });
    }
    let kept: BTreeSet<ObjectId> = entries.iter().map(|entry| entry.id.clone()).collect();
    let left = prune::remove(ledger, |live| !kept.contains(&live.id()), outcome);
    entries.extend(left);
    entries
}

/// What is sent for an embedded resource.
fn payload(owner: Live<'_>, item: &Value) -> Value {
    let mut patch = item.clone();
    patch["metadata"]["namespace"] = json!(owner.namespace());
    patch["metadata"]["ownerReferences"] = json!([links::owned_by(owner, true)]);
    patch
}
