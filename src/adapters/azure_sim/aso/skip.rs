//! A resource that ASO only looks at, by its policy `skip`.
//!
//! In: a resource, its owner, and what exists in Azure. Out: ready with what Azure reports, or not found. Looking takes no
//! time, and changes nothing in Azure (facts/aro-rules.md §1.3).

use std::time::Duration;

use jiff::Timestamp;

use super::super::azure::Azure;
use super::super::network;
use super::marks::Marks;
use super::policy::{Policy, policy};
use super::{arm, credential, deletion, gate, outputs, status};
use crate::api::aso;
use crate::api::embedded;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::Outcome;
use crate::reconcile::private_link;
use crate::reconcile::world::World;

/// The time after which a resource that is being made is looked at again.
const AGAIN: Duration = Duration::from_secs(10);

/// What ASO finds. The owner must be in the cluster: it is part of the id to look for.
pub(super) fn look(azure: &Azure, world: World<'_>, live: Live<'_>, now: Timestamp) -> Outcome {
    let mut outcome = Outcome::default();
    let owner = gate::owner(live);
    let known = owner
        .as_ref()
        .is_none_or(|id| world.get(id).present().is_some());
    let reference = owner.as_ref().and_then(|id| gate::reference_to(world, id));
    owner.into_iter().for_each(|id| outcome.need(id));
    if !known {
        let message = "The owner does not exist";
        let condition = NewCondition::no(aso::WAITING_FOR_OWNER, message).severe(aso::WARNING);
        outcome.maybe(status::report(live, now, condition, None));
        return outcome;
    }
    let id = arm::id(world, live);
    if let Some((reason, message)) = credential::missing(world, live, &mut outcome) {
        let condition = NewCondition::no(reason, message).severe(aso::WARNING);
        outcome.maybe(status::report(live, now, condition, None));
        return outcome;
    }
    if let Some(refusal) = credential::denied(azure, live, &id) {
        outcome.wake_at(now + deletion::RETRY);
        let condition = NewCondition::no(refusal.code, refusal.message).severe(aso::WARNING);
        outcome.maybe(status::report(live, now, condition, None));
        return outcome;
    }
    if azure.has_prerequisites() && is_chosen(world, live) && !azure.has(&id) {
        azure.put(&id, outputs::state(azure, live, &id));
    }
    match azure.get(&id) {
        // Azure reports the tags of a resource from the first moment on; here they are known once it is made.
        Some(state) if state.is_null() && network::is_known(live) => {
            outcome.wake_at(now + AGAIN);
            let condition = NewCondition::no(aso::RECONCILING, "").severe(aso::INFO);
            outcome.maybe(status::report(live, now, condition, None));
        }
        Some(state) => {
            let marks = Marks::of(live).owned_by(reference).id(id.clone());
            outcome.maybe(marks.write());
            outcome.maybe(status::found(live, now, &id, state));
        }
        None => {
            let message = format!("{id} was not found");
            let condition = NewCondition::no(aso::AZURE_RESOURCE_NOT_FOUND, message);
            let condition = condition.severe(aso::WARNING);
            outcome.maybe(status::report(live, now, condition, None));
        }
    }
    outcome
}

/// Whether a person chose the policy, not a controller that looks before it manages: that one embeds the resource without
/// it.
fn is_chosen(world: World<'_>, live: Live<'_>) -> bool {
    if !live.annotation(private_link::names::OWNER).is_empty() {
        return false;
    }
    let mut owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
    let Some(owner) = owners.find(|owner| owner.flag(&["controller"])) else {
        return true;
    };
    let id = ObjectId::new(
        owner.group(),
        owner.kind(),
        live.namespace(),
        owner.text(&["name"]),
    );
    if !embedded::carries(&id) {
        return true;
    }
    let items = world
        .get(&id)
        .present()
        .map(|owner| owner.list(&["spec", "resources"]));
    let is_it = |item: &Live<'_>| {
        (item.group(), item.kind(), item.name()) == (live.group(), live.kind(), live.name())
    };
    let item = items.unwrap_or_default().iter().map(Live).find(is_it);
    item.is_some_and(|item| policy(item) == Policy::Skip)
}
