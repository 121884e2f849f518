//! The Private Link Service of one cluster.
//!
//! In: the frontend of a load balancer, a subnet, and the subscriptions that may connect. Out: the service, once Azure has
//! it with all of that. It does not know who connects.

use std::collections::BTreeSet;

use serde_json::json;

use super::super::link::Link;
use super::super::names::{self, OWNER, OWNER_TAG, TYPE_TAG};
use super::super::resource::{Proof, State, Wanted, is_foreign, is_of, keep as keep_resource};
use super::deletion::reject;
use super::site::Site;
use crate::api::labels::{MANAGE, OWNED};
use crate::api::private_link_reasons as r;
use crate::health::Live;
use crate::model::Frontend;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::Outcome;

/// Keeps the service. Its name, its subnet and the Secret with the credential are given.
///
/// # Errors
/// When it is not ready: the condition that says so.
pub(super) fn keep<'a>(
    scene: &Site<'a>,
    frontend: &Frontend,
    (name, subnet, credential): (&str, &str, &str),
    outcome: &mut Outcome,
) -> Result<Live<'a>, NewCondition> {
    let (link, management) = (scene.link, scene.management);
    let subscriptions = subscriptions(link);
    let group = format!(
        "/subscriptions/{}/resourceGroups/{}",
        management.subscription, management.resource_group
    );
    let mut tags = json!({OWNER_TAG: link.cluster_id(), TYPE_TAG: "private-link-service"});
    tags[format!("kubernetes.io_cluster_{}", link.cluster.name)] = json!(OWNED);
    let path = link.path();
    let wanted = Wanted {
        id: names::aso("PrivateLinkService", scene.namespace, name),
        version: scene.version("PrivateLinkService"),
        owner: &path,
        spec: json!({
            "azureName": name,
            "owner": {"armId": group},
            // A service is where its load balancer is.
            "location": frontend.location,
            "tags": tags,
            "loadBalancerFrontendIpConfigurations": [{"reference": {"armId": frontend.id}}],
            "ipConfigurations": [{
                "name": "pls-nat-ip",
                "primary": true,
                "privateIPAllocationMethod": "Dynamic",
                "subnet": {"reference": {"armId": subnet}},
            }],
            "visibility": {"subscriptions": subscriptions},
            "autoApproval": {"subscriptions": subscriptions},
            "enableProxyProtocol": false,
        }),
        annotations: json!({}),
        credential,
        policy: MANAGE,
        proof: Proof::Tag(
            link.cluster_id(),
            link.live.text(&["status", "privateLinkServiceID"]),
        ),
    };
    if let Some(waits) = free(scene, &wanted, outcome) {
        return Err(NewCondition::no(r::WAITING_FOR_SERVICE, waits));
    }
    let failed = if is_made(scene, &wanted) {
        r::PLS_UPDATE_FAILED
    } else {
        r::PLS_CREATION_FAILED
    };
    match keep_resource(scene.world, &wanted, outcome) {
        State::Ready(live) if is_served(live) => Ok(live),
        State::Ready(_) => Err(NewCondition::no(
            r::WAITING_FOR_SERVICE,
            "Waiting for the alias of the Private Link Service",
        )),
        State::Not(fault) => Err(fault.condition(r::WAITING_FOR_SERVICE, failed)),
    }
}

/// Rejects the connections to a service that somebody deletes: Azure keeps a service that has some, and it is made again
/// once it is gone.
fn free(scene: &Site<'_>, wanted: &Wanted<'_>, outcome: &mut Outcome) -> Option<String> {
    let live = scene.world.get(&wanted.id).present()?;
    let id = live.text(&["status", "id"]);
    if !live.is_deleting() || live.annotation(OWNER) != wanted.owner || id.is_empty() {
        return None;
    }
    outcome.need(wanted.id.clone());
    reject(scene.world, (id, scene.caller()), scene.now, outcome)
}

fn is_made(scene: &Site<'_>, wanted: &Wanted<'_>) -> bool {
    let live = scene.world.get(&wanted.id).present();
    live.is_some_and(|live| is_of(live, wanted.owner) && !is_foreign(live) && is_served(live))
}

/// Whether Azure has given the service an ID and an alias.
fn is_served(live: Live<'_>) -> bool {
    ["id", "alias"]
        .iter()
        .all(|field| !live.text(&["status", field]).is_empty())
}

/// The subscriptions that may connect: that of the cluster's subnet, and those that are allowed besides. Azure compares
/// them without regard to case.
pub(super) fn subscriptions(link: &Link<'_>) -> Vec<String> {
    let subnet = link.text("guestSubnetID");
    let own = subnet.split('/').nth(2).unwrap_or_default();
    let lists =
        ["additionalAllowedSubscriptions", "allowedSubscriptions"].map(|field| link.texts(field));
    let all = lists.into_iter().flatten().chain([own]);
    let all: BTreeSet<String> = all
        .filter(|one| !one.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    all.into_iter().collect()
}
