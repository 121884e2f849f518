//! The controller of MachinePool.
//!
//! In: a MachinePool, its Cluster and its infrastructure, and the nodes of the workload cluster. Out: owner references,
//! and counts of nodes; on deletion the infrastructure is deleted first.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::contract::is_older;
use crate::api::capi::MACHINE_POOL_FINALIZER;
use crate::api::kinds::CAPI;
use crate::api::labels::CLUSTER_NAME;
use crate::health::Live;
use crate::model::{ObjectId, WorkloadNode};
use crate::reconcile::links;
use crate::reconcile::outcome::{self, Outcome, Write, apply, patch_of, unfinalize};
use crate::reconcile::world::World;

/// What to do about a MachinePool.
pub(super) fn reconcile(world: World<'_>, live: Live<'_>, _now: Timestamp) -> Outcome {
    let mut outcome = Outcome::default();
    let template = &["spec", "template", "spec", "infrastructureRef"];
    let infrastructure = links::referenced(live, template);
    let name = live.text(&["spec", "clusterName"]);
    let cluster = ObjectId::new(CAPI, "Cluster", live.namespace(), name);
    infrastructure
        .clone()
        .into_iter()
        .for_each(|id| outcome.need(id));
    outcome.need(cluster.clone());
    let part = infrastructure
        .as_ref()
        .and_then(|id| world.get(id).present());
    if live.is_deleting() {
        match part {
            Some(part) => outcome.maybe(outcome::delete(part)),
            None => outcome.maybe(unfinalize(live, MACHINE_POOL_FINALIZER)),
        }
        return outcome;
    }
    let Some(cluster) = world.get(&cluster).present() else {
        return outcome;
    };
    if links::is_paused(cluster, live) {
        return outcome;
    }
    outcome.maybe(own(live, cluster));
    let adopted = infrastructure.and_then(|id| links::adopt(world, &id, live, cluster.name()));
    outcome.maybe(adopted);
    outcome.needs.push(links::nodes(cluster));
    outcome.need(links::kubeconfig(cluster));
    let nodes = world.nodes(&cluster.id()).and_then(Result::ok);
    let status = status(live, part, nodes.unwrap_or_default());
    outcome.maybe(outcome::status(live, status));
    outcome
}

fn own(live: Live<'_>, cluster: Live<'_>) -> Option<Write> {
    let mut patch = patch_of(live);
    patch["metadata"]["finalizers"] = json!([MACHINE_POOL_FINALIZER]);
    patch["metadata"]["labels"] = json!({CLUSTER_NAME: cluster.name()});
    patch["metadata"]["ownerReferences"] = json!([links::owned_by(cluster, false)]);
    apply(live, patch)
}

/// Nodes of the pool are those whose ids the infrastructure lists.
fn status(live: Live<'_>, infrastructure: Option<Live<'_>>, nodes: &[WorkloadNode]) -> Value {
    let was = |step: &str| live.flag(&["status", "initialization", step]);
    let provisioned =
        infrastructure.is_some_and(|part| part.flag(&["status", "initialization", "provisioned"]));
    let bootstrap = ["spec", "template", "spec", "bootstrap", "dataSecretName"];
    let steps = [
        (
            "bootstrapDataSecretCreated",
            !live.text(&bootstrap).is_empty(),
        ),
        ("infrastructureProvisioned", provisioned),
    ];
    let done = steps.iter().filter(|(step, done)| *done || was(step));
    let done: Map<String, Value> = done
        .map(|(step, _)| ((*step).to_owned(), json!(true)))
        .collect();
    let ids = infrastructure.map_or(&[][..], |part| part.list(&["spec", "providerIDList"]));
    let listed = |node: &&WorkloadNode| ids.iter().any(|id| *id == node.provider_id);
    let nodes = nodes
        .iter()
        .filter(|node| node.ready)
        .filter(listed)
        .count();
    let present = infrastructure.map_or(0, |part| part.count(&["status", "replicas"]));
    let wanted = live.number(&["spec", "replicas"]).unwrap_or(present);
    let mut status = json!({
        "observedGeneration": live.generation(),
        "phase": phase(provisioned, usize::try_from(wanted).is_ok_and(|wanted| nodes >= wanted)),
        "replicas": present,
        "readyReplicas": nodes,
        "availableReplicas": nodes,
        "upToDateReplicas": nodes,
    });
    let template = ["spec", "template", "spec", "infrastructureRef"];
    if is_older(live, &template) {
        status["infrastructureReady"] = json!(done.contains_key("infrastructureProvisioned"));
    }
    if !done.is_empty() {
        status["initialization"] = Value::Object(done);
    }
    status
}

fn phase(provisioned: bool, complete: bool) -> &'static str {
    match (provisioned, complete) {
        (false, _) => "Provisioning",
        (true, false) => "ScalingUp",
        (true, true) => "Running",
    }
}
