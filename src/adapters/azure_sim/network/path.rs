//! The way from a node of a private cluster to its API server.
//!
//! In: the name that nodes look up, their network, and the router of the control plane. Out: nothing if traffic gets
//! there, or the first hop that is broken. It does not know how any of it is made.

use std::net::IpAddr;

use serde_json::Value;

use super::{CONNECTIONS, address, is_approved, linked, zone_name};
use crate::adapters::azure_sim::azure::Azure;
use crate::health::Live;

/// The port of the router.
const PORT: i64 = 443;

/// The two ends of the way.
pub(in crate::adapters::azure_sim) struct Path<'a> {
    /// The name that nodes look up, with its domain.
    pub(in crate::adapters::azure_sim) name: &'a str,
    /// The ARM ID of their network.
    pub(in crate::adapters::azure_sim) network: &'a str,
    /// The Service of the router.
    pub(in crate::adapters::azure_sim) router: Option<Live<'a>>,
}

/// Follows traffic from the nodes to the router.
///
/// # Errors
/// The first hop that is broken, for people.
pub(in crate::adapters::azure_sim) fn walk(azure: &Azure, path: &Path<'_>) -> Result<(), String> {
    let address = resolve(azure, path)?;
    let (endpoint, state) = endpoint(azure, path, address)?;
    if !is_approved(&state) {
        return Err(format!("the connection of {endpoint} is not approved"));
    }
    let service = connected(azure, &endpoint, &state)?;
    let frontend = frontend(azure, &service)?;
    arrive(path, &frontend)
}

/// The address of the name, by the zone that is linked to the network.
fn resolve(azure: &Azure, path: &Path<'_>) -> Result<IpAddr, String> {
    let Path { name, network, .. } = path;
    let (record, zone) = name.split_once('.').unwrap_or((name, ""));
    let links = azure.below("/virtualNetworkLinks/").into_iter();
    let mut links = links.filter(|(id, state)| {
        zone_name(id).eq_ignore_ascii_case(zone) && linked(state).eq_ignore_ascii_case(network)
    });
    let Some((link, _)) = links.next() else {
        return Err(format!("no private DNS zone {zone} is linked to {network}"));
    };
    let zone = link
        .rsplit_once("/virtualNetworkLinks/")
        .map_or("", |(zone, _)| zone);
    let state = azure.get(&format!("{zone}/A/{record}"));
    let state = state.unwrap_or_default();
    let addresses = Live(&state).list(&["aRecords"]).iter().map(Live);
    let mut addresses = addresses.filter_map(|one| one.text(&["ipv4Address"]).parse().ok());
    addresses
        .next()
        .ok_or_else(|| format!("the zone {zone} has no record {record}"))
}

/// The endpoint with an address in the network.
fn endpoint(azure: &Azure, path: &Path<'_>, wanted: IpAddr) -> Result<(String, Value), String> {
    let within = format!("{}/", path.network.to_ascii_lowercase());
    let endpoints = azure.below("/privateEndpoints/").into_iter();
    let mut found = endpoints.filter(|(id, state)| {
        let subnet = Live(state).text(&["subnet", "id"]).to_ascii_lowercase();
        subnet.starts_with(&within) && address(id, state).parse() == Ok(wanted)
    });
    found
        .next()
        .ok_or_else(|| format!("no endpoint in the network has the address {wanted}"))
}

/// The service that an endpoint is connected to, if it is still the same one.
fn connected(azure: &Azure, endpoint: &str, state: &Value) -> Result<Value, String> {
    let connection = &state[CONNECTIONS][0];
    let id = Live(connection).text(&["privateLinkServiceId"]);
    let service = azure
        .get(id)
        .filter(|service| service["etag"] == connection["etag"]);
    service.ok_or_else(|| format!("{endpoint} is connected to a service that is gone: {id}"))
}

/// The frontend that a service leads to.
fn frontend(azure: &Azure, service: &Value) -> Result<Value, String> {
    let list = Live(service).list(&["loadBalancerFrontendIpConfigurations"]);
    let id = list.first().map_or("", |one| Live(one).text(&["id"]));
    let balancer = id
        .split("/frontendIPConfigurations/")
        .next()
        .unwrap_or_default();
    let balancer = azure.get(balancer).unwrap_or_default();
    let frontends = Live(&balancer).list(&["frontendIPConfigurations"]).iter();
    let mut found = frontends.filter(|one| Live(one).text(&["id"]).eq_ignore_ascii_case(id));
    let found = found.next().cloned();
    found.ok_or_else(|| format!("the service leads to a frontend that is gone: {id}"))
}

/// Whether the frontend is that of the router.
fn arrive(path: &Path<'_>, frontend: &Value) -> Result<(), String> {
    let Some(router) = path.router else {
        return Err("the router has no Service".to_owned());
    };
    let ingress = router.list(&["status", "loadBalancer", "ingress"]);
    let wanted = ingress.first().map_or("", |one| Live(one).text(&["ip"]));
    let held = Live(frontend).text(&["privateIPAddress"]);
    if wanted.is_empty() || wanted != held {
        return Err(format!(
            "the service leads to {held}, and the router has the address '{wanted}'"
        ));
    }
    let mut ports = router.list(&["spec", "ports"]).iter().map(Live);
    if ports.any(|port| port.number(&["port"]) == Some(PORT)) {
        Ok(())
    } else {
        Err(format!("the router does not answer at port {PORT}"))
    }
}
