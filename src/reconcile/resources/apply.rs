//! Applies embedded resources.
//!
//! In: an owner and the resources it wants. Out: writes, and an entry for each. Nothing of a kind is applied before the
//! owner, as it is known, records the kind. It does not know the order in which resources become ready: Azure Service
//! Operator waits for owners and references.

use std::collections::BTreeSet;

use serde_json::Value;

use super::concerns;
use super::entry::Entry;
use super::items::{self, Item};
use super::ledger::{Ledger, recorded};
use super::payload::Payload;
use super::policy::{self, Policy, Terms};
use super::report::{self, State};
use super::{owners, prune, skip};
use crate::api::conditions::KEPT_WHILE_UNREADABLE;
use crate::api::labels::SKIP;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::{Need, Outcome};
use crate::reconcile::world::GroupKind;

/// Applies `list` and deletes what the owner controls besides; nothing is deleted while an item of the list cannot be
/// read.
pub(in crate::reconcile) fn reconcile(
    ledger: &Ledger<'_>,
    list: &[Value],
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let items = items::read(ledger.owner, list);
    let is_readable = items.iter().all(Item::is_named);
    let recorded: Vec<GroupKind> = recorded(ledger.owner).collect();
    let mut entries = Vec::with_capacity(items.len());
    for item in items {
        entries.push(one(ledger, item, &recorded, outcome));
    }
    let left = match is_readable {
        true => {
            let kept: BTreeSet<&ObjectId> = entries.iter().map(|entry| &entry.id).collect();
            prune::take_unlisted(ledger, &kept, outcome)
        }
        false => prune::unlisted(ledger, &entries, KEPT_WHILE_UNREADABLE),
    };
    entries.extend(left);
    concerns::report(ledger.owner, &entries, outcome);
    entries
}

/// Applies one item, if it may be.
fn one(
    ledger: &Ledger<'_>,
    item: Item<'_>,
    recorded: &[GroupKind],
    outcome: &mut Outcome,
) -> Entry {
    if let Some(fault) = item.fault.as_ref().filter(|fault| !fault.is_harmless) {
        return report::faulty(item.id, item.value.version(), fault);
    }
    outcome.need(item.id.clone());
    let live = ledger.world.get(&item.id).present();
    if !ledger.world.is_synced(&(&item.id).into()) {
        return report::entry(ledger, item, live, &State::Pending);
    }
    let state = match policy::decide(ledger, &item, live, outcome) {
        Policy::LeaveTo(controller) => State::LeftTo(controller),
        Policy::LeaveAlone => State::LeftAlone,
        Policy::Resume(policy) => {
            outcome.maybe(live.map(|live| skip::resume(live, policy)));
            State::Applied
        }
        Policy::Release => {
            outcome.maybe(live.map(skip::release));
            State::Applied
        }
        Policy::Apply(terms) => send(ledger, &item, live, (terms, recorded), outcome),
    };
    report::entry(ledger, item, live, &state)
}

/// Sends a payload unless the cluster has it.
fn send(
    ledger: &Ledger<'_>,
    item: &Item<'_>,
    live: Option<Live<'_>>,
    (terms, recorded): (Terms<'_>, &[GroupKind]),
    outcome: &mut Outcome,
) -> State {
    let id = &item.id;
    let payload = Payload::new(ledger, item.value, live, terms);
    let next = payload.next(live);
    let is_held = next.is_none();
    if !is_held && !live.is_some_and(Live::is_deleting) {
        let is_recorded = |kind: &GroupKind| kind.group == id.group && kind.kind == id.kind;
        if ledger.world.is_unserved(&id.into()) {
            outcome.needs.push(Need::Synced(id.into()));
        } else if recorded.iter().any(is_recorded) {
            outcome.maybe(next);
        }
    }
    let is_taken = |live| is_held || payload.is_applied(live) || payload.is_specified(live);
    let is_skipped = |live| terms.policy.is_empty() && is_held && owners::policy(live) == SKIP;
    match live.is_some_and(is_taken) {
        true if terms.is_foreign => State::Foreign,
        // Ours is off: somebody else's is left, and nobody would hear that nothing reaches Azure.
        true if policy::written(item.value).is_none() && live.is_some_and(is_skipped) => {
            State::Skipped
        }
        true => State::Applied,
        false => State::Pending,
    }
}
