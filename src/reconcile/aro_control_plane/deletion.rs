//! Deletes a control plane in order.
//!
//! In: an AROControlPlane that is being deleted, or whose Cluster is. Out: external authentications deleted first; then node
//! pools are waited for, the HCP cluster and the rest deleted, and the finalizer taken off. Neither the Cluster nor the
//! identity is needed for it; as long as the identity is there, a change of it still reaches Azure Service Operator.

use super::super::conditions::{Conditions, NewCondition};
use super::super::credentials;
use super::super::outcome::{self, Need, Outcome};
use super::super::resources::{self, Entry, Ledger};
use super::super::scope::{RECHECK, awaited, leaves};
use super::super::world::Parent;
use super::names::{EXTERNAL_AUTH, FINALIZER, HCP, NODE_POOL};
use super::status;
use crate::api::conditions as c;
use crate::api::kinds::{INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::health::Live;

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
pub(super) fn proceed(ledger: &Ledger<'_>, conditions: Conditions, outcome: &mut Outcome) {
    let left = resources::remove(ledger, is_auth, outcome);
    if !left.is_empty() {
        return wait_for_auth(ledger, &left, conditions, outcome);
    }
    let pools = pools(ledger, outcome);
    if !pools.is_empty() {
        outcome.wake_at(ledger.now + RECHECK);
        let message = awaited("the node pools", pools.iter().map(String::as_str));
        let why = (c::WAITING_FOR_NODE_POOLS, message);
        return wait(ledger, conditions, why, outcome);
    }
    let left = resources::remove(ledger, |_| true, outcome);
    if left.is_empty() {
        if credentials::release_orphan(ledger, outcome) {
            outcome.maybe(outcome::unfinalize(ledger.owner, FINALIZER));
        }
        return;
    }
    let message = awaited(
        "the resources",
        left.iter().map(|entry| entry.id.name.as_str()),
    );
    let why = (c::WAITING_FOR_RESOURCES, message);
    wait_with(ledger, conditions, why, &left, outcome);
}

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

/// The node pools of the cluster that are still there, in Azure or as AROMachinePools.
fn pools(ledger: &Ledger<'_>, outcome: &mut Outcome) -> Vec<String> {
    let (world, live) = (ledger.world, ledger.owner);
    let owned = world.owned(live.uid()).filter(|live| live.kind() == HCP);
    let mut clusters: Vec<&str> = owned.map(Live::name).collect();
    let items = live.list(&["spec", "resources"]).iter().map(Live);
    clusters.extend(items.filter(|item| item.kind() == HCP).map(Live::name));
    clusters.sort_unstable();
    clusters.dedup();
    let namespace = live.namespace();
    let of = |name: &str| Parent::new(RED_HAT_OPENSHIFT, NODE_POOL, namespace, name);
    let mut parents: Vec<Parent> = clusters.into_iter().map(of).collect();
    parents.push(Parent::new(
        INFRASTRUCTURE,
        "AROMachinePool",
        namespace,
        ledger.cluster,
    ));
    let there = parents.iter().flat_map(|parent| world.below(parent));
    let there = there.filter(|pool| leaves(world, *pool, outcome));
    let names = there
        .map(|pool| format!("{} {}", pool.kind(), pool.name()))
        .collect();
    outcome.needs.extend(parents.into_iter().map(Need::Below));
    names
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
    conditions.set(c::DELETING, NewCondition::yes(reason, message));
    let mut status = status::held(live);
    if live.is_deleting() {
        status["ready"] = serde_json::json!(false);
    }
    status["resources"] = resources::listed(left);
    status::write(live, status, conditions, outcome);
    credentials::refresh(ledger, Some(live), outcome);
}
