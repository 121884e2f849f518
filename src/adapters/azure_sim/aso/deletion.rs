//! How a resource goes: Azure deletes it, then ASO lets go.
//!
//! In: a resource that is being deleted. Out: writes up to the removal of the finalizer. What Azure
//! never made, must not touch, or deletes together with the owner goes at once.

use jiff::Timestamp;

use super::super::conditions::Word;
use super::super::outcome::{Outcome, release};
use super::super::world::World;
use super::marks::{Marks, Operation};
use super::policy::{Policy, policy};
use super::{gate, status};
use crate::api::labels::{ASO_FINALIZER, RESOURCE_ID};
use crate::api::{aso, timeline};
use crate::health::Live;

/// What to do next.
pub(super) fn decide(world: &World, live: Live<'_>, now: Timestamp) -> Outcome {
    let mut outcome = Outcome::rest();
    let finalizers = live.list(&["metadata", "finalizers"]);
    if !finalizers.iter().any(|held| held == ASO_FINALIZER) {
        return outcome;
    }
    let owner = gate::owner(live);
    let orphaned = owner.as_ref().is_some_and(|id| world.get(id).is_none());
    if orphaned || nothing_to_delete(live) {
        outcome.write(release(live));
        return outcome;
    }
    owner.into_iter().for_each(|id| outcome.need(id));
    let running = Operation::of(live).filter(|operation| operation.is_about(live));
    let operation = running.unwrap_or_else(|| Operation::starting(live, now));
    let time = timeline::deletion(&live.id());
    let due = operation.start.checked_add(time).unwrap_or(Timestamp::MAX);
    if now >= due {
        outcome.write(release(live));
        return outcome;
    }
    outcome.wake_at(due);
    outcome.maybe(Marks::of(live).kept_owners().operation(operation).write());
    let word = Word::no(aso::DELETING, "The resource is being deleted").severe(aso::INFO);
    outcome.maybe(status::says(live, now, word, Some("Deleting")));
    outcome
}

fn nothing_to_delete(live: Live<'_>) -> bool {
    policy(live) != Policy::Manage || live.annotation(RESOURCE_ID).is_empty()
}
