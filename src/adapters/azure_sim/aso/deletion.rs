//! How a resource is deleted: first in Azure, then ASO removes its finalizer.
//!
//! In: a resource that is being deleted. Out: writes up to the removal of the finalizer, and Azure without it. What Azure
//! never made, must not touch, or deletes together with the owner is deleted at once.

use jiff::Timestamp;

use super::super::azure::Azure;
use super::marks::{Marks, Operation};
use super::policy::{Policy, policy};
use super::{gate, status};
use crate::api::labels::{ASO_FINALIZER, RESOURCE_ID};
use crate::api::{aso, timeline};
use crate::health::Live;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{Outcome, unfinalize};
use crate::reconcile::world::World;

/// What to do next.
pub(super) fn reconcile(
    azure: &Azure,
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
) -> Outcome {
    let mut outcome = Outcome::default();
    let finalizers = live.list(&["metadata", "finalizers"]);
    if !finalizers.iter().any(|held| held == ASO_FINALIZER) {
        return outcome;
    }
    let owner = gate::owner(live);
    let orphaned = owner.as_ref().is_some_and(|id| world.get(id).is_absent());
    let id = live.annotation(RESOURCE_ID);
    let untouched = policy(live) != Policy::Manage || id.is_empty();
    if orphaned && !untouched {
        azure.delete(id);
    }
    if orphaned || untouched {
        outcome.maybe(unfinalize(live, ASO_FINALIZER));
        return outcome;
    }
    owner.into_iter().for_each(|id| outcome.need(id));
    let running = Operation::of(live).filter(|operation| operation.is_about(live));
    let operation = running.unwrap_or_else(|| Operation::starting(live, now));
    let time = timeline::deletion(&live.id());
    let due = operation.start.checked_add(time).unwrap_or(Timestamp::MAX);
    if now >= due {
        azure.delete(id);
        outcome.maybe(unfinalize(live, ASO_FINALIZER));
        return outcome;
    }
    outcome.wake_at(due);
    outcome.maybe(Marks::of(live).kept_owners().operation(operation).write());
    let condition =
        NewCondition::no(aso::DELETING, "The resource is being deleted").severe(aso::INFO);
    outcome.maybe(status::report(live, now, condition, Some("Deleting")));
    outcome
}
