//! The platform controller: the management side of a connection.
//!
//! In: an AzurePrivateLinkService with the address of a load balancer, the identity of the management side, and the frontend
//! that Azure Resource Manager found. Out: the Private Link Service, and the subnet for its addresses if the cluster has no
//! other, in the namespace of this controller; the conditions about them. It touches nothing of the customer's side, and
//! nothing outside of the resource groups that it is given.

mod deletion;
mod service;
mod site;
mod subnet;

use jiff::Timestamp;
use serde_json::json;

use self::site::{NO_MANAGEMENT, SECRET, Site};
use self::subnet::Subnet;
use super::away;
use super::credential::{Source, Use};
use super::denied::unless_denied;
use super::link::{Link, is_paused};
use super::names::{self, SERVICE_FINALIZER, SERVICE_NAME};
use super::resource::unseen;
use super::settings::PlatformSettings;
use super::state::{SUCCESS, State, invalid, is_current};
use crate::api::azure_private_link_service::{LOAD_BALANCER_AVAILABLE, SERVICE_CREATED};
use crate::api::private_link_reasons as r;
use crate::health::Live;
use crate::model::{AzureFault, Frontend, FrontendRequest};
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{self, Need, Outcome, patch_of};
use crate::reconcile::world::World;

/// The conditions that this controller writes.
const OWN: [&str; 2] = [LOAD_BALANCER_AVAILABLE, SERVICE_CREATED];
/// The fields of the status that this controller writes.
const FIELDS: [&str; 3] = [
    "internalLoadBalancerID",
    "privateLinkServiceID",
    "privateLinkServiceAlias",
];

/// Makes the management side of the connection that `live` describes.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    settings: &PlatformSettings,
) -> Outcome {
    let outcome = decide(world, live, now, settings);
    unless_denied(world, live, now, outcome, |why, outcome| {
        let mut state = State::of(live, &OWN, &FIELDS);
        state.set(LOAD_BALANCER_AVAILABLE, why);
        state.write(live, now, outcome);
    })
}

fn decide(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    settings: &PlatformSettings,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mode = settings.mode;
    if !away::is_ending(live, SERVICE_FINALIZER) {
        let why = away::from_operator(world, mode, &mut outcome)
            .or_else(|| away::from_object(live, mode, now, &mut outcome));
        if away::is_told(live, why, &mut outcome) {
            return outcome;
        }
    }
    let mut state = State::of(live, &OWN, &FIELDS);
    let link = match Link::of(world, live, &mut outcome) {
        Ok(link) => link,
        Err(why) => {
            let invalid = invalid(live, why, SERVICE_FINALIZER);
            state.set(LOAD_BALANCER_AVAILABLE, invalid);
            state.write(live, now, &mut outcome);
            return outcome;
        }
    };
    if live.is_deleting() {
        deletion::reconcile(world, &link, now, settings, &mut state, &mut outcome);
    } else if is_paused(link.hosted, now, &mut outcome) {
        return outcome;
    } else if let Err((kind, condition)) =
        provide(world, &link, now, settings, &mut state, &mut outcome)
    {
        state.set(kind, condition);
        if kind == LOAD_BALANCER_AVAILABLE {
            unmade(world, &link, settings, &mut state, &mut outcome);
        }
    }
    state.write(live, now, &mut outcome);
    outcome
}

/// A condition that does not hold, with its type.
type Failed = (&'static str, NewCondition);

fn at_load_balancer(reason: &str, message: impl Into<String>) -> Failed {
    (LOAD_BALANCER_AVAILABLE, NewCondition::no(reason, message))
}

/// Goes through the steps, as far as they are possible.
fn provide(
    world: World<'_>,
    link: &Link<'_>,
    now: Timestamp,
    settings: &PlatformSettings,
    state: &mut State,
    outcome: &mut Outcome,
) -> Result<(), Failed> {
    let hosted = match link.hosted {
        Some(hosted) => hosted,
        None => {
            let message = unseen(world, &link.cluster);
            return Err(at_load_balancer(r::HOSTED_CLUSTER_NOT_FOUND, message));
        }
    };
    let Some(management) = &settings.place.of(link.text("natSubnetID")) else {
        return Err(at_load_balancer(
            r::MANAGEMENT_NOT_CONFIGURED,
            NO_MANAGEMENT,
        ));
    };
    let id = link.cluster_id();
    if id.is_empty() {
        let message = format!(
            "Waiting for HyperShift to give {} a cluster ID",
            link.cluster
        );
        return Err(at_load_balancer(r::WAITING_FOR_CLUSTER_ID, message));
    }
    let name = names::service(id);
    hold(link, &name, outcome);
    let scene = Site {
        world,
        link,
        management,
        namespace: &settings.namespace,
        now,
    };
    agree(&scene, hosted)?;
    let source = Source::Identity(management.identity.clone());
    let credential = Use {
        source: &source,
        namespace: &settings.namespace,
        secret: SECRET,
        subscription: &management.subscription,
        environment: link.environment(),
    };
    let credential = credential
        .keep(world, now, outcome)
        .map_err(|condition| (LOAD_BALANCER_AVAILABLE, condition))?;
    let Some(frontend) = frontend(&scene, outcome)? else {
        return Ok(());
    };
    let found = NewCondition::yes(SUCCESS, "Internal Load Balancer found");
    state.set(LOAD_BALANCER_AVAILABLE, found);
    state.field("internalLoadBalancerID", &frontend.load_balancer);
    let subnet = subnet::keep(&scene, hosted, &credential, outcome)
        .map_err(|condition| (SERVICE_CREATED, condition))?;
    let service = service::keep(&scene, &frontend, (&name, &subnet, &credential), outcome)
        .map_err(|condition| (SERVICE_CREATED, condition))?;
    let ready = NewCondition::yes(SUCCESS, "Azure Private Link Service is ready");
    state.set(SERVICE_CREATED, ready);
    state.field("privateLinkServiceID", service.text(&["status", "id"]));
    state.field(
        "privateLinkServiceAlias",
        service.text(&["status", "alias"]),
    );
    Ok(())
}

/// Holds the object, and records what a deletion has to look for, before anything is made.
fn hold(link: &Link<'_>, service: &str, outcome: &mut Outcome) {
    let mut patch = patch_of(link.live);
    patch["metadata"]["finalizers"] = json!([SERVICE_FINALIZER]);
    patch["metadata"]["annotations"] = json!({SERVICE_NAME: service});
    outcome.maybe(outcome::apply(link.live, patch));
    let theirs = names::HYPERSHIFT_SERVICE_FINALIZER;
    outcome.maybe(outcome::unfinalize(link.live, theirs));
}

/// The proposal has the identity of this controller in each cluster: it must be this one.
fn agree(scene: &Site<'_>, hosted: Live<'_>) -> Result<(), Failed> {
    let path = [
        "spec",
        "platform",
        "azure",
        "azureAuthenticationConfig",
        "workloadIdentities",
        "privateLinkService",
        "clientID",
    ];
    let named = hosted.text(&path);
    let identity = scene.world.get(&scene.management.identity).present();
    let ours = identity.map_or("", |identity| identity.text(&["spec", "clientID"]));
    if named.is_empty() || ours.is_empty() || named.eq_ignore_ascii_case(ours) {
        return Ok(());
    }
    Err(at_load_balancer(
        r::IDENTITY_MISMATCH,
        format!(
            "workloadIdentities.privateLinkService of {} is {named}, and the management side uses {} with the client ID {ours}: set it to that",
            scene.link.cluster, scene.management.identity
        ),
    ))
}

/// The frontend that has the address of the router. `None` until it is known again which one that is, after a restart:
/// all stays as it is.
fn frontend(scene: &Site<'_>, outcome: &mut Outcome) -> Result<Option<Frontend>, Failed> {
    let (link, management) = (scene.link, scene.management);
    let address = link.text("loadBalancerIP");
    if address.is_empty() {
        let message = "Waiting for the address of the load balancer before the router";
        return Err(at_load_balancer(r::WAITING_FOR_LOAD_BALANCER, message));
    }
    let subnet = Subnet::of(scene).map_err(|condition| (SERVICE_CREATED, condition))?;
    let request = FrontendRequest {
        subscription: management.subscription.clone(),
        resource_group: management.resource_group.clone(),
        network: subnet.network,
        address: address.to_owned(),
        caller: scene.caller(),
    };
    let answer = scene.world.frontend(&request);
    outcome.needs.push(Need::Frontend(request));
    let fault = match answer.map(|answer| &answer.found) {
        Some(Ok(frontend)) => return Ok(Some(frontend.clone())),
        Some(Err(error)) => error,
        None if is_current(link.live, LOAD_BALANCER_AVAILABLE) => return Ok(None),
        None => {
            let message = format!("Looking for the load balancer with the address {address}");
            return Err(at_load_balancer(r::WAITING_FOR_LOAD_BALANCER, message));
        }
    };
    let reason = match fault.fault {
        AzureFault::NotFound => r::ILB_NOT_FOUND,
        AzureFault::Ambiguous => r::ILB_AMBIGUOUS,
        _ => r::ILB_LOOKUP_FAILED,
    };
    Err(at_load_balancer(reason, fault.to_string()))
}

/// Without a load balancer nothing is made or changed. What was made before is reported as it is.
fn unmade(
    world: World<'_>,
    link: &Link<'_>,
    settings: &PlatformSettings,
    state: &mut State,
    outcome: &mut Outcome,
) {
    let name = link.live.annotation(SERVICE_NAME);
    let id = names::aso("PrivateLinkService", &settings.namespace, name);
    let is_made = !name.is_empty() && world.get(&id).present().is_some();
    outcome.need(id);
    if !is_made || !is_current(link.live, SERVICE_CREATED) {
        let message = "Waiting for the load balancer";
        state.set(
            SERVICE_CREATED,
            NewCondition::no(r::WAITING_FOR_LOAD_BALANCER, message),
        );
    }
}
