//! The observer: from the load balancer of a private control plane to the object that describes its connection.
//!
//! In: the Service before the router of a control plane, and the HostedControlPlane that owns it. Out: the
//! AzurePrivateLinkService with the address and what the others need to know. It calls nothing in Azure, never deletes, and
//! never writes the Service, which is HyperShift's.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::away;
use super::denied::unless_denied;
use super::link::is_paused;
use super::names::{CLUSTER, INTERNAL, ROUTER};
use crate::api::azure_private_link_service::KIND;
use crate::api::fleet::Mode;
use crate::api::platform::{HYPERSHIFT, HYPERSHIFT_VERSION};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::links;
use crate::reconcile::outcome::{Outcome, Write, covers, patch_of};
use crate::reconcile::world::World;

/// The fields that never change once they are set.
const CONSTANT: [&str; 7] = [
    "subscriptionID",
    "resourceGroupName",
    "location",
    "natSubnetID",
    "guestSubnetID",
    "guestVNetID",
    "baseDomain",
];
/// The other subscriptions that may connect: in HyperShift's shape, and in the proposal's.
const SUBSCRIPTIONS: [&str; 2] = ["additionalAllowedSubscriptions", "allowedSubscriptions"];

/// Whether it is about this object.
pub(super) fn handles(id: &ObjectId) -> bool {
    id.is("", "Service") && id.name == ROUTER
}

/// Describes the connection of the control plane whose router is behind the Service `live`.
pub(super) fn reconcile(world: World<'_>, live: Live<'_>, now: Timestamp, mode: Mode) -> Outcome {
    let outcome = decide(world, live, now, mode);
    unless_denied(world, live, now, outcome, |why, outcome| {
        outcome.event(live, true, why.reason(), why.message());
    })
}

fn decide(world: World<'_>, live: Live<'_>, now: Timestamp, mode: Mode) -> Outcome {
    let mut outcome = Outcome::default();
    if live.is_deleting() || live.annotation(INTERNAL) != "true" {
        return outcome;
    }
    let Some(id) = control_plane(live) else {
        let message = "Nobody connects this Service: no HostedControlPlane owns it";
        outcome.event(live, true, "NoControlPlane", message);
        return outcome;
    };
    let plane = world.get(&id).present();
    outcome.need(id);
    let Some(plane) = plane.filter(|plane| !plane.is_deleting()) else {
        return outcome;
    };
    let Some(mut spec) = described(plane) else {
        return outcome;
    };
    let address = address(live);
    if address.is_empty() || is_paused(Some(plane), now, &mut outcome) {
        return outcome;
    }
    let namespace = live.namespace();
    let of_plane = (Some(plane), namespace);
    let id = ObjectId::new(HYPERSHIFT, KIND, namespace, live.name());
    let held = world.get(&id).present();
    outcome.need(id.clone());
    let why = away::from_control_plane(world, of_plane, mode, &mut outcome)
        .or_else(|| held.and_then(|held| away::from_object(held, mode, now, &mut outcome)));
    if away::is_told(live, why, &mut outcome) || held.is_some_and(Live::is_deleting) {
        return outcome;
    }
    spec.insert("loadBalancerIP".to_owned(), json!(address));
    if let Some(held) = held {
        keep_constants(&mut spec, held);
    }
    let mut patch = json!({
        "apiVersion": format!("{HYPERSHIFT}/{HYPERSHIFT_VERSION}"),
        "kind": KIND,
        "metadata": {
            "name": id.name,
            "namespace": namespace,
            "annotations": {CLUSTER: plane.annotation(CLUSTER)},
            "ownerReferences": [links::owned_by(plane, true)],
        },
    });
    patch["spec"] = Value::Object(spec);
    if let Some(held) = held {
        patch["metadata"]["uid"] = json!(held.uid());
    }
    let withdrawn = held.and_then(|held| withdrawn(held, &patch));
    if withdrawn.is_some() {
        outcome.maybe(withdrawn);
    } else if held.is_none_or(|held| !covers(held.0, &patch)) {
        outcome.write(Write::Apply(patch));
    }
    outcome
}

/// Takes out the subscriptions that may not connect any more, whoever wrote them. An apply does not: the lists are sets,
/// and keep the entries of other managers.
fn withdrawn(held: Live<'_>, wanted: &Value) -> Option<Write> {
    let left = |field: &str| {
        let path = ["spec", field];
        held.at(&path)?;
        let after = Live(wanted).at(&path);
        let stays = |one: &Value| Live(wanted).list(&path).contains(one);
        let is_left = after.is_none() || !held.list(&path).iter().all(stays);
        is_left.then(|| (field.to_owned(), after.cloned().unwrap_or_default()))
    };
    let left: Map<String, Value> = SUBSCRIPTIONS.into_iter().filter_map(left).collect();
    let mut patch = patch_of(held);
    let is_any = !left.is_empty();
    patch["spec"] = Value::Object(left);
    is_any.then_some(Write::Merge(patch))
}

/// The control plane that owns a Service.
fn control_plane(service: Live<'_>) -> Option<ObjectId> {
    let mut owners = service
        .list(&["metadata", "ownerReferences"])
        .iter()
        .map(Live);
    let owner =
        owners.find(|owner| owner.kind() == "HostedControlPlane" && owner.group() == HYPERSHIFT)?;
    let namespace = service.namespace();
    Some(ObjectId::new(
        HYPERSHIFT,
        owner.kind(),
        namespace,
        owner.text(&["name"]),
    ))
}

/// The address of the load balancer; empty before there is one.
fn address(service: Live<'_>) -> &str {
    let ingress = service.list(&["status", "loadBalancer", "ingress"]);
    ingress.first().map_or("", |one| Live(one).text(&["ip"]))
}

/// What the others need to know of a control plane, without the address; `None` if it is not reached over Private Link.
fn described(plane: Live<'_>) -> Option<Map<String, Value>> {
    let azure = Live(plane.at(&["spec", "platform", "azure"])?);
    let connection = Connection::of(azure)?;
    let texts = [
        ("subscriptionID", azure.text(&["subscriptionID"])),
        ("resourceGroupName", azure.text(&["resourceGroup"])),
        ("location", azure.text(&["location"])),
        ("guestSubnetID", azure.text(&["subnetID"])),
        ("guestVNetID", azure.text(&["vnetID"])),
        ("natSubnetID", connection.nat_subnet),
        ("baseDomain", domain(plane)),
    ];
    let texts = texts.into_iter().filter(|(_, value)| !value.is_empty());
    let mut spec: Map<String, Value> = texts
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    if !connection.subscriptions.is_empty() {
        let name = connection.field.to_owned();
        spec.insert(name, json!(connection.subscriptions));
    }
    Some(spec)
}

/// How a private cluster is reached.
struct Connection<'a> {
    nat_subnet: &'a str,
    subscriptions: &'a [Value],
    /// The field in which these are described: a definition of the kind has the one or the other.
    field: &'static str,
}

impl<'a> Connection<'a> {
    /// In HyperShift's shape, or in the proposal's; `None` if the cluster is public, or reached over Swift.
    fn of(azure: Live<'a>) -> Option<Self> {
        let is_private =
            |field: &str| ["Private", "PublicAndPrivate"].contains(&azure.text(&[field]));
        if is_private("topology") && azure.text(&["private", "type"]) == "PrivateLink" {
            return Some(Self {
                nat_subnet: azure.text(&["private", "privateLink", "natSubnetID"]),
                subscriptions: azure.list(&["private", "privateLink", SUBSCRIPTIONS[0]]),
                field: SUBSCRIPTIONS[0],
            });
        }
        is_private("endpointAccess").then(|| Self {
            nat_subnet: azure.text(&["privateConnectivity", "natSubnetID"]),
            subscriptions: azure.list(&["privateConnectivity", SUBSCRIPTIONS[1]]),
            field: SUBSCRIPTIONS[1],
        })
    }
}

/// The domain of the external names of a control plane: that after `oauth-NAME.` in the host of OAuth. Without one there is
/// none, since a private zone of the cluster's own domain would hide its public names.
fn domain(plane: Live<'_>) -> &str {
    let mut services = plane.list(&["spec", "services"]).iter().map(Live);
    let Some(oauth) = services.find(|one| one.text(&["service"]) == "OAuthServer") else {
        return "";
    };
    let hosts = ["route", "loadBalancer"]
        .map(|kind| oauth.text(&["servicePublishingStrategy", kind, "hostname"]));
    let start = format!("oauth-{}.", plane.name());
    let mut domains = hosts
        .into_iter()
        .filter_map(|host| host.strip_prefix(start.as_str()));
    domains.next().unwrap_or("")
}

/// Keeps the values that may not change, whatever became of the control plane.
fn keep_constants(spec: &mut Map<String, Value>, held: Live<'_>) {
    for field in CONSTANT {
        if let Some(value) = held.at(&["spec", field]) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
}
