//! The end of the management side of a connection.
//!
//! In: an object that is being deleted. Out: the connections of others rejected, then the Private Link Service deleted, then
//! the subnet that was made for it, once the customer's side has gone. All is found by its name, so that nothing is left
//! if a status was lost, and the HostedCluster is not needed.

use jiff::{SignedDuration, Timestamp};

use super::super::credential::{Source, Use};
use super::super::link::Link;
use super::super::names::{
    self, ENDPOINT_FINALIZER, HYPERSHIFT_ENDPOINT_FINALIZER, SERVICE_FINALIZER, SERVICE_NAME,
    is_held_by,
};
use super::super::resource::{is_foreign, remove, undeletable};
use super::super::settings::PlatformSettings;
use super::super::state::State;
use super::site::{NO_MANAGEMENT, SECRET, subnet_id};
use crate::api::azure_private_link_service::SERVICE_CREATED;
use crate::api::private_link_reasons as r;
use crate::health::Live;
use crate::model::{AzureCaller, RejectRequest};
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{Need, Outcome, Write, unfinalize};
use crate::reconcile::world::World;

/// The time after which connections that were rejected are looked at again.
const AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// Does the next step, and says what is waited for.
pub(super) fn reconcile(
    world: World<'_>,
    link: &Link<'_>,
    now: Timestamp,
    settings: &PlatformSettings,
    state: &mut State,
    outcome: &mut Outcome,
) {
    if !is_held_by(link.live, SERVICE_FINALIZER) {
        return;
    }
    if let Some(waits) = next(world, link, now, settings, outcome) {
        state.set(SERVICE_CREATED, NewCondition::no(r::DELETING, waits));
    } else {
        outcome.maybe(unfinalize(link.live, SERVICE_FINALIZER));
    }
}

/// What the deletion waits for; `None` once nothing is left.
fn next(
    world: World<'_>,
    link: &Link<'_>,
    now: Timestamp,
    settings: &PlatformSettings,
    outcome: &mut Outcome,
) -> Option<String> {
    let endpoint = [ENDPOINT_FINALIZER, HYPERSHIFT_ENDPOINT_FINALIZER];
    if let Some(finalizer) = endpoint.into_iter().find(|one| is_held_by(link.live, one)) {
        return Some(format!(
            "The service is deleted once the endpoint and the names of the cluster are gone, which the finalizer {finalizer} stands for"
        ));
    }
    let path = link.path();
    refresh(link, world, now, settings, outcome);
    if let Some(name) = service_name(link) {
        let id = names::aso("PrivateLinkService", &settings.namespace, &name);
        outcome.need(id.clone());
        let service = world.get(&id).present();
        let is_ours =
            |service: &Live<'_>| service.annotation(names::OWNER) == path && !is_foreign(*service);
        // A connection that came meanwhile may be why Azure does not delete the service.
        let service = service.filter(is_ours);
        let service = service.filter(|one| !one.is_deleting() || undeletable(*one).is_some());
        if let Some(service) = service
            && let Some(waits) = reject_of(link, world, (service, now), settings, outcome)
        {
            return Some(waits);
        }
        let recorded = link.live.text(&["status", "privateLinkServiceID"]);
        if let Some(waits) = remove(world, (&id, recorded), &path, outcome) {
            return Some(waits);
        }
    }
    let subnet = subnet_id(&settings.namespace, &link.cluster);
    remove(world, (&subnet, ""), &path, outcome)
}

/// The name of the service: as it was recorded before it was made, or as it follows from the cluster.
fn service_name(link: &Link<'_>) -> Option<String> {
    let recorded = link.live.annotation(SERVICE_NAME);
    let id = link.cluster_id();
    match (recorded, id) {
        ("", "") => None,
        ("", id) => Some(names::service(id)),
        (recorded, _) => Some(recorded.to_owned()),
    }
}

/// Keeps the credential up to date with which the resources are deleted.
fn refresh(
    link: &Link<'_>,
    world: World<'_>,
    now: Timestamp,
    settings: &PlatformSettings,
    outcome: &mut Outcome,
) {
    if let Some(management) = settings.place.of(link.text("natSubnetID")) {
        let source = Source::Identity(management.identity);
        let credential = Use {
            source: &source,
            namespace: &settings.namespace,
            secret: SECRET,
            subscription: &management.subscription,
            environment: link.environment(),
        };
        // What it waits for shows in the resource.
        let _ = credential.keep(world, now, outcome);
    }
}

/// Rejects the connections of others to the service of a connection.
fn reject_of(
    link: &Link<'_>,
    world: World<'_>,
    (service, now): (Live<'_>, Timestamp),
    settings: &PlatformSettings,
    outcome: &mut Outcome,
) -> Option<String> {
    let id = service.text(&["status", "id"]);
    if id.is_empty() {
        return None;
    }
    let Some(management) = settings.place.of(link.text("natSubnetID")) else {
        return Some(NO_MANAGEMENT.to_owned());
    };
    let caller = AzureCaller {
        identity: management.identity,
        namespace: settings.namespace.clone(),
        environment: link.environment().to_owned(),
    };
    reject(world, (id, caller), now, outcome)
}

/// Rejects all connections to a service, since Azure deletes no service that has some. Returns what is waited for.
pub(super) fn reject(
    world: World<'_>,
    (service, caller): (&str, AzureCaller),
    now: Timestamp,
    outcome: &mut Outcome,
) -> Option<String> {
    let request = RejectRequest {
        service: service.to_owned(),
        caller,
    };
    let answer = world.connections(&request);
    outcome.needs.push(Need::Connections(request.clone()));
    let fresh = answer.filter(|answer| now.duration_since(answer.at) < AGAIN);
    match fresh.map(|answer| &answer.found) {
        Some(Ok(0)) => None,
        Some(Ok(count)) => {
            outcome.wake_at(now + AGAIN);
            Some(format!(
                "{count} connections to the service are being rejected"
            ))
        }
        Some(Err(error)) => {
            outcome.write(Write::RejectConnections(request));
            Some(error.to_string())
        }
        None => {
            outcome.write(Write::RejectConnections(request));
            let message = answer.and_then(|answer| answer.found.as_ref().err());
            Some(message.map_or_else(
                || "Looking for connections to the service".to_owned(),
                ToString::to_string,
            ))
        }
    }
}
