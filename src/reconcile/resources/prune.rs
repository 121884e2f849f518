//! Deletes embedded resources.
//!
//! In: an owner, and which of its resources must go. Out: writes, and an entry for each that is still there.

use std::time::Duration;

use super::entry::Entry;
use super::ledger::{Ledger, recorded};
use crate::health::Live;
use crate::reconcile::outcome::{Need, Outcome, delete};

/// When to look again at a deletion that is under way.
const RECHECK: Duration = Duration::from_secs(15);

/// Deletes what the owner controls for which `is_doomed` holds; an entry for each that is still there. Looks again while
/// there is one.
pub(in crate::reconcile) fn remove(
    ledger: &Ledger<'_>,
    is_doomed: impl Fn(Live<'_>) -> bool,
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let owner = ledger.owner;
    outcome.needs.extend(recorded(owner).map(Need::Synced));
    let controls = |live: &Live<'_>| {
        let owners = live.list(&["metadata", "ownerReferences"]).iter();
        owners
            .map(Live)
            .any(|held| held.text(&["uid"]) == owner.uid() && held.flag(&["controller"]))
    };
    let mut left = Vec::new();
    for live in ledger.world.owned(owner.uid()).filter(controls) {
        if !is_doomed(live) {
            continue;
        }
        outcome.need(live.id());
        outcome.maybe(delete(live));
        left.push(Entry {
            id: live.id(),
            version: live.version().to_owned(),
            ready: false,
            message: String::new(),
            concern: None,
        });
    }
    if !left.is_empty() {
        outcome.wake_at(ledger.now.checked_add(RECHECK).unwrap_or(ledger.now));
    }
    left
}
