//! The controller of HostedCluster.
//!
//! In: a HostedCluster, its control plane and its NodePools, the Secrets that it names, and what should fail. Out: the
//! namespace and the HostedControlPlane, and the status; on deletion the pools, then the control plane, then the namespace.
//! It does not know how a control plane comes up.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::azure::Azure;
use super::super::failure::Failure;
use super::apis::HostedApis;
use super::version::{Presence, Version, version};
use super::{failures, moments, names, router, secrets};
use crate::api::azure_private_link_service::CONDITIONS;
use crate::api::platform::HYPERSHIFT;
use crate::api::timeline;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::{Conditions, NewCondition, Typed};
use crate::reconcile::outcome::{self, Need, Outcome, Write, apply, patch_of, unfinalize};
use crate::reconcile::world::{Parent, World};

const AVAILABLE: &str = "Available";
const AS_EXPECTED: &str = "AsExpected";
const UNKNOWN: &str = "StatusUnknown";
/// On a control plane: the generation of the HostedCluster that it was written for.
const GENERATION: &str = "hypershift.openshift.io/hosted-cluster-generation";
/// The checks before anything is made.
const CHECKS: [&str; 5] = [
    "ValidConfiguration",
    "SupportedHostedCluster",
    "ValidReleaseImage",
    "ValidReleaseInfo",
    "PlatformCredentialsFound",
];

/// Reconciles a HostedCluster.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    (failures, azure, apis): (&[Failure], &Azure, &HostedApis),
) -> Outcome {
    let mut outcome = Outcome::default();
    let (home, plane) = (home(live), names::control_plane(live));
    outcome.need(home.clone());
    outcome.need(plane.clone());
    let pools = Need::below(HYPERSHIFT, "NodePool", live.namespace(), live.name());
    outcome.needs.push(pools);
    let plane = world.get(&plane).present();
    if live.is_deleting() {
        take_down(world, live, now, (plane, azure), &mut outcome);
        return outcome;
    }
    if let Some(mut paused) = moments::pause(live, now) {
        paused.needs = outcome.needs;
        paused.maybe(plane.and_then(|plane| pause_plane(live, plane)));
        return paused;
    }
    outcome.maybe(plane.and_then(|plane| pause_plane(live, plane)));
    let mut patch = patch_of(live);
    patch["metadata"]["finalizers"] = json!([names::FINALIZER]);
    patch["spec"] = json!({"clusterID": names::cluster_id(live)});
    outcome.maybe(apply(live, patch));
    let fault = fault(world, live, failures, &mut outcome);
    if fault.is_none() {
        if world.get(&home).is_absent() {
            outcome.write(Write::Apply(namespace(live)));
        }
        outcome.maybe(control_plane(live, plane));
    }
    let status = status(world, live, now, plane, fault, (apis, &mut outcome));
    outcome.maybe(report(live, status));
    outcome
}

/// The namespace of the control plane.
fn home(live: Live<'_>) -> ObjectId {
    names::namespace(&names::control_plane_namespace(live))
}

fn namespace(live: Live<'_>) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": names::control_plane_namespace(live),
            "labels": {names::CONTROL_PLANE: "true"},
        },
    })
}

/// The control plane for the present spec. The server fills in much of it, so that only the generation shows what it was
/// written for.
fn control_plane(live: Live<'_>, held: Option<Live<'_>>) -> Option<Write> {
    let generation = live.generation().to_string();
    if held.is_some_and(|held| held.annotation(GENERATION) == generation) {
        return None;
    }
    let mut spec = live.at(&["spec"]).cloned().unwrap_or_else(|| json!({}));
    let fields = spec.as_object_mut()?;
    fields.remove("controlPlaneRelease");
    fields.remove("release");
    for (field, value) in [
        ("dns", json!({})),
        ("etcd", json!({"managementType": "Managed"})),
        ("infraID", json!(names::infra_id(live))),
        ("issuerURL", json!("https://kubernetes.default.svc")),
        ("services", json!([])),
        ("sshKey", json!({})),
    ] {
        fields.entry(field).or_insert(value);
    }
    spec["releaseImage"] = json!(image(live));
    let id = names::control_plane(live);
    Some(Write::Apply(json!({
        "apiVersion": names::api_version(HYPERSHIFT),
        "kind": id.kind,
        "metadata": {
            "name": id.name,
            "namespace": id.namespace,
            "annotations": {names::CLUSTER: names::path(live), GENERATION: generation},
        },
        "spec": spec,
    })))
}

/// Pauses the control plane as the cluster is paused, which the operator does in any case.
fn pause_plane(live: Live<'_>, plane: Live<'_>) -> Option<Write> {
    let path = ["spec", "pausedUntil"];
    if live.text(&path) == plane.text(&path) {
        return None;
    }
    let mut patch = patch_of(plane);
    patch["spec"] = json!({"pausedUntil": live.at(&path)});
    Some(Write::Merge(patch))
}

fn image(live: Live<'_>) -> &str {
    live.text(&["spec", "release", "image"])
}

/// The check that does not hold.
fn fault(
    world: World<'_>,
    live: Live<'_>,
    failures: &[Failure],
    outcome: &mut Outcome,
) -> Option<Typed> {
    let mut fault = failures::condition(failures, live);
    for (name, kind, of) in [
        (
            live.text(&["spec", "pullSecret", "name"]),
            "ValidReleaseImage",
            "pullSecret",
        ),
        (
            live.text(&["spec", "sshKey", "name"]),
            "ValidConfiguration",
            "sshKey",
        ),
    ] {
        if name.is_empty() {
            continue;
        }
        let id = ObjectId::new("", "Secret", live.namespace(), name);
        if world.get(&id).is_absent() {
            let message = format!("{id}, which spec.{of} names, does not exist");
            fault.get_or_insert((kind, NewCondition::no("SecretNotFound", message)));
        }
        outcome.need(id);
    }
    fault
}

/// The status. What belongs to an available cluster is made along with it.
fn status(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    plane: Option<Live<'_>>,
    fault: Option<Typed>,
    (apis, outcome): (&HostedApis, &mut Outcome),
) -> Value {
    let is_up = plane.is_some_and(|plane| moments::since(plane, AVAILABLE, true).is_some());
    let mut pools = pools(world, live);
    let has_nodes = pools.any(|pool| pool.count(&["status", "replicas"]) > 0);
    // The status follows the release of the control plane, which gets a new one later.
    let told = plane.map_or(image(live), |plane| plane.text(&["spec", "releaseImage"]));
    let there = Presence { is_up, has_nodes };
    let Version { status, upgrading } = version(live, told, there, now);
    if let Some(end) = upgrading {
        outcome.wake_at(end);
    }
    let is_complete = status["history"][0]["state"] == "Completed";
    let mut conditions = Conditions::of(live, now);
    for kind in CHECKS {
        conditions.set(kind, NewCondition::yes(AS_EXPECTED, ""));
    }
    let facts = [
        (AVAILABLE, available(is_up)),
        ("Progressing", progressing(told != image(live))),
        ("Degraded", degraded(plane, is_up, upgrading.is_some())),
        ("InfrastructureReady", infrastructure(plane)),
        ("ClusterVersionAvailable", cluster_version(is_complete)),
        ("ReconciliationActive", NewCondition::yes(AS_EXPECTED, "")),
        ("ReconciliationSucceeded", reconciled(fault.as_ref())),
    ];
    for (kind, condition) in facts.into_iter().chain(copied(plane)).chain(fault) {
        conditions.set(kind, condition);
    }
    let mut status = json!({"version": status});
    let endpoint = plane.and_then(|plane| plane.at(&["status", "controlPlaneEndpoint"]));
    if let Some(endpoint) = endpoint {
        let [kubeconfig, password] = secrets::names(live);
        status["controlPlaneEndpoint"] = endpoint.clone();
        status["kubeconfig"] = json!({"name": kubeconfig});
        status["kubeadminPassword"] = json!({"name": password});
        secrets::reconcile(world, live, Live(endpoint), (apis, outcome));
    }
    // Whoever connects a private cluster reports it.
    let mut status = moments::with(status, conditions);
    if let Some(list) = status["conditions"].as_array_mut() {
        list.retain(|one| !is_of_connection(one));
    }
    status
}

fn is_of_connection(condition: &Value) -> bool {
    condition["type"]
        .as_str()
        .is_some_and(|kind| CONDITIONS.contains(&kind))
}

/// Writes the status, unless all that is HyperShift's is as it is.
fn report(live: Live<'_>, status: Value) -> Option<Write> {
    let mut held = live.at(&["status"]).cloned().unwrap_or_default();
    if let Some(list) = held["conditions"].as_array_mut() {
        list.retain(|one| !is_of_connection(one));
    }
    (held != status)
        .then(|| outcome::status(live, status))
        .flatten()
}

fn available(is_up: bool) -> NewCondition {
    if is_up {
        NewCondition::yes(AS_EXPECTED, "The hosted control plane is available")
    } else {
        NewCondition::no(
            "WaitingForAvailable",
            "Waiting for hosted control plane to be healthy",
        )
    }
}

/// HyperShift reports progress only while the release of a cluster differs from that of its control plane, not while a cluster
/// comes up.
fn progressing(is_behind: bool) -> NewCondition {
    if is_behind {
        NewCondition::yes("Progressing", "")
    } else {
        NewCondition::no(AS_EXPECTED, "")
    }
}

fn degraded(plane: Option<Live<'_>>, is_up: bool, is_upgrading: bool) -> NewCondition {
    match plane {
        None => NewCondition::unknown(UNKNOWN, "The hosted control plane is not found"),
        Some(_) if is_up && !is_upgrading => NewCondition::no(AS_EXPECTED, ""),
        Some(_) => NewCondition::yes(
            "UnavailableReplicas",
            "kube-apiserver deployment has 1 unavailable replicas",
        ),
    }
}

fn infrastructure(plane: Option<Live<'_>>) -> NewCondition {
    let is_ready = plane.is_some_and(|plane| plane.holds("InfrastructureReady"));
    NewCondition::either(
        is_ready,
        AS_EXPECTED,
        "WaitingOnInfrastructureReady",
        "Waiting for the infrastructure of the control plane",
    )
}

fn cluster_version(is_complete: bool) -> NewCondition {
    if is_complete {
        NewCondition::yes("FromClusterVersion", "The release is complete")
    } else {
        NewCondition::no("FromClusterVersion", "The release needs nodes")
    }
}

fn reconciled(fault: Option<&Typed>) -> NewCondition {
    match fault {
        Some((_, condition)) => NewCondition::no("ReconcileError", condition.message()),
        None => NewCondition::yes("ReconciliationSucceeded", ""),
    }
}

/// The conditions that are taken over from the control plane.
fn copied(plane: Option<Live<'_>>) -> impl Iterator<Item = Typed> {
    ["EtcdAvailable", "KubeAPIServerAvailable"]
        .into_iter()
        .map(move |kind| {
            let found = plane.and_then(|plane| plane.condition(kind));
            let condition = match found {
                Some(found) if found.is_true() => NewCondition::yes(found.reason(), ""),
                Some(found) => NewCondition::no(found.reason(), found.message()),
                None => NewCondition::unknown(UNKNOWN, ""),
            };
            (kind, condition)
        })
}

/// The node pools of a cluster, by name.
fn pools<'a>(world: World<'a>, live: Live<'a>) -> impl Iterator<Item = Live<'a>> {
    let parent = Parent::new(HYPERSHIFT, "NodePool", live.namespace(), live.name());
    world.below(&parent)
}

/// Deletes the pools, then the control plane, then its namespace with all that is in it, each once the one before is gone.
/// The time that this takes passes between the first two, where the operator waits for machines and for the cloud.
fn take_down(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    (plane, azure): (Option<Live<'_>>, &Azure),
    outcome: &mut Outcome,
) {
    let due = moments::after(moments::deleted(live, now), timeline::deletion(&live.id()));
    let pools: Vec<Live<'_>> = pools(world, live).collect();
    // A namespace that somebody else made stays.
    let home = world.get(&home(live)).present();
    let home = home.filter(|home| !home.label(names::CONTROL_PLANE).is_empty());
    if !pools.is_empty() {
        outcome
            .writes
            .extend(pools.into_iter().filter_map(outcome::delete));
    } else if now < due {
        outcome.wake_at(due);
    } else if let Some(next) = plane.or(home) {
        outcome.maybe(outcome::delete(next));
    } else {
        router::take_down(azure, live);
        outcome.maybe(unfinalize(live, names::FINALIZER));
    }
}
