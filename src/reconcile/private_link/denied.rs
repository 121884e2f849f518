//! A decision that needs a kind which may not be watched.
//!
//! In: a decision. Out: the same; or, if such a kind is needed, only a report of the right that is missing, since nothing
//! is written on a guess. It does not know what the kind is needed for.

use jiff::{SignedDuration, Timestamp};

use crate::api::conditions::KIND_NOT_READABLE;
use crate::health::Live;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{Need, Outcome};
use crate::reconcile::world::{GroupKind, World};

/// The time after which it is looked again whether the right was granted.
const AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// The decision, unless it needs a kind that may not be watched. `report` writes the condition that says so, if it is known that
/// the object is ours.
pub(super) fn unless_denied(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    outcome: Outcome,
    report: impl FnOnce(NewCondition, &mut Outcome),
) -> Outcome {
    let denied = |need: &Need| {
        let kind = need.kind().filter(|kind| !world.is_synced(kind))?;
        let why = world.denied(&kind)?;
        Some((kind, why))
    };
    let Some((kind, why)) = outcome.needs.iter().find_map(denied) else {
        return outcome;
    };
    let GroupKind { group, kind } = &kind;
    let message = format!(
        "nothing is done for this object, since it needs the kind {kind} of the group \"{group}\", which may not be watched: {why}"
    );
    let needs = outcome.needs.iter();
    let needs = needs.filter(|need| denied(need).is_none()).cloned();
    let mut said = Outcome {
        needs: needs.collect(),
        ..Outcome::default()
    };
    said.wake_at(now + AGAIN);
    // Without the Deployments it is not known whether HyperShift connects the cluster.
    if group == "apps" {
        said.event(live, true, KIND_NOT_READABLE, message);
    } else {
        report(NewCondition::no(KIND_NOT_READABLE, message), &mut said);
    }
    said
}
