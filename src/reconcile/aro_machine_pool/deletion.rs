//! Deletes a machine pool in order.
//!
//! In: an AROMachinePool that is being deleted. Out: with its Cluster, external authentication is waited for, what is no
//! node pool handed on, and the finalizer taken off: Azure refuses to delete the last node pool, and deletes all of them with
//! the HCP cluster, which the control plane sees to. Otherwise the node pool is deleted and waited for first, then the rest.
//! Neither the Cluster nor the control plane is needed for it.

use serde_json::json;

use super::super::conditions::{Conditions, NewCondition};
use super::super::outcome::{self, Need, Outcome};
use super::super::parent::owner_uids;
use super::super::resources::{self, Entry, Ledger};
use super::super::scope::{RECHECK, awaited};
use super::super::world::Parent;
use super::family::Family;
use super::heir;
use super::names::{EXTERNAL_AUTH, FINALIZER, NODE_POOL};
use super::status;
use crate::api::conditions as c;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::api::labels::{MANAGE, RECONCILE_POLICY};
use crate::health::Live;

/// The next step of the deletion.
pub(super) fn proceed(
    ledger: &Ledger<'_>,
    family: &Family<'_>,
    conditions: Conditions,
    outcome: &mut Outcome,
) {
    let auths = external_auths(ledger, family, outcome);
    if !auths.is_empty() {
        outcome.wake_at(ledger.now + RECHECK);
        let message = awaited("the external authentication", auths);
        let why = (c::WAITING_FOR_EXTERNAL_AUTH, message);
        return wait(ledger.owner, conditions, why, None, outcome);
    }
    if !ledger.stays_in_azure && goes_along(ledger, family, outcome) {
        if heir::hand_on(ledger, family, outcome) {
            outcome.maybe(outcome::unfinalize(ledger.owner, FINALIZER));
        }
        return;
    }
    // Azure needs the rest until the node pool is gone.
    let mut left = resources::remove(ledger, is_node_pool, outcome);
    if left.is_empty() {
        left = resources::remove(ledger, |_| true, outcome);
    }
    if left.is_empty() {
        return outcome.maybe(outcome::unfinalize(ledger.owner, FINALIZER));
    }
    let is_pool = left.iter().all(|entry| entry.id.kind == NODE_POOL);
    let names: Vec<String> = match is_pool {
        true => left.iter().map(|entry| entry.id.name.clone()).collect(),
        false => left.iter().map(Entry::title).collect(),
    };
    let what = if is_pool {
        "the node pool"
    } else {
        "the resources"
    };
    let message = awaited(what, names.iter().map(String::as_str));
    let why = (
        resources::waiting_for(&left, c::WAITING_FOR_RESOURCES),
        resources::with_notes(message, &left),
    );
    wait(ledger.owner, conditions, why, Some(&left), outcome);
}

fn is_node_pool(live: Live<'_>) -> bool {
    live.kind() == NODE_POOL
}

/// Whether Azure deletes the node pool with the HCP cluster: its Cluster is being deleted, or is gone and Azure deletes the HCP
/// cluster already. Without a Cluster nobody else can tell: a person may have the node pool alone deleted. An HCP cluster that
/// stays in Azure keeps what is not deleted by itself.
fn goes_along(ledger: &Ledger<'_>, family: &Family<'_>, outcome: &mut Outcome) -> bool {
    let Some(hcp) = family.hcp_cluster(ledger.world, ledger.owner, outcome) else {
        return false;
    };
    let cluster = family.membership.cluster_of_deletion(ledger.owner);
    // Once it is being deleted, nobody lifts a pause any more.
    let policy = match hcp.is_deleting() {
        true => hcp.annotation(RECONCILE_POLICY),
        false => resources::policy(hcp),
    };
    ["", MANAGE].contains(&policy) && cluster.unwrap_or(hcp).is_deleting()
}

/// The external authentications of a cluster that is deleted as a whole, which go before node pools: those that its control
/// plane has, and those that are on their way out.
fn external_auths<'a>(
    ledger: &Ledger<'a>,
    family: &Family<'_>,
    outcome: &mut Outcome,
) -> Vec<&'a str> {
    let goes = |live: Option<Live<'_>>| live.is_some_and(Live::is_deleting);
    if !goes(family.cluster) && !goes(family.plane) {
        return Vec::new();
    }
    let namespace = ledger.owner.namespace();
    let parent = Parent::new(RED_HAT_OPENSHIFT, EXTERNAL_AUTH, namespace, family.hcp);
    let plane = family.plane.map_or("", Live::uid);
    let is_awaited = |auth: &Live<'_>| {
        let has_plane = !plane.is_empty() && owner_uids(*auth).any(|uid| uid == plane);
        has_plane || auth.is_deleting()
    };
    let auths = ledger.world.below(&parent).filter(is_awaited);
    let names = auths.map(Live::name).collect();
    outcome.needs.push(Need::Below(parent));
    names
}

/// Reports what the deletion waits for, and what is left if that is known.
fn wait(
    live: Live<'_>,
    mut conditions: Conditions,
    (reason, message): (&str, String),
    left: Option<&[Entry]>,
    outcome: &mut Outcome,
) {
    conditions.set(c::DELETING, NewCondition::yes(reason, message));
    let mut status = status::held(live);
    status["ready"] = json!(false);
    if let Some(left) = left {
        status["resources"] = resources::listed(left);
    }
    status::write(live, status, conditions, outcome);
}
