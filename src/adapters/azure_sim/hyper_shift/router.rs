//! The Service through which nodes and clients in the network of a private cluster on Azure reach its control plane.
//!
//! In: a HostedControlPlane. Out: the Service `private-router` beside it, with the address of a load balancer. It does not
//! know who leads traffic there.

use serde_json::json;

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
pub(super) fn reconcile(world: World<'_>, plane: Live<'_>, outcome: &mut Outcome) {
    if !is_private(plane) {
        return;
    }
    let id = ObjectId::new("", "Service", plane.namespace(), NAME);
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
    }
}

fn is_private(plane: Live<'_>) -> bool {
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
