//! The controller of AROCluster (facts/aro-controllers.md §3.1 and §3.4).
//!
//! In: an AROCluster, its Cluster, control plane and embedded resources. Out: the resources applied,
//! the endpoint copied from the control plane, and its status; on deletion, the resources deleted after the control
//! plane, resource groups last.
//!
//! An AROCluster without resources has its infrastructure elsewhere: it is ready at once, and provisioned as soon as its
//! control plane is ready. Resources are applied again whenever they differ, ready or not.

mod deletion;
mod endpoint;
mod status;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::status::Plane;
use super::Settings;
use super::conditions::{Conditions, NewCondition};
use super::course::Course;
use super::credentials::{self, Parts};
use super::handover;
use super::links;
use super::orphan;
use super::outcome::{self, Outcome};
use super::resources::{self, Ledger};
use super::scope::Scope;
use super::world::World;
use crate::api::conditions as c;
use crate::api::kinds::CONTROL_PLANE;
use crate::api::labels::ARO_CLUSTER_FINALIZER;
use crate::health::Live;

/// What to do about an AROCluster.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    settings: &Settings,
) -> Outcome {
    let mut outcome = Outcome::default();
    handover::take_off_note(live, &mut outcome);
    let scope = Scope::of(world, live, &mut outcome);
    let ledger = Ledger::new((world, live, now), scope.name, settings);
    let belonging = (&scope.membership, scope.is_paused);
    let conditions = match Course::of(&ledger, belonging, status::held, &mut outcome) {
        Course::Rest => return outcome,
        Course::Delete(ledger, conditions) => {
            deletion::proceed(&ledger, &scope, conditions, &mut outcome);
            return outcome;
        }
        Course::Provision(conditions) => conditions,
    };
    match scope.cluster {
        Err(missing) => {
            let missing = orphan::left_over(&ledger, missing, &mut outcome);
            refuse(live, conditions, &[c::READY], &missing, &mut outcome);
        }
        // Its parts are deleted one after the other; nothing is made again meanwhile.
        Ok(cluster) if cluster.is_deleting() => {}
        Ok(cluster) => match wrong(cluster) {
            Some(wrong) => {
                let items = live.list(&["spec", "resources"]);
                resources::resume(&ledger, items, &mut outcome);
                let kinds = [c::NETWORK_INFRASTRUCTURE_READY];
                refuse(live, conditions, &kinds, &wrong, &mut outcome);
            }
            None => provision(&ledger, cluster, conditions, &mut outcome),
        },
    }
    outcome
}

/// What a person has to change before anything can be done.
fn wrong(cluster: Live<'_>) -> Option<NewCondition> {
    let plane = links::control_plane(cluster);
    let is_ours = plane.is_some_and(|id| id.is(CONTROL_PLANE, "AROControlPlane"));
    let refuse = || NewCondition::no(c::UNSUPPORTED_CONTROL_PLANE, c::NO_ARO_CONTROL_PLANE);
    (!is_ours).then(refuse)
}

/// Reports why nothing is done, in these conditions; the rest of the status stays.
fn refuse(
    live: Live<'_>,
    mut conditions: Conditions,
    kinds: &[&str],
    why: &NewCondition,
    outcome: &mut Outcome,
) {
    for kind in kinds {
        conditions.set(kind, why.clone());
    }
    if !kinds.contains(&c::READY) {
        conditions.summarize(false, kinds);
    }
    let mut status = status::held(live);
    status["ready"] = json!(false);
    conditions.write(live, status, outcome);
}

/// Applies the resources, and copies what the control plane reports.
fn provision(
    ledger: &Ledger<'_>,
    cluster: Live<'_>,
    mut conditions: Conditions,
    outcome: &mut Outcome,
) {
    let (world, live) = (ledger.world, ledger.owner);
    let plane = links::control_plane(cluster);
    outcome
        .needs
        .extend(plane.clone().map(outcome::Need::Object));
    let plane = plane.and_then(|id| world.get(&id).present());
    let url = plane.map_or("", |plane| plane.text(&["status", "apiURL"]));
    let endpoint = endpoint::read(url);
    let known = endpoint.as_ref().and_then(|read| read.as_ref().ok());
    let items = live.list(&["spec", "resources"]);
    let spec = with_endpoint(live, known);
    // The finalizer first: the Secret of the cluster is written once it is there.
    resources::mark(ledger, ARO_CLUSTER_FINALIZER, items, spec, outcome);
    let parts = Parts {
        plane,
        infrastructure: Some(live),
    };
    let secret = credentials::secret_name(ledger.cluster);
    let credential = match credentials::of(ledger, parts, &mut conditions, outcome) {
        Ok(true) => secret.as_str(),
        Ok(false) => "",
        Err((kind, why)) => {
            resources::resume(ledger, items, outcome);
            let kinds = [kind, c::NETWORK_INFRASTRUCTURE_READY];
            return refuse(live, conditions, &kinds, &why, outcome);
        }
    };
    let ledger = &Ledger {
        credential,
        ..*ledger
    };
    let entries = resources::reconcile(ledger, items, outcome);
    let plane = Plane {
        is_ready: plane.is_some_and(|plane| plane.flag(&["status", "ready"])),
        url,
        endpoint,
    };
    status::write(ledger, &entries, &plane, conditions, outcome);
}

/// The spec to write: the endpoint, the one it has if the control plane reports none.
fn with_endpoint(live: Live<'_>, endpoint: Option<&Value>) -> Value {
    let held = live.at(&["spec", "controlPlaneEndpoint"]);
    let known = endpoint.or(held);
    known.map_or(
        Value::Null,
        |endpoint| json!({"controlPlaneEndpoint": endpoint}),
    )
}
