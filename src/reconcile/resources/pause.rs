//! Pauses embedded resources: ASO keeps its hands off them in Azure until they are resumed.
//!
//! In: an owner and the resources it wants. Out: writes, and an entry for each. Only the policy of existing resources is
//! written, so that nothing else that was applied is lost, and nothing comes into being that waits for something.

use serde_json::{Value, json};

use super::entry::Entry;
use super::items::{self, Item};
use super::ledger::Ledger;
use super::owners::{self, Controller};
use super::prune;
use super::report::{self, State};
use super::skip::skip;
use crate::api::capi::BLOCK_MOVE;
use crate::api::conditions::KEPT_WHILE_PAUSED;
use crate::health::Live;
use crate::reconcile::outcome::{Outcome, Write, patch_of};

/// Makes ASO skip the resources of `list` that exist, whatever their policy, and lets the owner be moved.
pub(in crate::reconcile) fn pause(
    ledger: &Ledger<'_>,
    list: &[Value],
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let owner = ledger.owner;
    if owner.at(&["metadata", "annotations", BLOCK_MOVE]).is_some() {
        let mut patch = patch_of(owner);
        patch["metadata"]["annotations"] = json!({BLOCK_MOVE: null});
        outcome.write(Write::Merge(patch));
    }
    let mut entries = Vec::new();
    for item in items::read(owner, list) {
        entries.push(one(ledger, item, outcome));
    }
    let left = prune::unlisted(ledger, &entries, KEPT_WHILE_PAUSED);
    entries.extend(left);
    entries
}

fn one(ledger: &Ledger<'_>, item: Item<'_>, outcome: &mut Outcome) -> Entry {
    if let Some(fault) = item.fault.as_ref().filter(|fault| !fault.is_harmless) {
        return report::faulty(item.id, item.value.version(), fault);
    }
    let live = ledger.world.get(&item.id).present();
    outcome.need(item.id.clone());
    let is_ours = |live: &Live<'_>| {
        let controller = owners::controller(ledger.owner, *live);
        matches!(controller, Controller::Owner) && ledger.world.is_synced(&(&item.id).into())
    };
    outcome.maybe(live.filter(is_ours).and_then(skip));
    report::entry(ledger, item, live, &State::Applied)
}
