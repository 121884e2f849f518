//! The Service through which nodes and clients in the network of a private cluster on Azure reach its control plane.
//!
//! In: a HostedControlPlane. Out: the Service `private-router` beside it, with the address of a load balancer, and that load
//! balancer in Azure. It does not know who leads traffic there.

use serde_json::json;

use super::super::azure::Azure;

use super::names;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::{self, Outcome, Write};
use crate::reconcile::world::World;

const NAME: &str = "private-router";
const INTERNAL: &str = "service.beta.kubernetes.io/azure-load-balancer-internal";
/// The field that says how a cluster is reached, and its name in the proposal.
const TOPOLOGY: [&str; 2] = ["topology", "endpointAccess"];

/// Makes the Service if the cluster is private, and gives it an address.
pub(super) fn reconcile(azure: &Azure, world: World<'_>, plane: Live<'_>, outcome: &mut Outcome) {
    if !is_private(plane) {
        return;
    }
    let id = id(plane.namespace());
    let held = world.get(&id);
    outcome.need(id);
    if held.is_absent() {
        // The server adds to the port, so that what is held never covers this.
        outcome.write(Write::Apply(json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": NAME,
                "namespace": plane.namespace(),
                "annotations": {INTERNAL: "true"},
                "labels": {"app": NAME},
                "ownerReferences": [{"apiVersion": names::api_version(plane.group()), "kind": plane.kind(),
                    "name": plane.name(), "uid": plane.uid()}],
            },
            "spec": {
                "type": "LoadBalancer",
                "selector": {"app": NAME},
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https"}],
            },
        })));
    }
    if let Some(service) = held.present() {
        outcome.maybe(addressed(service));
        balance(azure, plane, service);
    }
}

/// The Service in the namespace of a control plane.
pub(super) fn id(namespace: &str) -> ObjectId {
    ObjectId::new("", "Service", namespace, NAME)
}

/// Gives the address of the Service to a load balancer beside the subnet for Private Link.
fn balance(azure: &Azure, plane: Live<'_>, service: Live<'_>) {
    let ingress = service.list(&["status", "loadBalancer", "ingress"]);
    let address = ingress.first().map_or("", |one| Live(one).text(&["ip"]));
    let Some(id) = balancer(azure, plane).filter(|_| !address.is_empty()) else {
        return;
    };
    let Some((network, _)) = nat_subnet(plane).rsplit_once("/subnets/") else {
        return;
    };
    let frontend = json!({
        "id": format!("{id}/frontendIPConfigurations/a{}", service.uid().replace('-', "")),
        "privateIPAddress": address,
        "subnet": {"id": format!("{network}/subnets/nodes")},
    });
    let location = plane.text(&["spec", "platform", "azure", "location"]);
    let state = json!({"location": location, "frontendIPConfigurations": [frontend]});
    if azure.get(&id) != Some(state.clone()) {
        azure.put(&id, state);
    }
}

/// Deletes the load balancer of a cluster that is gone.
pub(super) fn take_down(azure: &Azure, cluster: Live<'_>) {
    if let Some(id) = balancer(azure, cluster) {
        azure.delete(&id);
    }
}

/// The subnet for Private Link, in either shape.
fn nat_subnet(live: Live<'_>) -> &str {
    let azure = ["spec", "platform", "azure"];
    let ends: [&[&str]; 2] = [
        &["private", "privateLink", "natSubnetID"],
        &["privateConnectivity", "natSubnetID"],
    ];
    let mut found = ends
        .into_iter()
        .map(|end| live.text(&[&azure, end].concat()));
    found.find(|subnet| !subnet.is_empty()).unwrap_or_default()
}

/// The ARM ID of the load balancer of a control plane or its cluster. It is in the resource group of the management cluster, if that is
/// known, or else in that of the subnet.
fn balancer(azure: &Azure, live: Live<'_>) -> Option<String> {
    let (beside, _) = nat_subnet(live).split_once("/providers/")?;
    let group = azure.balancers().unwrap_or(beside);
    let name = names::infra_id(live);
    Some(format!(
        "{group}/providers/Microsoft.Network/loadBalancers/{name}-internal"
    ))
}

/// Returns true if nodes reach the control plane by Private Link alone.
pub(crate) fn is_private(plane: Live<'_>) -> bool {
    let azure = plane.at(&["spec", "platform", "azure"]).map(Live);
    let Some(azure) = azure.filter(|_| plane.text(&["spec", "platform", "type"]) == "Azure") else {
        return false;
    };
    // Such a cluster is reached by the network of its Pods.
    if azure.text(&["private", "type"]) == "Swift" {
        return false;
    }
    let access = TOPOLOGY.iter().map(|field| azure.text(&[field]));
    let mut access = access.filter(|access| !access.is_empty());
    access.any(|access| ["Private", "PublicAndPrivate"].contains(&access))
}

/// The status with the address of the load balancer, unless it has one.
fn addressed(service: Live<'_>) -> Option<Write> {
    let ingress = service.list(&["status", "loadBalancer", "ingress"]);
    let address = names::address(service.namespace());
    let entry = json!({"ip": address, "ipMode": "VIP"});
    let status = json!({"loadBalancer": {"ingress": [entry]}});
    ingress
        .is_empty()
        .then(|| outcome::status(service, status))
        .flatten()
}
