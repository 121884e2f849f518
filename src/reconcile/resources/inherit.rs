//! Gives what an owner has to another owner, which deletes it later.
//!
//! In: an owner that goes, another one, and what it is to have. Out: writes, and whether nothing is left to give. The kinds are
//! recorded on the other owner first, so that it looks for them after a restart, too. It does not know why.

use serde_json::{Value, json};

use super::ledger::{Ledger, record_also};
use super::pause::need_recorded;
use super::prune;
use crate::health::Live;
use crate::reconcile::links::owned_by;
use crate::reconcile::outcome::{Outcome, Write, without};

/// Makes `heir` the controller of what the owner controls and `is_given`. Returns whether nothing of it is left.
pub(in crate::reconcile) fn hand_on(
    ledger: &Ledger<'_>,
    heir: Live<'_>,
    is_given: impl Fn(Live<'_>) -> bool,
    outcome: &mut Outcome,
) -> bool {
    need_recorded(ledger, outcome);
    let controlled = prune::controlled(ledger);
    let given: Vec<Live<'_>> = controlled
        .map(|(_, live)| live)
        .filter(|live| is_given(*live))
        .collect();
    if given.is_empty() {
        return true;
    }
    outcome.need(heir.id());
    for live in &given {
        outcome.need(live.id());
    }
    match record_also(heir, &given) {
        Some(write) => outcome.write(write),
        None => {
            let writes = given.iter().map(|live| inherit(*live, heir));
            outcome.writes.extend(writes);
        }
    }
    false
}

/// Replaces the controller of a resource; what else owns it stays.
fn inherit(live: Live<'_>, heir: Live<'_>) -> Write {
    let held = live.list(&["metadata", "ownerReferences"]).iter();
    let others = held.filter(|owner| {
        let owner = Live(owner);
        !owner.flag(&["controller"]) && owner.text(&["uid"]) != heir.uid()
    });
    let mut owners: Vec<Value> = others.cloned().collect();
    owners.push(owned_by(heir, true));
    without(live, "ownerReferences", json!(owners))
}
