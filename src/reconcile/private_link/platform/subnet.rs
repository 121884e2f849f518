//! The subnet for the addresses of a Private Link Service.
//!
//! In: the ID of a subnet, and its range if it is to be made. Out: the ID of a subnet that exists, in the network of the
//! management cluster and in no other. It does not choose ranges.

use serde_json::json;

use super::super::names::{self, OWNER};
use super::super::resource::{Proof, State, Wanted, keep as keep_resource};
use super::{Scene, subnet_id};
use crate::api::labels::{MANAGE, NAT_SUBNET_RANGE};
use crate::health::Live;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::Outcome;

use super::super::link::Link;

const FAILED: &str = "NATSubnetCreationFailed";

/// The network of a subnet.
pub(super) fn network(subnet: &str) -> Option<&str> {
    subnet.rsplit_once("/subnets/").map(|(network, _)| network)
}

/// That a cluster names no subnet.
pub(super) fn missing(link: &Link<'_>) -> NewCondition {
    let message = format!(
        "{} names no subnet for the addresses of the service: set natSubnetID, or natSubnet with a range, in its definition",
        link.cluster
    );
    NewCondition::no(FAILED, message)
}

/// Whether somebody deletes the subnet, and Azure keeps it as long as the service uses it.
fn is_kept(scene: &Scene<'_>, wanted: &Wanted<'_>, outcome: &mut Outcome) -> bool {
    let service = names::service(scene.link.cluster_id());
    let service = names::aso("PrivateLinkService", scene.namespace, &service);
    let [subnet, user] = [&wanted.id, &service].map(|id| scene.world.get(id).present());
    let is_used = user.is_some_and(|live| {
        live.annotation(OWNER) == wanted.owner
            && !live.is_deleting()
            && !live.text(&["status", "id"]).is_empty()
    });
    let goes =
        subnet.is_some_and(|live| live.is_deleting() && live.annotation(OWNER) == wanted.owner);
    outcome.need(wanted.id.clone());
    outcome.need(service);
    goes && is_used
}

/// The ID of the subnet.
///
/// # Errors
/// When there is none yet, or it may not be used.
pub(super) fn keep(
    scene: &Scene<'_>,
    hosted: Live<'_>,
    credential: &str,
    outcome: &mut Outcome,
) -> Result<String, NewCondition> {
    let link = scene.link;
    let id = link.text("natSubnetID");
    let Some((network, name)) = id.rsplit_once("/subnets/") else {
        return Err(missing(link));
    };
    let management = scene.management;
    let home = format!(
        "/subscriptions/{}/resourceGroups/{}/",
        management.subscription, management.network_resource_group
    );
    if !network
        .to_ascii_lowercase()
        .starts_with(&home.to_ascii_lowercase())
    {
        let message = format!(
            "natSubnetID is {id}, which is outside of the resource group {} of the subscription {}: the identity of the management side uses no other networks",
            management.network_resource_group, management.subscription
        );
        return Err(NewCondition::no(FAILED, message));
    }
    let range = hosted.annotation(NAT_SUBNET_RANGE);
    if range.is_empty() {
        return Ok(id.to_owned());
    }
    let path = link.path();
    let wanted = Wanted {
        id: subnet_id(scene.namespace, &link.cluster),
        version: scene.version("VirtualNetworksSubnet"),
        owner: &path,
        spec: json!({
            "azureName": name,
            "owner": {"armId": network},
            "addressPrefix": range,
            "privateLinkServiceNetworkPolicies": "Disabled",
        }),
        annotations: json!({}),
        credential,
        policy: MANAGE,
        // A subnet has no tags. Its name is that of the cluster.
        proof: Proof::Name,
    };
    if is_kept(scene, &wanted, outcome) {
        return Ok(id.to_owned());
    }
    match keep_resource(scene.world, &wanted, outcome) {
        State::Ready(_) => Ok(id.to_owned()),
        State::Not(fault) => Err(fault.condition("WaitingForNATSubnet", FAILED)),
    }
}
