//! How a resource is deleted: first in Azure, then ASO removes its finalizer.
//!
//! In: a resource that is being deleted. Out: writes up to the removal of the finalizer, and Azure without it. What Azure
//! never made, must not touch, or has deleted with something else is let go at once. What Azure refuses to delete is asked
//! for again, whatever the error is.

use std::time::Duration;

use jiff::Timestamp;

use super::super::aro;
use super::super::azure::Azure;
use super::super::network;
use super::marks::{Marks, Operation};
use super::policy::{Policy, policy};
use super::{credential, status};
use crate::api::labels::{ASO_FINALIZER, RESOURCE_ID};
use crate::api::{aso, timeline};
use crate::health::Live;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{Outcome, unfinalize};
use crate::reconcile::world::World;

/// How long ASO waits at most after a failure that it retries slowly.
pub(super) const RETRY: Duration = Duration::from_secs(180);

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
    let id = live.annotation(RESOURCE_ID);
    if policy(live) != Policy::Manage || id.is_empty() || !azure.has(id) {
        outcome.maybe(unfinalize(live, ASO_FINALIZER));
        return outcome;
    }
    let running = Operation::of(live).filter(|operation| operation.is_about(live));
    if let Some((reason, message)) = credential::missing(world, live, &mut outcome) {
        let condition = NewCondition::no(reason, message).severe(aso::WARNING);
        outcome.maybe(status::report(live, now, condition, None));
        return outcome;
    }
    if let Some(refusal) = credential::denied(azure, live, id) {
        let condition = NewCondition::no(refusal.code, refusal.message).severe(aso::WARNING);
        outcome.wake_at(now + RETRY);
        outcome.maybe(status::report(live, now, condition, None));
        return outcome;
    }
    let refusal = aro::refuse_deletion(azure, id, now);
    let refusal = refusal.or_else(|| network::refuse_deletion(azure, id));
    let operation = match (running, refusal) {
        (Some(operation), _) => operation,
        (None, None) => Operation::starting(live, now),
        (None, Some(refusal)) => {
            let message = format!("deleting resource {id:?}: {}", refusal.message);
            let condition = NewCondition::no(aso::FAILED, message).severe(aso::WARNING);
            outcome.wake_at(now + RETRY);
            outcome.maybe(status::report(live, now, condition, None));
            return outcome;
        }
    };
    let time = timeline::deletion(&live.id());
    let due = operation.start.checked_add(time).unwrap_or(Timestamp::MAX);
    if now >= due && !aro::is_last_pool(azure, id) {
        azure.delete(id);
        outcome.maybe(unfinalize(live, ASO_FINALIZER));
        return outcome;
    }
    azure.begin_deletion(id, due);
    outcome.wake_at(if now < due { due } else { now + RETRY });
    outcome.maybe(Marks::of(live).kept_owners().operation(operation).write());
    let condition =
        NewCondition::no(aso::DELETING, "The resource is being deleted").severe(aso::INFO);
    outcome.maybe(status::report(live, now, condition, Some("Deleting")));
    outcome
}
