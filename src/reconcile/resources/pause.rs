//! Pauses embedded resources: ASO keeps its hands off them in Azure until they are resumed.
//!
//! In: an owner and the resources it wants. Out: writes, and an entry for each. Only the policy of existing resources is
//! written, so that nothing else that was applied is lost, and nothing comes into being that waits for something.

use serde_json::{Value, json};

use super::entry::Entry;
use super::items::{self, Item};
use super::ledger::{Ledger, recorded};
use super::prune;
use super::report::{self, State};
use super::skip::skip;
use crate::api::capi::BLOCK_MOVE;
use crate::api::conditions::KEPT_WHILE_PAUSED;
use crate::api::labels::{RECONCILE_POLICY, SKIP};
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
    entries
}

/// Skips what the owner controls; whether ASO skips all of it already. What is being deleted is awaited.
fn skip_all(ledger: &Ledger<'_>, outcome: &mut Outcome) -> bool {
    let mut is_done = true;
    for kind in recorded(ledger.owner) {
        is_done &= ledger.world.is_synced(&kind);
        outcome.needs.push(Need::Synced(kind));
    }
    for (id, live) in prune::controlled(ledger) {
        let is_known = ledger.world.is_synced(&id.into());
        is_done &= is_known && live.annotation(RECONCILE_POLICY) == SKIP;
        outcome.need(id.clone());
        outcome.maybe(skip(live).filter(|_| is_known));
    }
    is_done
}

fn one(ledger: &Ledger<'_>, item: Item<'_>, outcome: &mut Outcome) -> Entry {
    if let Some(fault) = item.fault.as_ref().filter(|fault| !fault.is_harmless) {
        return report::faulty(item.id, item.value.version(), fault);
    }
    let live = ledger.world.get(&item.id).present();
    outcome.need(item.id.clone());
    report::entry(ledger, item, live, &State::Applied)
}
