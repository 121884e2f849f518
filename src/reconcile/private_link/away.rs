//! Whether a controller leaves a connection to HyperShift's controllers.
//!
//! In: the operators of HyperShift that run, and who wrote the object. Out: leave it, and why; decided before the first
//! write. It does not know what a controller does otherwise.

use jiff::{SignedDuration, Timestamp};

use super::names::{HYPERSHIFT_ENDPOINT_FINALIZER, HYPERSHIFT_SERVICE_FINALIZER, is_held_by};
use crate::api::fleet::Mode;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::{Need, Outcome};
use crate::reconcile::world::{Parent, World};

/// For how long a write of another controller keeps ours away.
const HOLD: SignedDuration = SignedDuration::from_mins(10);
/// The first release whose control plane operator has the observer and the endpoint controller.
const FIRST: (u64, u64) = (4, 22);
/// Tools that write what people ask for, and what Kubernetes does by itself.
const TOOLS: [&str; 7] = [
    "kubectl",
    "helm",
    "argocd",
    "kustomize-controller",
    "kube-controller-manager",
    "kube-apiserver",
    "capstan",
];

/// Whether an object is being deleted and a controller holds it: what that made is deleted, whoever else runs.
pub(super) fn is_ending(live: Live<'_>, finalizer: &str) -> bool {
    live.is_deleting() && is_held_by(live, finalizer)
}

/// Tells the people who look at the object why a controller leaves it alone. Returns true if it does.
pub(super) fn is_told(live: Live<'_>, why: Option<String>, outcome: &mut Outcome) -> bool {
    let is_left = why.is_some();
    if let Some(why) = why {
        let message = format!("Left alone: {why}");
        outcome.event(live, false, "LeftToOthers", message);
    }
    is_left
}

/// Whether HyperShift's operator makes the Private Link Services of the cluster.
pub(super) fn from_operator(world: World<'_>, mode: Mode, outcome: &mut Outcome) -> Option<String> {
    if mode == Mode::On {
        return None;
    }
    let parent = Parent::private_platforms();
    let mut ready = world.below(&parent).filter(|live| is_ready(*live));
    let found = ready.next().map(|live| {
        format!(
            "{} runs with --private-platform=Azure, and makes Private Link Services",
            live.id()
        )
    });
    outcome.needs.push(Need::Below(parent));
    found
}

/// Whether the control plane operator in the namespace of a control plane connects it.
pub(super) fn from_control_plane(
    world: World<'_>,
    (plane, namespace): (Option<Live<'_>>, &str),
    mode: Mode,
    outcome: &mut Outcome,
) -> Option<String> {
    if mode == Mode::On {
        return None;
    }
    let id = ObjectId::new("apps", "Deployment", namespace, "control-plane-operator");
    let operator = world.get(&id).present();
    outcome.need(id.clone());
    operator.filter(|live| is_ready(*live))?;
    let version = plane.map_or("", release);
    match parsed(version) {
        Some(version) if version < FIRST => None,
        Some(_) => Some(format!(
            "{id} of release {version} connects the cluster itself"
        )),
        None => Some(format!(
            "{id} runs, and it is not known whether its release connects the cluster itself"
        )),
    }
}

/// Whether another controller wrote the object, or holds it.
pub(super) fn from_object(
    live: Live<'_>,
    mode: Mode,
    now: Timestamp,
    outcome: &mut Outcome,
) -> Option<String> {
    if mode == Mode::On {
        return None;
    }
    let theirs = [HYPERSHIFT_SERVICE_FINALIZER, HYPERSHIFT_ENDPOINT_FINALIZER];
    if let Some(finalizer) = theirs.iter().find(|one| is_held_by(live, one)) {
        return Some(format!("HyperShift holds it by the finalizer {finalizer}"));
    }
    let entries = live.list(&["metadata", "managedFields"]).iter().map(Live);
    let writes = entries.filter_map(|entry| {
        let manager = entry.text(&["manager"]);
        let at: Timestamp = entry.text(&["time"]).parse().ok()?;
        let is_tool = TOOLS.iter().any(|tool| manager.starts_with(tool));
        (!is_tool).then_some((at, manager))
    });
    let (at, manager) = writes.max()?;
    let until = at.checked_add(HOLD).ok().filter(|until| *until > now)?;
    outcome.wake_at(until);
    Some(format!(
        "the field manager {manager} wrote it within the last 10 minutes"
    ))
}

fn is_ready(deployment: Live<'_>) -> bool {
    deployment.count(&["status", "readyReplicas"]) > 0
}

/// The release of a control plane, as far as its status has it.
fn release(plane: Live<'_>) -> &str {
    let desired = plane.text(&["status", "versionStatus", "desired", "version"]);
    let history = plane.list(&["status", "versionStatus", "history"]);
    let newest = history
        .first()
        .map_or("", |entry| Live(entry).text(&["version"]));
    let parts = [desired, newest, plane.text(&["status", "version"])];
    parts
        .into_iter()
        .find(|part| !part.is_empty())
        .unwrap_or("")
}

/// The major and the minor number of a version.
fn parsed(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.split(['.', '-']).map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}
