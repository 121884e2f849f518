//! Pauses embedded resources.

use serde_json::Value;

use super::entry::Entry;
use super::ledger::Ledger;
use crate::api::conditions::READY;
use crate::health::Live;
use crate::reconcile::outcome::Outcome;

/// Leaves the resources as they are, and reports them.
pub(in crate::reconcile) fn pause(
    ledger: &Ledger<'_>,
    items: &[Value],
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let entry = |item: &Value| {
        let id = super::id(ledger.owner, item);
        let live = ledger.world.get(&id).present();
        outcome.need(id.clone());
        Entry {
            id,
            version: Live(item).version().to_owned(),
            ready: live.is_some_and(|live| live.holds(READY)),
            message: String::new(),
            concern: None,
        }
    };
    items.iter().map(entry).collect()
}
