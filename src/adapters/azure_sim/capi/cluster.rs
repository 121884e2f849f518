//! The controller of Cluster.
//!
//! In: a Cluster, its infrastructure, control plane and machine pools. Out: owner references on them,
//! its endpoint and its status; its parts deleted in order.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::contract::is_older;
use crate::api::capi;
use crate::api::kinds::CAPI;
use crate::health::{Live, health};
use crate::reconcile::conditions::{Conditions, NewCondition};
use crate::reconcile::links;
use crate::reconcile::outcome::{self, Need, Outcome, Write, apply, patch_of, unfinalize};
use crate::reconcile::world::{Parent, World};

const ENDPOINT: &[&str] = &["spec", "controlPlaneEndpoint"];

/// What to do about a Cluster.
pub(super) fn reconcile(world: World<'_>, live: Live<'_>, now: Timestamp) -> Outcome {
    let mut outcome = Outcome::default();
    let parts = [links::infrastructure(live), links::control_plane(live)];
    let needs = parts.iter().flatten().cloned().map(Need::Object);
    outcome.needs.extend(needs);
    let pools = Need::below(CAPI, "MachinePool", live.namespace(), live.name());
    outcome.needs.push(pools);
    if live.is_deleting() {
        outcome.writes = take_down(world, live, now);
        return outcome;
    }
    if links::is_paused(live, live) {
        return outcome;
    }
    let [infrastructure, plane] = parts
        .clone()
        .map(|id| id.and_then(|id| world.get(&id).present()));
    outcome.maybe(own(live, infrastructure));
    for part in parts.iter().flatten() {
        outcome.maybe(links::adopt(world, part, live, live.name()));
    }
    let status = status(world, live, now, infrastructure, plane);
    outcome.maybe(outcome::status(live, status));
    outcome
}

/// The finalizer, and the endpoint once the infrastructure has one.
fn own(live: Live<'_>, infrastructure: Option<Live<'_>>) -> Option<Write> {
    let mut patch = patch_of(live);
    patch["metadata"]["finalizers"] = json!([capi::CLUSTER_FINALIZER]);
    let provisioned = infrastructure.filter(|part| is_provisioned(*part));
    let endpoint = provisioned.and_then(|part| part.at(ENDPOINT));
    if let Some(endpoint) = endpoint.or_else(|| live.at(ENDPOINT)) {
        patch["spec"] = json!({"controlPlaneEndpoint": endpoint});
    }
    apply(live, patch)
}

fn is_provisioned(infrastructure: Live<'_>) -> bool {
    infrastructure.flag(&["status", "initialization", "provisioned"])
}

fn status(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    infrastructure: Option<Live<'_>>,
    plane: Option<Live<'_>>,
) -> Value {
    let was = |step: &str| live.flag(&["status", "initialization", step]);
    let provisioned = infrastructure.is_some_and(is_provisioned);
    let initialized = plane
        .is_some_and(|plane| plane.flag(&["status", "initialization", "controlPlaneInitialized"]));
    let available = plane.is_some_and(|plane| plane.flag(&["status", "ready"]));
    let steps = [
        (
            "infrastructureProvisioned",
            was("infrastructureProvisioned") || provisioned,
        ),
        (
            "controlPlaneInitialized",
            was("controlPlaneInitialized") || initialized,
        ),
    ];
    let short = short_pools(world, live);
    let facts = [
        (capi::INFRASTRUCTURE_READY, provisioned, String::new()),
        (capi::CONTROL_PLANE_INITIALIZED, steps[1].1, String::new()),
        (capi::CONTROL_PLANE_AVAILABLE, available, String::new()),
        (capi::WORKERS_AVAILABLE, short.is_empty(), short.join(", ")),
    ];
    let mut status = json!({
        "observedGeneration": live.generation(),
        "phase": if steps[0].1 { "Provisioned" } else { "Provisioning" },
        "conditions": conditions(live, now, &facts),
    });
    let done = steps.into_iter().filter(|(_, done)| *done);
    let done: Map<String, Value> = done
        .map(|(step, _)| (step.to_owned(), json!(true)))
        .collect();
    if !done.is_empty() {
        status["initialization"] = Value::Object(done);
    }
    if is_older(live, &["spec", "infrastructureRef"]) {
        status["infrastructureReady"] = json!(steps[0].1);
        status["controlPlaneReady"] = json!(steps[1].1);
    }
    status
}

/// A condition for each fact, and the summary.
fn conditions(live: Live<'_>, now: Timestamp, facts: &[(&str, bool, String)]) -> Value {
    let mut conditions = Conditions::of(live, now);
    for (kind, holds, message) in facts {
        let condition = NewCondition::either(*holds, "Ready", "NotReady", message.as_str());
        conditions.set(kind, condition);
    }
    let missing: Vec<String> = facts
        .iter()
        .filter(|(_, holds, _)| !holds)
        .map(|(kind, _, message)| format!("* {kind}: {message}"))
        .collect();
    let condition = NewCondition::either(
        missing.is_empty(),
        "Available",
        "NotAvailable",
        missing.join("\n"),
    );
    conditions.set(capi::AVAILABLE, condition);
    conditions.into_value()
}

/// The machine pools of a cluster, by name.
fn pools<'a>(world: World<'a>, live: Live<'a>) -> impl Iterator<Item = Live<'a>> {
    let parent = Parent::new(CAPI, "MachinePool", live.namespace(), live.name());
    world.below(&parent)
}

fn short_pools(world: World<'_>, live: Live<'_>) -> Vec<String> {
    let short = pools(world, live).filter(|pool| !health(pool.0).is_ready());
    short
        .map(|pool| format!("MachinePool {} is not ready", pool.name()))
        .collect()
}

/// Deletes the pools, then the control plane, then the infrastructure, each once the one before is
/// gone.
fn take_down(world: World<'_>, live: Live<'_>, now: Timestamp) -> Vec<Write> {
    let mut stages = vec![pools(world, live).collect::<Vec<_>>()];
    let parts = [links::control_plane(live), links::infrastructure(live)];
    stages.extend(parts.map(|id| {
        id.and_then(|id| world.get(&id).present())
            .into_iter()
            .collect()
    }));
    let Some(stage) = stages.into_iter().find(|stage| !stage.is_empty()) else {
        return unfinalize(live, capi::CLUSTER_FINALIZER)
            .into_iter()
            .collect();
    };
    let mut conditions = Conditions::of(live, now);
    let names: Vec<String> = stage.iter().map(|part| part.id().to_string()).collect();
    conditions.set(
        capi::DELETING,
        NewCondition::yes("WaitingForObjects", names.join(", ")),
    );
    let mut status = live.at(&["status"]).cloned().unwrap_or_else(|| json!({}));
    status["phase"] = json!("Deleting");
    status["conditions"] = conditions.into_value();
    let deletions = stage.into_iter().filter_map(outcome::delete);
    deletions.chain(outcome::status(live, status)).collect()
}
