//! The controller of NodePool.
//!
//! In: a NodePool, its HostedCluster, Agents, and what should fail. Out: the owner, bound Agents, and the status: nodes as a
//! number, and the version that they run. On deletion the Agents are released. It does not know how a node comes up. Nodes
//! that are too many go at once.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::azure::Azure;
use super::super::failure::Failure;
use super::agents::Agents;
use super::{failures, moments, names, reach, release, version};
use crate::api::platform::HYPERSHIFT;
use crate::api::timeline;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::{Conditions, NewCondition, Typed};
use crate::reconcile::links;
use crate::reconcile::outcome::{self, Outcome, Write, apply, patch_of, unfinalize};
use crate::reconcile::world::World;

const READY: &str = "Ready";
const MACHINES: &str = "AllMachinesReady";
const UPDATING: &str = "UpdatingVersion";
const AS_EXPECTED: &str = "AsExpected";

/// The cluster of a pool.
pub(super) fn cluster(pool: Live<'_>) -> ObjectId {
    let name = pool.text(&["spec", "clusterName"]);
    ObjectId::new(HYPERSHIFT, "HostedCluster", pool.namespace(), name)
}

/// So many nodes a pool is to have; with an autoscaler the least number.
pub(super) fn wanted(pool: Live<'_>) -> usize {
    let fixed = pool.number(&["spec", "replicas"]);
    let number = fixed.or_else(|| pool.number(&["spec", "autoScaling", "min"]));
    usize::try_from(number.unwrap_or(0)).unwrap_or(0)
}

/// Reconciles a NodePool.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    (failures, azure): (&[Failure], &Azure),
) -> Outcome {
    let mut outcome = Outcome::default();
    let cluster = cluster(live);
    let found = world.get(&cluster).present();
    outcome.need(cluster);
    let agents = found.and_then(|cluster| Agents::of(world, live, cluster));
    outcome.needs.extend(agents.iter().map(Agents::need));
    if live.is_deleting() {
        take_down(live, now, agents.as_ref(), &mut outcome);
        return outcome;
    }
    let found = found.filter(|cluster| !cluster.is_deleting());
    if let Some(paused) = moments::pause(live, now) {
        return paused;
    }
    outcome.maybe(own(live, found));
    let fault = failures::condition(failures, live);
    let agents = agents.filter(|_| fault.is_none() && found.is_some());
    if let Some(agents) = &agents {
        outcome.writes.extend(agents.bind(wanted(live)));
    }
    let broken = found.and_then(|cluster| reach::broken(azure, world, cluster, &mut outcome));
    let pool = Pool::of(live, (found, broken), agents, fault, now);
    for wake in [pool.nodes_at, pool.version_at].into_iter().flatten() {
        outcome.wake_at(wake);
    }
    outcome.maybe(outcome::status(live, pool.status()));
    outcome
}

/// The finalizer, and the owner once there is one.
fn own(live: Live<'_>, cluster: Option<Live<'_>>) -> Option<Write> {
    let mut patch = patch_of(live);
    patch["metadata"]["finalizers"] = json!([names::FINALIZER]);
    if let Some(cluster) = cluster {
        patch["metadata"]["ownerReferences"] = json!([links::owned_by(cluster, false)]);
    }
    apply(live, patch)
}

/// Releases the machines, and lets the pool go after the time that their nodes take to drain.
fn take_down(live: Live<'_>, now: Timestamp, agents: Option<&Agents<'_>>, outcome: &mut Outcome) {
    if let Some(agents) = agents {
        outcome.writes.extend(agents.bind(0));
    }
    let due = moments::after(moments::deleted(live, now), timeline::deletion(&live.id()));
    match now < due {
        true => outcome.wake_at(due),
        false => outcome.maybe(unfinalize(live, names::FINALIZER)),
    }
}

/// The state of a pool, and the state to reach.
struct Pool<'a> {
    live: Live<'a>,
    now: Timestamp,
    cluster: Option<Live<'a>>,
    agents: Option<Agents<'a>>,
    /// The fault of its spec.
    fault: Option<Typed>,
    /// The hop on the way to the API server that is broken.
    broken: Option<String>,
    wanted: usize,
    /// The nodes that are available now.
    nodes: usize,
    /// The time from which there are more.
    nodes_at: Option<Timestamp>,
    /// The version that the nodes run; empty before they do.
    version: String,
    /// The time from which they run the release.
    version_at: Option<Timestamp>,
}

impl<'a> Pool<'a> {
    fn of(
        live: Live<'a>,
        (cluster, broken): (Option<Live<'a>>, Option<String>),
        agents: Option<Agents<'a>>,
        fault: Option<Typed>,
        now: Timestamp,
    ) -> Self {
        let mut pool = Self {
            live,
            now,
            cluster,
            agents,
            fault,
            broken,
            wanted: wanted(live),
            nodes: usize::try_from(live.count(&["status", "replicas"])).unwrap_or(0),
            nodes_at: None,
            version: live.text(&["status", "version"]).to_owned(),
            version_at: None,
        };
        pool.grow();
        pool.update();
        pool
    }

    /// Since when the control plane is available.
    fn up_since(&self) -> Option<Timestamp> {
        let cluster = self.cluster.filter(|_| self.fault.is_none())?;
        moments::since(cluster, "Available", true)
    }

    /// The machines that the nodes run on. Nobody counts those of a cloud.
    fn machines(&self) -> usize {
        let bound = self.agents.as_ref().map(|agents| agents.bound.len());
        bound.unwrap_or(self.wanted)
    }

    fn has_machines(&self) -> bool {
        self.up_since().is_some() && self.machines() >= self.wanted
    }

    /// The nodes come up once there are machines for all: half of them a little earlier than the others.
    fn grow(&mut self) {
        self.nodes = self.nodes.min(self.wanted).min(self.machines());
        let Some(up) = self.up_since() else { return };
        if self.nodes >= self.wanted || !self.has_machines() || self.broken.is_some() {
            return;
        }
        let begun = [(READY, false), (MACHINES, true)]
            .map(|(kind, is_true)| moments::since(self.live, kind, is_true).unwrap_or(self.now));
        let start = begun.into_iter().fold(up, Timestamp::max);
        let whole = timeline::creation(&self.live.id());
        let half = moments::after(start, early(whole));
        let all = moments::after(start, whole);
        if self.now >= all {
            self.nodes = self.wanted;
        } else if self.now >= half {
            self.nodes = self.nodes.max(self.wanted / 2);
            self.nodes_at = Some(all);
        } else {
            self.nodes_at = Some(half);
        }
    }

    fn is_ready(&self) -> bool {
        self.has_machines() && self.nodes >= self.wanted
    }

    /// The first version is reported once the nodes are up; if they are updated in place, as soon as there is something to
    /// boot them with. Another one takes its time, from when the control plane has it.
    fn update(&mut self) {
        let target = self.target();
        if self.version == target || self.fault.is_some() {
            return;
        }
        let is_over = if self.version.is_empty() {
            let in_place = self.live.text(&["spec", "management", "upgradeType"]) == "InPlace";
            self.is_ready() || in_place && self.has_payload()
        } else {
            let since = moments::since(self.live, UPDATING, true).unwrap_or(self.now);
            let ready = self.cluster.and_then(version::completion);
            let end = ready.map(|ready| {
                let start = since.max(ready);
                moments::after(start, timeline::update(&self.live.id()))
            });
            self.version_at = end.filter(|end| self.now < *end);
            end.is_some_and(|end| self.now >= end)
        };
        if is_over {
            self.version = target;
        }
    }

    fn target(&self) -> String {
        release::version(self.live.text(&["spec", "release", "image"]))
    }

    /// The control plane serves what nodes boot with.
    fn has_payload(&self) -> bool {
        let is_there = |cluster: Live<'_>| cluster.holds("InfrastructureReady");
        self.cluster.is_some_and(is_there)
    }

    fn status(mut self) -> Value {
        let mut conditions = Conditions::of(self.live, self.now);
        let fault = self.fault.take();
        let facts = self.facts(fault.as_ref());
        for (kind, condition) in facts.into_iter().chain(fault) {
            conditions.set(kind, condition);
        }
        let mut status = json!({"replicas": self.nodes});
        if !self.version.is_empty() {
            status["version"] = json!(self.version);
        }
        moments::with(status, conditions)
    }

    fn facts(&self, fault: Option<&Typed>) -> Vec<Typed> {
        let yes = || NewCondition::yes(AS_EXPECTED, "");
        let no = || NewCondition::no(AS_EXPECTED, "");
        let image = self.live.text(&["spec", "release", "image"]);
        let scales = self.live.at(&["spec", "autoScaling"]).is_some();
        let target = self.target();
        let updating = if self.version == target {
            no()
        } else {
            let message = format!("Updating version in progress. Target version: {target}");
            NewCondition::yes(AS_EXPECTED, message)
        };
        let payload = NewCondition::either(
            self.has_payload(),
            AS_EXPECTED,
            "ValidationFailed",
            "Waiting for the control plane to serve the configuration of nodes",
        );
        let reached = NewCondition::either(
            self.nodes > 0,
            AS_EXPECTED,
            "ignitionNotReached",
            "No node has asked for its configuration yet",
        );
        let mut facts = vec![
            (UPDATING, updating),
            ("UpdatingConfig", no()),
            (
                "ValidReleaseImage",
                NewCondition::yes(AS_EXPECTED, format!("Using release image: {image}")),
            ),
            ("ValidPlatformImage", yes()),
            ("ValidPlatformConfig", yes()),
            ("ValidTuningConfig", yes()),
            ("ValidMachineTemplate", yes()),
            ("SupportedVersionSkew", yes()),
            ("ValidMachineConfig", payload),
            ("ReachedIgnitionEndpoint", reached),
            ("UpdateManagementEnabled", yes()),
            ("ReconciliationActive", yes()),
            ("AutoscalingEnabled", if scales { yes() } else { no() }),
        ];
        let (lack, is_ready) = (self.lack(fault), self.is_ready());
        let summary = |holds: bool| match &lack {
            Some((reason, message)) if !holds => NewCondition::no(reason, message.as_str()),
            _ => yes(),
        };
        facts.push((MACHINES, summary(self.has_machines())));
        facts.push(("AllNodesHealthy", summary(is_ready)));
        facts.push((READY, summary(is_ready)));
        facts
    }

    /// The reason and the message of a pool that is not ready.
    fn lack(&self, fault: Option<&Typed>) -> Option<(String, String)> {
        let lack = |reason: &str, message: String| Some((reason.to_owned(), message));
        if let Some((_, condition)) = fault {
            return lack(condition.reason(), condition.message().to_owned());
        }
        let name = self.live.text(&["spec", "clusterName"]);
        if self.cluster.is_none() {
            return lack("NotFound", format!("Waiting for HostedCluster {name}"));
        }
        if self.up_since().is_none() {
            let message = format!("Waiting for the control plane of HostedCluster {name}");
            return lack("WaitingForAvailable", message);
        }
        match &self.agents {
            Some(agents) if !self.has_machines() => {
                lack("NoSuitableAgents", agents.shortage(self.wanted))
            }
            _ if self.is_ready() => None,
            _ if self.broken.is_some() => {
                let hop = self.broken.as_deref().unwrap_or_default();
                lack(
                    "WaitingForNodeRef",
                    format!("The nodes do not reach the API server: {hop}"),
                )
            }
            _ => {
                let message = format!("{} of {} nodes are available", self.nodes, self.wanted);
                lack("WaitingForNodeRef", message)
            }
        }
    }
}

/// The time after which half of the nodes are up, if all take this long.
fn early(whole: Duration) -> Duration {
    whole * 4 / 5
}
