//! Azure's network, as far as Private Link needs it.
//!
//! In: network resources of Azure Service Operator, and what exists in Azure. Out: what Azure refuses, and what it reports of
//! what it made. What is made again is another one: it has another alias and address. It does not know who asks.

mod links;
mod path;
#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use self::links::SimulatedLinks;
pub(super) use self::path::{Path, walk};
use super::aro::Refusal;
use super::azure::Azure;
use crate::api::kinds::NETWORK;
use crate::health::Live;
use crate::model::hex;

const SERVICE: &str = "PrivateLinkService";
const ENDPOINT: &str = "PrivateEndpoint";
const ZONE: &str = "PrivateDnsZone";
const LINK: &str = "PrivateDnsZonesVirtualNetworkLink";
const RECORD: &str = "PrivateDnsZonesARecord";

/// The output of an endpoint with its address.
pub(super) const ADDRESS: &str = "primaryNicPrivateIpAddress";

/// The connections of an endpoint.
const CONNECTIONS: &str = "manualPrivateLinkServiceConnections";

/// Whether it is one of the kinds that are known here.
pub(super) fn is_known(live: Live<'_>) -> bool {
    live.group() == NETWORK && [SERVICE, ENDPOINT, ZONE, LINK, RECORD].contains(&live.kind())
}

/// The reason for which Azure refuses to create or update a resource.
pub(super) fn refuse_put(azure: &Azure, live: Live<'_>, id: &str) -> Option<Refusal> {
    match live.kind() {
        SERVICE => refuse_service(azure, live),
        ENDPOINT => refuse_endpoint(azure, live),
        LINK => refuse_link(azure, live, id),
        _ => None,
    }
}

/// The reason for which Azure refuses to delete a resource.
pub(super) fn refuse_deletion(azure: &Azure, id: &str) -> Option<Refusal> {
    let open = connections(azure, id)
        .into_iter()
        .filter(|one| is_open(one.state()));
    if open.count() > 0 {
        return refuse(
            "PrivateLinkServiceWithPrivateEndpointConnectionsCannotBeDeleted",
            format!("The private link service {id} has private endpoint connections"),
        );
    }
    let has_links = azure.count(id, "virtualNetworkLinks") > 0;
    let is_zone = id.to_ascii_lowercase().contains("/privatednszones/");
    if is_zone && has_links {
        let message = "Can not delete resource before nested resources are deleted.".to_owned();
        return refuse("CannotDeleteResource", message);
    }
    let is_subnet = |service: &Value| {
        let configurations = Live(service).list(&["ipConfigurations"]).iter().map(Live);
        let mut subnets = configurations.map(|one| one.text(&["subnet", "id"]));
        subnets.any(|subnet| subnet.eq_ignore_ascii_case(id))
    };
    azure
        .below("/privateLinkServices/")
        .iter()
        .any(|(_, service)| is_subnet(service))
        .then(|| Refusal {
            code: "InUseSubnetCannotBeDeleted",
            message: format!("Subnet {id} is in use by a private link service"),
        })
}

fn refuse<T>(code: &'static str, message: T) -> Option<Refusal>
where
    T: Into<String>,
{
    let message = message.into();
    Some(Refusal { code, message })
}

fn refuse_service(azure: &Azure, live: Live<'_>) -> Option<Refusal> {
    for frontend in references(live, "loadBalancerFrontendIpConfigurations") {
        let balancer = frontend.split("/frontendIPConfigurations/").next();
        if balancer.and_then(|id| azure.get(id)).is_none() {
            let message = format!("Resource {frontend} referenced by the service was not found");
            return refuse("InvalidResourceReference", message);
        }
    }
    let configurations = live.list(&["spec", "ipConfigurations"]).iter().map(Live);
    for one in configurations {
        let subnet = one.text(&["subnet", "reference", "armId"]);
        let policies = azure.get(subnet);
        let policies = policies.as_ref().map_or("", |state| {
            Live(state).text(&["privateLinkServiceNetworkPolicies"])
        });
        if policies == "Enabled" {
            return refuse(
                "PrivateLinkServiceCannotBeCreatedInSubnetThatHasNetworkPoliciesEnabled",
                format!("Private link service network policies are enabled on subnet {subnet}"),
            );
        }
    }
    None
}

fn refuse_endpoint(azure: &Azure, live: Live<'_>) -> Option<Refusal> {
    let target = target(live);
    if service(azure, target).is_some() {
        return None;
    }
    let message = format!("The private link service {target} was not found");
    refuse("PrivateLinkServiceNotFound", message)
}

/// A network may be linked to one zone of a name.
fn refuse_link(azure: &Azure, live: Live<'_>, id: &str) -> Option<Refusal> {
    let network = live.text(&["spec", "virtualNetwork", "reference", "armId"]);
    let name = zone_name(id);
    let others = azure.below("/virtualNetworkLinks/").into_iter();
    let mut same = others.filter(|(other, state)| {
        !other.eq_ignore_ascii_case(id)
            && zone_name(other).eq_ignore_ascii_case(name)
            && linked(state).eq_ignore_ascii_case(network)
    });
    let (other, _) = same.next()?;
    let message =
        format!("The zone {name} is already linked to the virtual network {network}, by {other}");
    refuse("BadRequest", message)
}

/// What Azure reports of a resource.
pub(super) fn state(azure: &Azure, live: Live<'_>, id: &str) -> Value {
    let before = azure.get(id).filter(|state| state.get("etag").is_some());
    let etag = before.as_ref().map_or_else(
        || azure.birth(),
        |state| Live(state).text(&["etag"]).to_owned(),
    );
    match live.kind() {
        SERVICE => service_state(live, id, &etag, before.as_ref()),
        ENDPOINT => endpoint_state(azure, live, (id, &etag), before.as_ref()),
        LINK => json!({
            "etag": etag,
            "registrationEnabled": false,
            "virtualNetwork": {"id": live.text(&["spec", "virtualNetwork", "reference", "armId"])},
        }),
        RECORD => {
            json!({"etag": etag, "aRecords": live.at(&["spec", "aRecords"]), "ttl": live.at(&["spec", "ttl"])})
        }
        _ => json!({"etag": etag}),
    }
}

/// A service keeps its alias.
fn service_state(live: Live<'_>, id: &str, etag: &str, before: Option<&Value>) -> Value {
    let name = id.rsplit('/').next().unwrap_or_default();
    let location = live.text(&["spec", "location"]);
    let alias = before.and_then(|before| before["alias"].as_str());
    let alias = alias.map_or_else(
        || {
            let guid = digest(id, etag);
            format!("{name}.{guid}.{location}.azure.privatelinkservice")
        },
        str::to_owned,
    );
    let frontends = references(live, "loadBalancerFrontendIpConfigurations");
    let frontends: Vec<Value> = frontends.map(|id| json!({"id": id})).collect();
    let configurations = live.list(&["spec", "ipConfigurations"]).iter().map(Live);
    let subnets: Vec<Value> = configurations
        .map(|one| json!({"subnet": {"id": one.text(&["subnet", "reference", "armId"])}}))
        .collect();
    json!({
        "etag": etag,
        "alias": alias,
        "loadBalancerFrontendIpConfigurations": frontends,
        "ipConfigurations": subnets,
        "visibility": live.at(&["spec", "visibility"]),
        "autoApproval": live.at(&["spec", "autoApproval"]),
    })
}

/// An endpoint stays with the service that it was once connected to.
fn endpoint_state(
    azure: &Azure,
    live: Live<'_>,
    (id, etag): (&str, &str),
    before: Option<&Value>,
) -> Value {
    let connection = before.and_then(|before| before[CONNECTIONS].get(0).cloned());
    let connection = connection.unwrap_or_else(|| {
        let target = target(live);
        let found = service(azure, target);
        let (service, service_state) = found.unwrap_or_default();
        let approved = Live(&service_state).list(&["autoApproval", "subscriptions"]);
        let own = id.split('/').nth(2).unwrap_or_default();
        let is_approved = approved
            .iter()
            .filter_map(Value::as_str)
            .any(|one| one.eq_ignore_ascii_case(own));
        let status = if is_approved { "Approved" } else { "Pending" };
        json!({
            "name": live.name(),
            "etag": service_state["etag"],
            "privateLinkServiceId": service,
            "privateLinkServiceConnectionState": {"status": status},
        })
    });
    json!({
        "etag": etag,
        "subnet": {"id": live.text(&["spec", "subnet", "reference", "armId"])},
        "networkInterfaces": [{"id": format!("{id}.nic")}],
        CONNECTIONS: [connection],
    })
}

/// Whether Azure lets traffic through an endpoint. The operator reports no other as ready.
pub(super) fn is_approved(state: &Value) -> bool {
    let status = &state[CONNECTIONS][0]["privateLinkServiceConnectionState"]["status"];
    status.is_null() || status == "Approved"
}

/// The address of an endpoint.
pub(super) fn address(id: &str, state: &Value) -> String {
    let digest = Sha256::digest(format!("{} {}", id.to_ascii_lowercase(), state["etag"]));
    Ipv4Addr::new(10, 32 + digest[0] % 32, digest[1], 4 + digest[2] % 200).to_string()
}

/// The service that an endpoint names, by its ID or its alias.
fn target(live: Live<'_>) -> &str {
    let connections = live.list(&["spec", CONNECTIONS]).iter().map(Live);
    let mut named = connections.flat_map(|one| {
        ["armId", "wellKnownName"].map(|field| one.text(&["privateLinkServiceReference", field]))
    });
    named.find(|named| !named.is_empty()).unwrap_or_default()
}

fn service(azure: &Azure, named: &str) -> Option<(String, Value)> {
    let mut services = azure.below("/privateLinkServices/").into_iter();
    services.find(|(id, state)| {
        !state.is_null() && (id.eq_ignore_ascii_case(named) || state["alias"] == named)
    })
}

/// A connection from an endpoint to a service.
struct Connection {
    endpoint: String,
    state: Value,
}

impl Connection {
    fn state(&self) -> &str {
        let connection = self.state[CONNECTIONS].get(0);
        connection.map_or("", |one| {
            Live(one).text(&["privateLinkServiceConnectionState", "status"])
        })
    }
}

fn is_open(state: &str) -> bool {
    ["Approved", "Pending"].contains(&state)
}

/// The connections to the present service of an ID.
fn connections(azure: &Azure, service: &str) -> Vec<Connection> {
    let Some(present) = azure
        .get(service)
        .filter(|state| state.get("alias").is_some())
    else {
        return Vec::new();
    };
    let endpoints = azure.below("/privateEndpoints/").into_iter();
    let connected = endpoints.filter(|(_, state)| {
        let connection = &state[CONNECTIONS][0];
        let id = connection["privateLinkServiceId"]
            .as_str()
            .unwrap_or_default();
        id.eq_ignore_ascii_case(service) && connection["etag"] == present["etag"]
    });
    connected
        .map(|(endpoint, state)| Connection { endpoint, state })
        .collect()
}

/// The ARM IDs in a list of references.
fn references<'a>(live: Live<'a>, field: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let list = live.list(&["spec", field]).iter();
    list.map(|one| Live(one).text(&["reference", "armId"]))
}

/// The name of the zone in the ID of something below it.
fn zone_name(id: &str) -> &str {
    let mut parts = id
        .split('/')
        .skip_while(|part| !part.eq_ignore_ascii_case("privateDnsZones"));
    parts.nth(1).unwrap_or_default()
}

/// The network of a link.
fn linked(state: &Value) -> &str {
    Live(state).text(&["virtualNetwork", "id"])
}

/// A number in the form of a UUID, for one birth of a resource.
fn digest(id: &str, etag: &str) -> String {
    let digest = Sha256::digest(format!("{} {etag}", id.to_ascii_lowercase()));
    let parts = [0..4, 4..6, 6..8, 8..10, 10..16];
    parts.map(|part| hex(&digest[part])).join("-")
}
