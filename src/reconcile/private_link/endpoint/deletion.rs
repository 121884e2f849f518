//! The end of the customer's side of a connection.
//!
//! In: an object that is being deleted. Out: the records deleted, then the links and zones that no other cluster needs, then
//! the endpoint, then the Secret with the credential, and at last the finalizer. All is found by its name, so that nothing
//! is left if a status was lost.

use jiff::Timestamp;

use super::super::credential::{Source, Use, named, release};
use super::super::link::Link;
use super::super::names::{ENDPOINT_FINALIZER, SHARED, is_held_by, secret};
use super::super::resource::{DETACH, name, remove, settle};
use super::super::sharing::Sharing;
use super::super::state::State;
use super::connection;
use super::dns::{self, Zone};
use super::secret as made_by_hand;
use crate::api::azure_private_link_service::{DNS_AVAILABLE, ENDPOINT_AVAILABLE};
use crate::api::labels::MANAGE;
use crate::api::private_link_reasons as r;
use crate::model::ObjectId;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{Outcome, unfinalize};
use crate::reconcile::world::World;

/// Does the next step, and says what is waited for.
pub(super) fn reconcile(
    world: World<'_>,
    link: &Link<'_>,
    now: Timestamp,
    state: &mut State,
    outcome: &mut Outcome,
) {
    let live = link.live;
    if !is_held_by(live, ENDPOINT_FINALIZER) {
        return;
    }
    let namespace = &link.cluster.namespace;
    let deleting = |waits: String| NewCondition::no(r::DELETING, waits);
    if let Some(waits) = names(world, link, outcome) {
        refresh(world, link, now, outcome);
        return state.set(DNS_AVAILABLE, deleting(waits));
    }
    let gone = NewCondition::no(r::DELETED, "The names of the cluster are deleted");
    state.set(DNS_AVAILABLE, gone);
    let path = link.path();
    let recorded = live.text(&["status", "privateEndpointID"]);
    let endpoint = connection::id(&link.cluster);
    if let Some(waits) = remove(world, (&endpoint, recorded), &path, outcome) {
        refresh(world, link, now, outcome);
        return state.set(ENDPOINT_AVAILABLE, deleting(waits));
    }
    let is_released = release(world, namespace, &secret(&link.cluster), outcome);
    if is_released && made_by_hand::release(world, link, outcome) {
        outcome.maybe(unfinalize(live, ENDPOINT_FINALIZER));
    }
}

/// Deletes the names of the cluster. Returns what is still there.
fn names(world: World<'_>, link: &Link<'_>, outcome: &mut Outcome) -> Option<String> {
    let path = link.path();
    let namespace = &link.cluster.namespace;
    let credential = link.hosted.map(|hosted| named(hosted, &link.cluster));
    let credential = credential.as_deref();
    let mut waits = None;
    for zone in dns::zones(link) {
        for (end, _) in &zone.records {
            let left = remove(world, (&Zone::record(link, end), ""), &path, outcome);
            waits = waits.or(left);
        }
    }
    if waits.is_some() {
        return waits;
    }
    for zone in dns::zones(link) {
        let sharing = Sharing::of(world, link.live, &link.cluster, &zone.name, outcome);
        let objects = (zone.id(link, namespace), zone.link(link, namespace));
        let (is_needed, zone_policy) = end(&zone, &sharing);
        let (is_link_needed, link_policy) = end(&zone, &sharing.of_network());
        let mut left = None;
        if !is_link_needed {
            left = take_down(world, (&objects.1, ""), (link_policy, credential), outcome);
        }
        if left.is_none() && !is_needed {
            let recorded = link.live.text(&["status", zone.field()]);
            let wanted = (zone_policy, credential);
            left = take_down(world, (&objects.0, recorded), wanted, outcome);
        }
        waits = waits.or(left);
    }
    waits
}

/// Returns true if another cluster of the namespace needs the objects, and ASO's policy for their deletion in Azure. The zone of
/// internal names is one cluster's.
fn end(zone: &Zone, sharing: &Sharing<'_>) -> (bool, &'static str) {
    if zone.is_internal {
        return (false, MANAGE);
    }
    let policy = if sharing.is_needed_elsewhere() {
        DETACH
    } else {
        MANAGE
    };
    (sharing.is_needed_here(), policy)
}

/// Deletes an object that clusters shared, and with this policy and credential what Azure has. Returns what is still there.
fn take_down(
    world: World<'_>,
    id: (&ObjectId, &str),
    wanted: (&str, Option<&str>),
    outcome: &mut Outcome,
) -> Option<String> {
    if settle(world, id, SHARED, wanted, outcome) {
        remove(world, id, SHARED, outcome)
    } else {
        Some(format!("{} is being prepared for its deletion", name(id.0)))
    }
}

/// Keeps the credential up to date with which the resources are deleted.
fn refresh(world: World<'_>, link: &Link<'_>, now: Timestamp, outcome: &mut Outcome) {
    let Some(hosted) = link.hosted else { return };
    let secret = secret(&link.cluster);
    let source = Source::of_cluster(hosted);
    let credential = Use {
        source: &source,
        namespace: &link.cluster.namespace,
        secret: &secret,
        subscription: link.text("subscriptionID"),
        environment: link.environment(),
    };
    // What it waits for shows in the resources.
    let _ = credential.keep(world, now, outcome);
}
