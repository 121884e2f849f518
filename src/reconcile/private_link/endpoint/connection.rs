//! The Private Endpoint of one cluster.
//!
//! In: the service that the status names. Out: an endpoint that is connected to it, with its address. An endpoint whose
//! service was made again, or that was disconnected, is made again: Azure never connects it to another one. It does not
//! know who made the service.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::names::{self, ADDRESS_KEY, ALIAS, OWNER_TAG, TYPE_TAG};
use super::super::resource::{
    Proof, State, Wanted, is_foreign, is_of, keep as keep_resource, name,
};
use super::super::state::is_current;
use super::sight::Sight;
use crate::api::azure_private_link_service::SERVICE_CREATED;
use crate::api::labels::MANAGE;
use crate::api::private_link_reasons as r;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{self, Outcome};

const KIND: &str = "PrivateEndpoint";
/// The version from which an endpoint may name its service by an alias.
const WITH_ALIAS: &str = "v20250301";
const FAILED: &str = r::PRIVATE_ENDPOINT_CREATION_FAILED;
const WAITING: &str = r::WAITING_FOR_ENDPOINT;
/// The age after which an endpoint that was rejected is made again.
const AGAIN: SignedDuration = SignedDuration::from_mins(10);

/// An endpoint that is connected.
pub(super) struct Endpoint<'a> {
    pub(super) id: &'a str,
    pub(super) address: &'a str,
}

/// The object of the endpoint of a cluster.
pub(super) fn id(cluster: &ObjectId) -> ObjectId {
    let name = format!("{}-pe", names::short(cluster));
    names::aso(KIND, &cluster.namespace, &name)
}

/// Keeps the endpoint.
///
/// # Errors
/// When it is not connected: the condition that says so.
pub(super) fn keep<'a>(
    scene: &Sight<'a>,
    outcome: &mut Outcome,
) -> Result<Endpoint<'a>, NewCondition> {
    let link = scene.link;
    let id = id(&link.cluster);
    let held = scene.world.get(&id).present();
    outcome.need(id.clone());
    let is_made = is_current(link.live, SERVICE_CREATED);
    let [alias, service] = ["privateLinkServiceAlias", "privateLinkServiceID"]
        .map(|field| link.live.text(&["status", field]));
    if !is_made || alias.is_empty() || service.is_empty() {
        // What is connected stays as it is.
        return Err(NewCondition::no(
            r::WAITING_FOR_SERVICE,
            "Waiting for the Private Link Service",
        ));
    }
    let path = link.path();
    // What is said of an endpoint that is not ours is no matter of ours.
    let is_ours =
        |held: &Live<'_>| is_of(*held, &path) && !held.is_deleting() && !is_foreign(*held);
    let held = held.filter(is_ours);
    if let Some(held) = held
        && let Some(why) = is_over(held, alias, scene.now, outcome)
    {
        outcome.maybe(outcome::delete(held));
        let message = format!("{}: {why}; it is deleted and made again", name(&id));
        return Err(NewCondition::no(r::PRIVATE_ENDPOINT_REPLACED, message));
    }
    let wanted = wanted(scene, &id, held, (alias, service, &path));
    let state = keep_resource(scene.world, &wanted, outcome);
    if let Some(condition) = held.and_then(not_approved) {
        return Err(condition);
    }
    match state {
        State::Ready(live) => addressed(scene, live, outcome),
        State::Not(fault) => Err(fault.condition(WAITING, FAILED)),
    }
}

/// The endpoint as it should be.
fn wanted<'a>(
    scene: &'a Sight<'_>,
    id: &ObjectId,
    held: Option<Live<'_>>,
    (alias, service, path): (&str, &str, &'a str),
) -> Wanted<'a> {
    let link = scene.link;
    let azure_name = azure_name(scene);
    let version = scene.version(KIND);
    // What an endpoint is connected to never changes, nor how it is named.
    let connections = ["spec", "manualPrivateLinkServiceConnections"];
    let held = held.and_then(|held| held.list(&connections).first());
    let held = held.map(|held| held["privateLinkServiceReference"].clone());
    let reference = held.unwrap_or_else(|| {
        if version == WITH_ALIAS {
            json!({"wellKnownName": alias})
        } else {
            json!({"armId": service})
        }
    });
    let config_map = id.name.clone();
    Wanted {
        id: id.clone(),
        version,
        owner: path,
        spec: json!({
            "azureName": azure_name,
            "owner": {"armId": link.resource_group()},
            "location": link.text("location"),
            "tags": {OWNER_TAG: link.cluster_id(), TYPE_TAG: "private-endpoint"},
            "subnet": {"reference": {"armId": link.text("guestSubnetID")}},
            "manualPrivateLinkServiceConnections": [{
                "name": azure_name,
                "privateLinkServiceReference": reference,
                "requestMessage": "Capstan auto-connect",
            }],
            "operatorSpec": {"configMaps": {
                "primaryNicPrivateIpAddress": {"name": config_map, "key": ADDRESS_KEY},
            }},
        }),
        annotations: json!({ALIAS: alias}),
        credential: scene.credential,
        policy: MANAGE,
        proof: Proof::Tag(
            link.cluster_id(),
            link.live.text(&["status", "privateEndpointID"]),
        ),
    }
}

/// The name in Azure: that of the endpoint which the status names, since HyperShift gives it another one.
fn azure_name(scene: &Sight<'_>) -> String {
    let link = scene.link;
    let recorded = link.live.text(&["status", "privateEndpointID"]);
    let home = format!(
        "{}/providers/Microsoft.Network/privateEndpoints/",
        link.resource_group()
    );
    let name = recorded
        .rsplit_once('/')
        .filter(|(above, _)| above.eq_ignore_ascii_case(home.trim_end_matches('/')));
    match name {
        Some((_, name)) => name.to_owned(),
        None => names::endpoint(&link.cluster, link.cluster_id()),
    }
}

/// Why an endpoint can never be connected to the present service.
fn is_over(
    held: Live<'_>,
    alias: &str,
    now: Timestamp,
    outcome: &mut Outcome,
) -> Option<&'static str> {
    if held.annotation(ALIAS) != alias {
        return Some("the Private Link Service was made again");
    }
    match state(held) {
        "Disconnected" => Some("the Private Link Service disconnected it"),
        "Rejected" => {
            let made: Option<Timestamp> =
                held.text(&["metadata", "creationTimestamp"]).parse().ok();
            let due = made?.checked_add(AGAIN).ok()?;
            if now < due {
                outcome.wake_at(due);
                return None;
            }
            Some("its connection was rejected")
        }
        _ => None,
    }
}

/// The state of the connection, as Azure reports it.
fn state(live: Live<'_>) -> &str {
    let connections = live
        .list(&["status", "manualPrivateLinkServiceConnections"])
        .iter();
    let mut states = connections
        .map(|one: &Value| Live(one).text(&["privateLinkServiceConnectionState", "status"]));
    states.find(|state| !state.is_empty()).unwrap_or("")
}

/// That the connection is not approved, if Azure says so.
fn not_approved(live: Live<'_>) -> Option<NewCondition> {
    let state = state(live);
    if ["", "Approved"].contains(&state) {
        return None;
    }
    let message = format!(
        "the connection of {} is {state}: the Private Link Service approves the subscriptions that it allows by itself; approve it in Azure, or add the subscription of the cluster",
        name(&live.id())
    );
    Some(NewCondition::no(
        r::PRIVATE_ENDPOINT_CONNECTION_NOT_APPROVED,
        message,
    ))
}

/// The endpoint with its address, which Azure Service Operator writes to a ConfigMap.
fn addressed<'a>(
    scene: &Sight<'a>,
    live: Live<'a>,
    outcome: &mut Outcome,
) -> Result<Endpoint<'a>, NewCondition> {
    let id = ObjectId::new("", "ConfigMap", live.namespace(), live.name());
    let found = scene.world.get(&id).present();
    outcome.need(id);
    let address = found.map_or("", |map| map.text(&["data", ADDRESS_KEY]));
    if !names::is_address(address) {
        let message = format!("Waiting for the address of {}", name(&live.id()));
        return Err(NewCondition::no(WAITING, message));
    }
    Ok(Endpoint {
        id: live.text(&["status", "id"]),
        address,
    })
}
