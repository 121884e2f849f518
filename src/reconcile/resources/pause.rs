//! Pauses embedded resources: ASO keeps its hands off them in Azure until they are resumed.
//!
//! In: an owner and the resources it wants. Out: writes, and an entry for each. Only the policy of existing resources is
//! written, so that nothing else that was applied is lost, and nothing comes into being that waits for something.

use serde_json::{Value, json};

use super::entry::Entry;
use super::items::{self, Item};
use super::ledger::{Ledger, recorded};
use super::report::{self, State};
use super::{owners, policy, prune, skip};
use crate::api::capi::BLOCK_MOVE;
use crate::api::conditions::KEPT_WHILE_PAUSED;
use crate::api::labels::{PRE_PAUSE_POLICY, RECONCILE_POLICY, SKIP};
use crate::reconcile::outcome::{Need, Outcome, Write, patch_of};

/// Makes ASO skip everything that the owner controls, listed or not, whatever its policy. The owner may be moved once all
/// of it is seen to be skipped: what is moved before that is deleted in Azure.
pub(in crate::reconcile) fn pause(
    ledger: &Ledger<'_>,
    list: &[Value],
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let owner = ledger.owner;
    let is_blocked = owner.at(&["metadata", "annotations", BLOCK_MOVE]).is_some();
    let mut entries = Vec::new();
    for item in items::read(owner, list) {
        entries.push(one(ledger, item, outcome));
    }
    if skip_all(ledger, outcome) && is_blocked {
        let mut patch = patch_of(owner);
        patch["metadata"]["annotations"] = json!({BLOCK_MOVE: null});
        outcome.write(Write::Merge(patch));
    }
    let left = prune::unlisted(ledger, &entries, KEPT_WHILE_PAUSED);
    entries.extend(left);
    for entry in &mut entries {
        let live = ledger.world.get(&entry.id).present();
        if live.is_some_and(|live| skip::skip(live).is_some()) {
            report::refused(ledger.world, entry);
        }
    }
    entries
}

/// Skips what the owner controls; whether ASO skips all of it already. What is being deleted is awaited.
fn skip_all(ledger: &Ledger<'_>, outcome: &mut Outcome) -> bool {
    let mut is_done = need_recorded(ledger, outcome);
    for (id, live) in prune::controlled(ledger) {
        let is_known = ledger.world.is_synced(&id.into());
        is_done &= is_known && live.annotation(RECONCILE_POLICY) == SKIP;
        outcome.need(id.clone());
        outcome.maybe(skip::skip(live).filter(|_| is_known));
    }
    is_done
}

/// Ends a pause while nothing can be applied: what the owner controls gets its policy back, or that of the list.
pub(in crate::reconcile) fn resume(ledger: &Ledger<'_>, list: &[Value], outcome: &mut Outcome) {
    need_recorded(ledger, outcome);
    let items = items::read(ledger.owner, list);
    for (id, live) in prune::controlled(ledger) {
        let is_paused = live
            .at(&["metadata", "annotations", PRE_PAUSE_POLICY])
            .is_some();
        if !is_paused || live.is_deleting() {
            continue;
        }
        outcome.need(id.clone());
        let item = items.iter().find(|item| item.id == *id);
        let write = match item.and_then(|item| policy::written(item.value)) {
            Some(written) => skip::lift(live, written),
            None => Some(skip::resume(live, owners::policy(live))),
        };
        outcome.maybe(write.filter(|_| ledger.world.is_synced(&id.into())));
    }
}

/// Needs every kind of which the owner may have something. Returns whether all are known.
pub(in crate::reconcile) fn need_recorded(ledger: &Ledger<'_>, outcome: &mut Outcome) -> bool {
    let mut is_known = true;
    for kind in recorded(ledger.owner) {
        is_known &= ledger.world.is_synced(&kind);
        outcome.needs.push(Need::Synced(kind));
    }
    is_known
}

fn one(ledger: &Ledger<'_>, item: Item<'_>, outcome: &mut Outcome) -> Entry {
    if let Some(fault) = item.fault.as_ref().filter(|fault| !fault.is_harmless) {
        return report::faulty(item.id, item.value.version(), fault);
    }
    let live = ledger.world.get(&item.id).present();
    outcome.need(item.id.clone());
    report::entry(ledger, item, live, &State::Applied)
}
