//! Deletes a control plane in order.
//!
//! In: an AROControlPlane that is being deleted, or whose Cluster is. Out: external authentications deleted first; then the
//! machine pools are waited for, the HCP cluster and the rest deleted, what is left of the node pools in Kubernetes, and the
//! finalizer taken off. Azure deletes the node pools with the HCP cluster, and refuses to delete the last one before; while
//! the Cluster stays they are waited for all the same, so that nothing is deleted that somebody uses. Neither the Cluster nor
//! the identity is needed for it; as long as the identity is there, a change of it still reaches Azure Service Operator.

use super::super::conditions::{Conditions, NewCondition};
use super::super::credentials;
use super::super::membership::Membership;
use super::super::outcome::{self, Need, Outcome};
use super::super::resources::{self, Entry, Ledger};
use super::super::scope::{RECHECK, awaited, leaves};
use super::super::world::Parent;
use super::names::{EXTERNAL_AUTH, FINALIZER, HCP, NODE_POOL};
use super::status;
use crate::api::conditions as c;
use crate::api::kinds::{INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::health::Live;
use crate::model::ObjectId;

/// The Cluster is being deleted, and the control plane is not yet: its external authentication goes first, while node
/// pools are deleted.
pub(super) fn begin(ledger: &Ledger<'_>, conditions: Conditions, outcome: &mut Outcome) {
    let left = resources::remove(ledger, is_auth, outcome);
    if !left.is_empty() {
        return wait_for_auth(ledger, &left, conditions, outcome);
    }
    let message = "Waiting for Cluster API to delete the machine pools, then this object";
    let why = (c::WAITING_FOR_NODE_POOLS, message.to_owned());
    wait(ledger, conditions, why, outcome);
}

/// The next step of the deletion.
pub(super) fn proceed(
    ledger: &Ledger<'_>,
    membership: &Membership<'_>,
    conditions: Conditions,
    outcome: &mut Outcome,
) {
    let left = resources::remove(ledger, is_auth, outcome);
    if !left.is_empty() {
        return wait_for_auth(ledger, &left, conditions, outcome);
    }
    let pools = pools(ledger, membership, outcome);
    if !pools.is_empty() {
        outcome.wake_at(ledger.now + RECHECK);
        let message = awaited("the node pools", pools.iter().map(String::as_str));
        let why = (c::WAITING_FOR_NODE_POOLS, message);
        return wait(ledger, conditions, why, outcome);
    }
    let left = resources::remove(ledger, |_| true, outcome);
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(Entry::title).collect();
        let message = awaited("the resources", names.iter().map(String::as_str));
        let why = (c::WAITING_FOR_RESOURCES, message);
        return wait_with(ledger, conditions, why, &left, outcome);
    }
    let left = remnants(ledger, outcome);
    if !left.is_empty() {
        let names = left.iter().map(|entry| entry.id.name.as_str());
        let message = awaited("what is left of the node pools", names);
        let why = (c::WAITING_FOR_NODE_POOLS, message);
        return wait_with(ledger, conditions, why, &left, outcome);
    }
    if credentials::release_orphan(ledger, outcome) {
        outcome.maybe(outcome::unfinalize(ledger.owner, FINALIZER));
    }
}

/// The kind that has a node pool.
const MACHINES: &str = "AROMachinePool";

fn is_auth(live: Live<'_>) -> bool {
    live.kind() == EXTERNAL_AUTH
}

fn wait_for_auth(
    ledger: &Ledger<'_>,
    left: &[Entry],
    conditions: Conditions,
    outcome: &mut Outcome,
) {
    let names = left.iter().map(|entry| entry.id.name.as_str());
    let message = awaited("the external authentication", names);
    let why = (c::WAITING_FOR_EXTERNAL_AUTH, message);
    wait_with(ledger, conditions, why, &rest(ledger, left), outcome);
}

/// The node pools of the cluster that are waited for, in Azure or as AROMachinePools. When the Cluster goes, those that are
/// on their way out are not: the last one goes only with the HCP cluster.
fn pools(ledger: &Ledger<'_>, membership: &Membership<'_>, outcome: &mut Outcome) -> Vec<String> {
    let (world, namespace) = (ledger.world, ledger.owner.namespace());
    let mut parents = node_pools(ledger);
    parents.push(Parent::new(
        INFRASTRUCTURE,
        MACHINES,
        namespace,
        ledger.cluster,
    ));
    let cluster = membership.cluster_of_deletion(ledger.owner);
    // Or it is gone. One of the same name that came later takes nothing along.
    let goes = cluster.is_none_or(Live::is_deleting);
    let follows = |pool: Live<'_>| {
        let mut owners = pool.list(&["metadata", "ownerReferences"]).iter().map(Live);
        pool.is_deleting() || owners.any(|owner| owner.kind() == MACHINES)
    };
    let there = parents.iter().flat_map(|parent| world.below(parent));
    let there = there.filter(|pool| !goes || !follows(*pool));
    let there = there.filter(|pool| leaves(world, *pool, outcome));
    let names = there
        .map(|pool| format!("{} {}", pool.kind(), pool.name()))
        .collect();
    outcome.needs.extend(parents.into_iter().map(Need::Below));
    names
}

/// The node pools of the HCP clusters that it has, or has in its list.
fn node_pools(ledger: &Ledger<'_>) -> Vec<Parent> {
    let (world, live) = (ledger.world, ledger.owner);
    let owned = world.owned(live.uid()).filter(|live| live.kind() == HCP);
    let mut clusters: Vec<&str> = owned.map(Live::name).collect();
    let items = live.list(&["spec", "resources"]).iter().map(Live);
    clusters.extend(items.filter(|item| item.kind() == HCP).map(Live::name));
    clusters.sort_unstable();
    clusters.dedup();
    let of = |name: &str| Parent::new(RED_HAT_OPENSHIFT, NODE_POOL, live.namespace(), name);
    clusters.into_iter().map(of).collect()
}

/// What is left in Kubernetes of node pools that Azure deleted with the HCP cluster, which is gone. Azure Service Operator
/// needs the credential of the cluster to let go of them, so they are waited for; garbage collection would delete them, too.
fn remnants(ledger: &Ledger<'_>, outcome: &mut Outcome) -> Vec<Entry> {
    let world = ledger.world;
    let is_owned = |pool: Live<'_>| {
        let mut owners = pool.list(&["metadata", "ownerReferences"]).iter().map(Live);
        owners.any(|owner| owner.kind() == HCP)
    };
    let mut left = Vec::new();
    for parent in node_pools(ledger) {
        let hcp = ObjectId::new(RED_HAT_OPENSHIFT, HCP, &*parent.namespace, &*parent.name);
        let is_gone = world.get(&hcp).is_absent();
        outcome.need(hcp);
        if !is_gone {
            continue;
        }
        for pool in world.below(&parent) {
            if !pool.is_deleting() && (!is_owned(pool) || leaves(world, pool, outcome)) {
                continue;
            }
            outcome.maybe(resources::step(ledger, pool));
            left.push(resources::leaving(world, &pool.id(), pool));
        }
        outcome.needs.push(Need::Below(parent));
    }
    if !left.is_empty() {
        outcome.wake_at(ledger.now + RECHECK);
    }
    left
}

/// Entries of everything that the control plane still has, with `left` as it is.
fn rest(ledger: &Ledger<'_>, left: &[Entry]) -> Vec<Entry> {
    let others = ledger
        .world
        .owned(ledger.owner.uid())
        .filter(|live| live.kind() == HCP);
    let others = others.map(|live| Entry {
        id: live.id(),
        version: live.version().to_owned(),
        ready: live.holds(c::READY),
        message: String::new(),
        concern: None,
        note: None,
    });
    left.iter().cloned().chain(others).collect()
}

fn wait(ledger: &Ledger<'_>, conditions: Conditions, why: (&str, String), outcome: &mut Outcome) {
    let left = rest(ledger, &[]);
    wait_with(ledger, conditions, why, &left, outcome);
}

/// Reports what the deletion waits for.
fn wait_with(
    ledger: &Ledger<'_>,
    mut conditions: Conditions,
    (reason, message): (&str, String),
    left: &[Entry],
    outcome: &mut Outcome,
) {
    let live = ledger.owner;
    let message = resources::with_notes(message, left);
    let reason = resources::waiting_for(left, reason);
    conditions.set(c::DELETING, NewCondition::yes(reason, message));
    let mut status = status::held(live);
    if live.is_deleting() {
        status["ready"] = serde_json::json!(false);
    }
    status["resources"] = resources::listed(left);
    status::write(live, status, conditions, outcome);
    credentials::refresh(ledger, Some(live), outcome);
}
