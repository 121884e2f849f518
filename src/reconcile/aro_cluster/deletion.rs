//! Deletes what an AROCluster made.
//!
//! In: an AROCluster that is being deleted. Out: its resources deleted once its control plane is gone and its
//! AROMachinePools have nothing left, resource groups after everything in them; then the Secret with its credential released,
//! and its finalizer taken off. A Cluster that is gone holds up nothing.

use std::collections::BTreeSet;

use serde_json::json;

use super::super::conditions::{Conditions, NewCondition};
use super::super::outcome::{self, Need, Outcome};
use super::super::resources::{self, Entry, Ledger};
use super::super::scope::{RECHECK, Scope, awaited};
use super::super::world::{Parent, World};
use super::super::{credentials, links};
use super::status;
use crate::api::conditions as c;
use crate::api::kinds::{CONTROL_PLANE, INFRASTRUCTURE, RESOURCES};
use crate::api::labels::ARO_CLUSTER_FINALIZER;
use crate::health::Live;
use crate::model::ObjectId;

/// The next step of the deletion.
pub(super) fn proceed(
    ledger: &Ledger<'_>,
    scope: &Scope<'_>,
    mut conditions: Conditions,
    outcome: &mut Outcome,
) {
    let live = ledger.owner;
    let planes = planes(ledger.world, live, scope, outcome);
    let mut status = status::held(live);
    status["ready"] = json!(false);
    if !planes.is_empty() {
        outcome.wake_at(ledger.now + RECHECK);
        let message = awaited("AROControlPlane", planes.iter().map(|id| id.name.as_str()));
        let why = NewCondition::yes(c::WAITING_FOR_DELETED_CONTROL_PLANE, message);
        conditions.set(c::DELETING, why);
        return conditions.write(live, status, outcome);
    }
    let pools = pools(ledger, scope, outcome);
    if !pools.is_empty() {
        outcome.wake_at(ledger.now + RECHECK);
        let message = awaited("AROMachinePool", pools);
        let why = NewCondition::yes(c::WAITING_FOR_NODE_POOLS, message);
        conditions.set(c::DELETING, why);
        conditions.write(live, status, outcome);
        return credentials::refresh(ledger, None, outcome);
    }
    let is_group = |id: &ObjectId| id.is(RESOURCES, "ResourceGroup");
    let mut left = resources::remove(ledger, |live| !is_group(&live.id()), outcome);
    if left.iter().all(|entry| is_group(&entry.id)) {
        left = resources::remove(ledger, |_| true, outcome);
    }
    if left.is_empty() {
        // The Secret first: nobody else lets it go.
        if credentials::release(ledger, outcome) {
            outcome.maybe(outcome::unfinalize(live, ARO_CLUSTER_FINALIZER));
        }
        return;
    }
    let names: Vec<String> = left.iter().map(Entry::title).collect();
    let message = awaited("the resources", names.iter().map(String::as_str));
    let message = resources::with_notes(message, &left);
    conditions.set(
        c::DELETING,
        NewCondition::yes(
            resources::waiting_for(&left, c::WAITING_FOR_RESOURCES),
            message,
        ),
    );
    status["resources"] = resources::listed(&left);
    conditions.write(live, status, outcome);
    credentials::refresh(ledger, None, outcome);
}

/// The AROMachinePools of its Cluster that still have something, which goes with the same credential. They wait for nothing
/// that the AROCluster has; where a person has to decide, their conditions say so.
fn pools<'a>(ledger: &Ledger<'a>, scope: &Scope<'_>, outcome: &mut Outcome) -> Vec<&'a str> {
    let namespace = ledger.owner.namespace();
    let parent = Parent::new(INFRASTRUCTURE, "AROMachinePool", namespace, scope.name);
    let world = ledger.world;
    let pools = world.below(&parent);
    let pools = pools.filter(|pool| resources::has_any(world, *pool, outcome));
    let names = pools.map(Live::name).collect();
    outcome.needs.push(Need::Below(parent));
    names
}

/// The control planes of its Cluster that are still there.
fn planes(
    world: World<'_>,
    live: Live<'_>,
    scope: &Scope<'_>,
    outcome: &mut Outcome,
) -> BTreeSet<ObjectId> {
    let parent = Parent::new(
        CONTROL_PLANE,
        "AROControlPlane",
        live.namespace(),
        scope.name,
    );
    let below = world.below(&parent);
    let named = scope.cluster.as_ref().ok();
    let named = named.and_then(|cluster| links::control_plane(*cluster));
    outcome.needs.push(Need::Below(parent));
    outcome.needs.extend(named.clone().map(Need::Object));
    let named = named.and_then(|id| world.get(&id).present());
    // One that nobody deletes, and that has made something, is waited for too: its condition tells a person.
    let is_alive = |plane: &Live<'_>| {
        let owners = plane.list(&["metadata", "ownerReferences"]).iter();
        // The identity that it uses takes nothing along.
        let mut owners = owners.filter(|owner| Live(owner).kind() != "AzureClusterIdentity");
        plane.is_deleting() || owners.next().is_some() || world.owned(plane.uid()).next().is_some()
    };
    let all = below.chain(named).filter(is_alive);
    all.map(Live::id).collect()
}
