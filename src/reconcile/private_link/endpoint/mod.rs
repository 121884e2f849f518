//! The endpoint controller: the customer's side of a connection.
//!
//! In: an AzurePrivateLinkService whose service the platform controller has made, and the credential of the cluster. Out:
//! the Private Endpoint, and the DNS zones, links and records that lead to it, in the namespace of the HostedCluster; the
//! conditions about them, and the one about the whole. It touches nothing of the management side, and names its service
//! only by what the status says.

mod connection;
mod deletion;
mod dns;
mod report;
mod secret;
mod sight;

use jiff::Timestamp;
use serde_json::json;

use self::sight::Sight;
use super::away;
use super::credential::{Source, Use, release};
use super::denied::unless_denied;
use super::link::{Link, is_paused};
use super::names::{self, ENDPOINT_FINALIZER, is_held_by};
use super::resource::unseen;
use super::state::{ERROR, SUCCESS, State, invalid, is_current};
use crate::api::azure_private_link_service::{
    AVAILABLE, CONDITIONS, DNS_AVAILABLE, ENDPOINT_AVAILABLE, SERVICE_CREATED,
};
use crate::api::fleet::Mode;
use crate::api::platform::HYPERSHIFT;
use crate::api::private_link_reasons as r;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{self, Outcome, patch_of};
use crate::reconcile::world::World;

/// The conditions that this controller writes.
const OWN: [&str; 3] = [ENDPOINT_AVAILABLE, DNS_AVAILABLE, AVAILABLE];
/// The fields of the status that this controller writes.
const FIELDS: [&str; 5] = [
    "privateEndpointID",
    "privateEndpointIP",
    "privateDNSZoneID",
    "dnsZoneName",
    "baseDomainDNSZoneID",
];

/// Makes the customer's side of the connection that `live` describes.
pub(super) fn reconcile(world: World<'_>, live: Live<'_>, now: Timestamp, mode: Mode) -> Outcome {
    let outcome = decide(world, live, now, mode);
    unless_denied(world, live, now, outcome, |why, outcome| {
        let mut state = State::of(live, &OWN, &FIELDS);
        state.set(ENDPOINT_AVAILABLE, why);
        summarize(live, &mut state);
        state.write(live, now, outcome);
    })
}

fn decide(world: World<'_>, live: Live<'_>, now: Timestamp, mode: Mode) -> Outcome {
    let mut outcome = Outcome::default();
    let plane = plane(world, live, &mut outcome);
    let of_plane = (plane, live.namespace());
    if !away::is_ending(live, ENDPOINT_FINALIZER) {
        let why = away::from_object(live, mode, now, &mut outcome)
            .or_else(|| away::from_control_plane(world, of_plane, mode, &mut outcome));
        if away::is_told(live, why, &mut outcome) {
            return outcome;
        }
    }
    let mut state = State::of(live, &OWN, &FIELDS);
    let link = match Link::of(world, live, &mut outcome) {
        Ok(link) => link,
        Err(why) => {
            state.set(ENDPOINT_AVAILABLE, invalid(live, why, ENDPOINT_FINALIZER));
            summarize(live, &mut state);
            state.write(live, now, &mut outcome);
            return outcome;
        }
    };
    let finalizers = live.list(&["metadata", "finalizers"]);
    if finalizers.iter().any(|held| held == ENDPOINT_FINALIZER) {
        // Ours stands for what it stood for, and nobody else would remove it.
        let theirs = names::HYPERSHIFT_PLANE_FINALIZER;
        outcome.maybe(plane.and_then(|plane| outcome::unfinalize(plane, theirs)));
    }
    if live.is_deleting() {
        deletion::reconcile(world, &link, now, &mut state, &mut outcome);
    } else if is_paused(link.hosted, now, &mut outcome) {
        return outcome;
    } else if let Err((kind, condition)) = provide(world, &link, now, &mut state, &mut outcome) {
        state.set(kind, condition);
        if kind == ENDPOINT_AVAILABLE {
            let message = "Waiting for the Private Endpoint";
            state.set(
                DNS_AVAILABLE,
                NewCondition::no(r::WAITING_FOR_ENDPOINT, message),
            );
        }
    }
    summarize(live, &mut state);
    report::reconcile(&link, &state, now, &mut outcome);
    state.write(live, now, &mut outcome);
    outcome
}

/// A condition that does not hold, with its type.
type Failed = (&'static str, NewCondition);

/// The control plane that the object describes.
fn plane<'a>(world: World<'a>, live: Live<'a>, outcome: &mut Outcome) -> Option<Live<'a>> {
    let mut owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
    let is_plane =
        |owner: &Live<'_>| owner.kind() == "HostedControlPlane" && owner.group() == HYPERSHIFT;
    let owner = owners.find(is_plane)?;
    let name = owner.text(&["name"]);
    let id = ObjectId::new(HYPERSHIFT, "HostedControlPlane", live.namespace(), name);
    let found = world.get(&id).present();
    outcome.need(id);
    found
}

/// Goes through the steps, as far as they are possible.
fn provide(
    world: World<'_>,
    link: &Link<'_>,
    now: Timestamp,
    state: &mut State,
    outcome: &mut Outcome,
) -> Result<(), Failed> {
    let at_endpoint = |condition| (ENDPOINT_AVAILABLE, condition);
    let Some(hosted) = link.hosted else {
        let message = unseen(world, &link.cluster);
        return Err(at_endpoint(NewCondition::no(
            r::HOSTED_CLUSTER_NOT_FOUND,
            message,
        )));
    };
    let id = link.cluster_id();
    if id.is_empty() {
        let message = format!(
            "Waiting for HyperShift to give {} a cluster ID",
            link.cluster
        );
        return Err(at_endpoint(NewCondition::no(
            r::WAITING_FOR_CLUSTER_ID,
            message,
        )));
    }
    if !is_held_by(link.live, ENDPOINT_FINALIZER) && !is_current(link.live, SERVICE_CREATED) {
        let message = "Waiting for the Private Link Service";
        return Err(at_endpoint(NewCondition::no(
            r::WAITING_FOR_SERVICE,
            message,
        )));
    }
    let source = Source::of_cluster(hosted);
    hold(world, link, &source, outcome);
    let made = names::secret(&link.cluster);
    let credential = Use {
        source: &source,
        namespace: &link.cluster.namespace,
        secret: &made,
        subscription: link.text("subscriptionID"),
        environment: link.environment(),
    };
    let credential = credential.keep(world, now, outcome).map_err(at_endpoint)?;
    let scene = Sight {
        world,
        link,
        now,
        credential: &credential,
    };
    let endpoint = connection::keep(&scene, outcome).map_err(at_endpoint)?;
    let available = NewCondition::yes(SUCCESS, "Private Endpoint is available");
    state.set(ENDPOINT_AVAILABLE, available);
    state.field("privateEndpointID", endpoint.id);
    state.field("privateEndpointIP", endpoint.address);
    dns::keep(&scene, endpoint.address, state, outcome)
        .map_err(|condition| (DNS_AVAILABLE, condition))?;
    let available = NewCondition::yes(
        SUCCESS,
        "The names of the cluster lead to the Private Endpoint",
    );
    state.set(DNS_AVAILABLE, available);
    if !matches!(source, Source::Identity(_)) {
        // No resource names the Secret of an identity that the cluster used before.
        release(world, scene.namespace(), &made, outcome);
    }
    Ok(())
}

/// Holds the object before anything is made.
fn hold(world: World<'_>, link: &Link<'_>, source: &Source, outcome: &mut Outcome) {
    let mut patch = patch_of(link.live);
    if let Some(record) = secret::hold(world, link, source, outcome) {
        patch["metadata"]["annotations"] = record;
    }
    patch["metadata"]["finalizers"] = json!([ENDPOINT_FINALIZER]);
    outcome.maybe(outcome::apply(link.live, patch));
    let theirs = names::HYPERSHIFT_ENDPOINT_FINALIZER;
    outcome.maybe(outcome::unfinalize(link.live, theirs));
}

/// The whole is available when all of its parts are.
fn summarize(live: Live<'_>, state: &mut State) {
    let parts = CONDITIONS.iter().filter(|kind| **kind != AVAILABLE);
    let failing: Vec<&str> = parts
        .filter(|kind| !state.holds(live, kind))
        .copied()
        .collect();
    let condition = if failing.is_empty() {
        NewCondition::yes(
            SUCCESS,
            "All Azure Private Link Service resources are available",
        )
    } else {
        let list = failing.join(", ");
        NewCondition::no(ERROR, format!("Not True for the present spec: {list}"))
    };
    state.set(AVAILABLE, condition);
}
