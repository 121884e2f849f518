//! The subnet for the addresses of a Private Link Service.
//!
//! In: the ID of a subnet, and its range if it is to be made. Out: the ID of a subnet that exists, in the network of the
//! management cluster and in no other. It does not choose ranges.

use serde_json::json;

use super::super::link::Link;
use super::super::names::{self, OWNER, nat_subnet};
use super::super::resource::{Proof, State, Wanted, keep as keep_resource};
use super::super::settings::Management;
use super::site::{Site, subnet_id};
use crate::api::labels::{MANAGE, NAT_SUBNET_RANGE};
use crate::api::private_link_reasons as r;
use crate::health::Live;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::Outcome;

const FAILED: &str = r::NAT_SUBNET_CREATION_FAILED;

/// A subnet in the network of the management cluster.
pub(super) struct Subnet {
    /// The ARM ID of its network.
    pub(super) network: String,
    name: String,
}

impl Subnet {
    /// The subnet that a cluster names.
    ///
    /// # Errors
    /// When it names none, or one that may not be used.
    pub(super) fn of(scene: &Site<'_>) -> Result<Self, NewCondition> {
        let id = scene.link.text("natSubnetID");
        if id.is_empty() {
            return Err(missing(scene.link));
        }
        let management = scene.management;
        let parts: Vec<&str> = id.split('/').collect();
        let subnet = match parts.as_slice() {
            [
                "",
                subscriptions,
                subscription,
                groups,
                group,
                providers,
                provider,
                networks,
                network,
                subnets,
                name,
            ] if [
                subscriptions,
                groups,
                providers,
                provider,
                networks,
                subnets,
            ]
            .iter()
            .zip(PATH)
            .all(|(part, word)| part.eq_ignore_ascii_case(word))
                && subscription.eq_ignore_ascii_case(&management.subscription)
                && group.eq_ignore_ascii_case(&management.network_resource_group)
                && [network, name].iter().all(|name| is_name(name)) =>
            {
                let above = parts.iter().take(parts.len() - 2).copied();
                Some(Self {
                    network: above.collect::<Vec<_>>().join("/"),
                    name: (*name).to_owned(),
                })
            }
            _ => None,
        };
        subnet.ok_or_else(|| outside(id, management))
    }
}

/// The words of the ARM ID of a subnet.
const PATH: [&str; 6] = [
    "subscriptions",
    "resourceGroups",
    "providers",
    "Microsoft.Network",
    "virtualNetworks",
    "subnets",
];

/// Whether Azure has such names, so that an ID cannot lead elsewhere.
fn is_name(name: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let is_start = |b: u8| b.is_ascii_alphanumeric();
    name.bytes().next().is_some_and(is_start) && name.bytes().all(is_part)
}

/// That a subnet may not be used.
fn outside(id: &str, management: &Management) -> NewCondition {
    let message = format!(
        "natSubnetID is {id}, which is no subnet in the resource group {} of the subscription {}: the identity of the management side uses no other networks",
        management.network_resource_group, management.subscription
    );
    NewCondition::no(FAILED, message)
}

/// That a cluster names no subnet.
fn missing(link: &Link<'_>) -> NewCondition {
    let message = format!(
        "{} names no subnet for the addresses of the service: set natSubnetID, or natSubnet with a range, in its definition",
        link.cluster
    );
    NewCondition::no(FAILED, message)
}

/// Returns true if somebody deletes the subnet, and Azure keeps it because the service uses it.
fn is_kept(scene: &Site<'_>, wanted: &Wanted<'_>, outcome: &mut Outcome) -> bool {
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
    scene: &Site<'_>,
    hosted: Live<'_>,
    credential: &str,
    outcome: &mut Outcome,
) -> Result<String, NewCondition> {
    let link = scene.link;
    let id = link.text("natSubnetID");
    let Subnet { network, name } = Subnet::of(scene)?;
    let range = hosted.annotation(NAT_SUBNET_RANGE);
    if range.is_empty() {
        return Ok(id.to_owned());
    }
    let own = nat_subnet(&link.cluster);
    if !name.eq_ignore_ascii_case(&own) {
        let message = format!(
            "natSubnetID names the subnet {name}, and one that is made for this cluster is named {own}: name it so, or remove the annotation {NAT_SUBNET_RANGE} to use a subnet that exists"
        );
        return Err(NewCondition::no(FAILED, message));
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
        State::Not(fault) => Err(fault.condition(r::WAITING_FOR_NAT_SUBNET, FAILED)),
    }
}
