//! One rehearsal.
//!
//! In: the objects of a fleet, what should fail, and the faults in front of the simulated API server. Out:
//! what happened and when, the same each time, in whatever order the tasks ran and on however many processors. It
//! does not know how that is shown.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use axum::Router;
use jiff::Timestamp;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::Instant;

use super::super::embedded::{Embedded, server, supply};
use super::super::private_link::SimulatedPrivateLinks;
use super::events::{Event, Events};
use super::fights;
use super::parts::{self, Part, SMALL, parts};
use super::script::Script;
use crate::adapters::azure_sim as actors;
use crate::adapters::kubernetes;
use crate::api::timeline;
use crate::apply::{Assignment, Progress, Report, State, Tracker};
use crate::compile::Compiled;
use crate::graph::Split;
use crate::model::ObjectId;
use crate::plan::{ApplySet, Plan};
use kube_sim::{Server, SimClock};

/// The time on the virtual clock after which nothing more will happen, if nothing has.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// The moment in which everything became ready is over when it is quiet for this long: others may
/// still have to say something.
const CALM: Duration = Duration::from_millis(100);

/// The result of a rehearsal.
#[derive(Debug)]
pub struct Rehearsal {
    pub(super) ready: bool,
    pub(super) events: Events,
    pub(super) supplied: BTreeSet<ObjectId>,
    /// The time that role assignments needed to come into force.
    pub(super) settle: Duration,
}

impl Rehearsal {
    /// Provisions `compiled` from nothing as the members of `set`, in a runtime of its own on a
    /// paused clock. Every request to the simulated API server goes through what `front` puts before
    /// it, which is nothing but in tests.
    ///
    /// # Errors
    /// When the runtime cannot be made, or cannot create what the fleet expects of the simulated cluster.
    pub fn hold(
        compiled: &Compiled,
        set: &ApplySet,
        options: &actors::Options,
        front: impl FnOnce(Router) -> Router,
    ) -> anyhow::Result<Self> {
        let links = SimulatedPrivateLinks::default();
        let played = Played {
            options,
            links: &links,
        };
        let script = Script::of(compiled, set);
        runtime()?.block_on(rehearse(&bare()?, &script, set, played, front))
    }

    /// As [`Self::hold`], but on all processors: each rehearses one part of the fleet at a time. A rehearsal changes what
    /// its options say exists in Azure, so each part gets options of its own from `options`. `links` are the controllers of private
    /// clusters.
    ///
    /// # Errors
    /// As [`Self::hold`].
    pub(super) fn hold_in_parts(
        script: &Script,
        set: &ApplySet,
        links: &SimulatedPrivateLinks,
        options: impl Fn() -> actors::Options + Sync,
    ) -> anyhow::Result<Self> {
        let parts = parts(script, SMALL, links.named_identity());
        Self::hold_all(script, &parts, set, links, options)
    }

    fn hold_all(
        whole: &Script,
        parts: &[Part],
        set: &ApplySet,
        links: &SimulatedPrivateLinks,
        options: impl Fn() -> actors::Options + Sync,
    ) -> anyhow::Result<Self> {
        let (next, bare) = (AtomicUsize::new(0), bare()?);
        let split = Split::of(&whole.graph);
        let hold = |part: &Part| {
            let (part, options) = (parts::script(whole, &split, part), options());
            let played = Played {
                options: &options,
                links,
            };
            let held = rehearse(&bare, &part, set, played, |server| server);
            runtime()?.block_on(held)
        };
        let work = || {
            let mut held = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(at) else {
                    return held;
                };
                held.push((at, hold(part)));
                if held.last().is_some_and(|(_, held)| held.is_err()) {
                    // The others end with the part that they are at.
                    next.store(parts.len(), Ordering::Relaxed);
                }
            }
        };
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let mut held = thread::scope(|scope| {
            let workers = 0..processors.min(parts.len());
            let workers: Vec<_> = workers.map(|_| scope.spawn(work)).collect();
            let held = workers.into_iter().map(thread::ScopedJoinHandle::join);
            held.flat_map(|held| held.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect::<Vec<_>>()
        });
        held.sort_by_key(|(at, _)| *at);
        held.into_iter()
            .try_fold(Self::of_nothing(), |all, (_, one)| Ok(all.and(one?)))
    }

    fn of_nothing() -> Self {
        Self {
            ready: true,
            events: Events::default(),
            supplied: BTreeSet::new(),
            settle: timeline::SETTLE,
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.ready &= other.ready;
        self.events.add(other.events);
        self.supplied.extend(other.supplied);
        self
    }

    /// Returns true if everything became ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready
    }
}

/// A runtime of its own on a paused clock.
fn runtime() -> std::io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build()
}

/// A fixed start, so that every run prints the same. Must be called within a runtime.
fn clock() -> SimClock {
    SimClock::new(Timestamp::UNIX_EPOCH, 1)
}

/// The API server before a rehearsal, to be copied for each: it takes long to install the kinds.
fn bare() -> anyhow::Result<Server> {
    runtime()?.block_on(async { server(clock()).await })
}

/// Everybody at work in a rehearsal.
#[derive(Clone, Copy)]
struct Played<'a> {
    options: &'a actors::Options,
    links: &'a SimulatedPrivateLinks,
}

async fn rehearse(
    bare: &Server,
    script: &Script,
    set: &ApplySet,
    Played { options, links }: Played<'_>,
    front: impl FnOnce(Router) -> Router,
) -> anyhow::Result<Rehearsal> {
    let (clock, settle) = (clock(), timeline::SETTLE);
    let (router, mut fights) = fights::watched(bare.copy(Arc::new(clock)).router());
    let embedded = Embedded::behind(front(router), clock, options, settle, links);
    let target = embedded.target.clone();
    let expected = if script.has_private_cluster() {
        embedded.expected.as_slice()
    } else {
        &[]
    };
    let supplied = supply(&target.client, &script.graph, expected).await?;
    let prerequisites = script.roles.iter().flat_map(|role| &role.prerequisites);
    let supplied = supplied.into_iter().chain(prerequisites.cloned());
    let supplied = supplied.collect();
    let (plan, resources) = script.plan();
    let plan = Arc::new(plan);
    let (sender, mut progress) = unbounded_channel();
    let options = kubernetes::Options {
        concurrency: 32,
        set: set.clone(),
    };
    let target_clock = Arc::clone(&target.clock);
    let start = target_clock.now();
    let mut tracker = Tracker::new(&script.graph, settle, start);
    let assignment = Assignment::new(Arc::clone(&plan), resources);
    let runner = kubernetes::run_once(target, options, assignment, Vec::new(), sender);
    let runner = tokio::spawn(runner);
    let mut events = Events::default();
    blocked(&plan).for_each(|event| events.note(event));
    // Retries that fail again change nothing.
    let mut changed = Instant::now();
    loop {
        let end = match tracker.is_ready() {
            true => Instant::now() + CALM,
            false => changed + IDLE,
        };
        let next = tokio::select! {
            biased;
            Ok(()) = fights.changed() => {
                runner.abort();
                anyhow::bail!("{}", endless(&fights.borrow(), target_clock.now(), start));
            }
            next = tokio::time::timeout_at(end, progress.recv()) => next,
        };
        let Ok(Some((_, next))) = next else {
            break;
        };
        let Report::Object(next) = next else { continue };
        let is_change = tracker.note(&next);
        if is_change || next.state == State::Applied {
            events.note(Event::new(&next, start));
        }
        if is_change {
            changed = Instant::now();
        }
    }
    runner.abort();
    Ok(Rehearsal {
        ready: tracker.is_ready(),
        events,
        supplied,
        settle,
    })
}

/// The error about objects that are written without end.
fn endless(objects: &[String], now: Timestamp, start: Timestamp) -> String {
    format!(
        "the rehearsal would not end: {} s after its start, objects are written again and again: {}; give every field one writer, or pause one of the controllers",
        now.duration_since(start).as_secs(),
        objects.join(", ")
    )
}

/// The steps that wait for others from the start.
fn blocked(plan: &Plan) -> impl Iterator<Item = Event> {
    let blocked = plan.steps.iter().filter(|step| !step.after.is_empty());
    blocked.map(|step| Event {
        at: 0,
        object: step.object.to_string(),
        state: State::Waiting,
        message: "waits for its dependencies".to_owned(),
    })
}

impl Event {
    fn new(progress: &Progress, start: Timestamp) -> Self {
        let at = progress.at.duration_since(start).as_secs();
        let at = u64::try_from(at).unwrap_or_default();
        Self {
            at,
            object: progress.object.to_string(),
            state: progress.state,
            message: progress.message.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use super::*;
    use crate::adapters::git::directory;
    use crate::cli::rehearse::events::end;
    use crate::cli::rehearse::fleet;
    use crate::compile::compile;
    use crate::model::Tree;

    const GROUP: &str = "{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: rg, namespace: default}, spec: {location: uksouth}}";

    /// Whether the fleet became ready, its last second, and how long the rehearsal was on the virtual
    /// clock, but for the moments that controllers gather changes.
    async fn held(text: &str, failures: &[&str]) -> (bool, u64, Duration) {
        let (compiled, set, options) = fleet(text, failures);
        let start = Instant::now();
        let bare = server(clock()).await.unwrap();
        let played = Played {
            options: &options,
            links: &SimulatedPrivateLinks::default(),
        };
        let script = Script::of(&compiled, &set);
        let rehearsal = rehearse(&bare, &script, &set, played, |server| server).await;
        let rehearsal = rehearsal.unwrap();
        let time = start.elapsed().as_millis() as u64 / 1000 * 1000;
        (
            rehearsal.ready,
            end(&rehearsal.events.changes()),
            Duration::from_millis(time),
        )
    }

    #[test]
    fn a_fleet_rehearses_the_same_in_parts() {
        let compiled = compile(&read("examples/fleet"), &[read("overlays")]);
        assert!(same_in_parts(&compiled, &[]) > 4);
    }

    fn read(path: &str) -> Tree {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        directory::read(&root.join(path)).unwrap()
    }

    /// A Secret that nothing refers to.
    fn encrypted(namespace: &str) -> String {
        const TEXT: &str = "'ENC[AES256_GCM,data:x,type:str]'";
        format!(
            "apiVersion: v1
kind: Secret
metadata: {{name: hidden, namespace: {namespace}}}
stringData: {{a: {TEXT}}}
sops: {{mac: {TEXT}, version: 3.9.0}}
"
        )
    }

    /// Rehearses the whole and all parts; how many there are.
    fn same_in_parts(compiled: &Compiled, failures: &[&str]) -> usize {
        assert!(!compiled.has_errors(), "{:#?}", compiled.findings);
        let options = || actors::Options {
            failures: failures.iter().map(|text| text.parse().unwrap()).collect(),
            ..actors::Options::default()
        };
        let set = ApplySet::new("test", "default");
        let whole = Rehearsal::hold(compiled, &set, &options(), |server| server);
        let links = SimulatedPrivateLinks::default();
        let script = Script::of(compiled, &set);
        let parts = parts(&script, 0, None);
        let in_parts = Rehearsal::hold_all(&script, &parts, &set, &links, options);
        let (whole, in_parts) = (whole.unwrap(), in_parts.unwrap());
        let graph = &compiled.graph;
        assert_eq!(in_parts.text(graph), whole.text(graph));
        assert_eq!(in_parts.json(), whole.json());
        parts.len()
    }

    #[test]
    fn parts_have_what_they_share_and_what_the_cluster_must_have() {
        let quickstart = std::fs::read_to_string("examples/quickstart/cluster.yaml").unwrap();
        let cluster = |name: &str, namespace: &str, identity: &str| {
            let text = quickstart.replace("quickstart", name);
            let text = text.replace("namespace: clusters", &format!("namespace: {namespace}"));
            text.replace(
                "identityRef: {name: cluster-identity}",
                &format!("identityRef: {identity}"),
            )
        };
        let shared = "{name: shared, namespace: platform}";
        let documents = [
            cluster("one", "team-a", shared),
            cluster("two", "team-b", shared),
            "{apiVersion: v1, kind: Namespace, metadata: {name: platform}}\n".to_owned(),
            encrypted("team-b"),
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: beside, namespace: team-c}}\n"
                .to_owned(),
        ];
        let (compiled, _, _) = fleet(&documents.join("---\n"), &[]);
        assert_eq!(same_in_parts(&compiled, &[]), 3);
        let group = compiled.embedded().into_iter().map(|(id, _)| id);
        let mut group = group.filter(|id| id.kind == "ResourceGroup" && id.namespace == "team-b");
        let failure = format!(
            "ResourceGroup/{}=AuthorizationFailed",
            group.next().unwrap().name
        );
        assert_eq!(same_in_parts(&compiled, &[failure.as_str()]), 3);
    }

    #[test]
    fn what_the_controllers_make_is_in_the_part_of_its_cluster() {
        let quickstart = std::fs::read_to_string("examples/quickstart/cluster.yaml").unwrap();
        let taken = "{apiVersion: v1, kind: Secret, metadata: {name: quickstart-aso-secret, namespace: clusters}}\n";
        let (compiled, set, _) = fleet(&format!("{quickstart}---\n{taken}"), &[]);
        let script = Script::of(&compiled, &set);
        assert_eq!(parts(&script, 0, None).len(), 1);
    }

    #[test]
    fn what_is_encrypted_is_supplied_without_anything_beside_it() {
        let (compiled, _, _) = fleet(&encrypted("default"), &[]);
        assert_eq!(same_in_parts(&compiled, &[]), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_the_moment_in_which_everything_is_ready() {
        let end = Duration::from_secs(6);
        assert_eq!(held(GROUP, &[]).await, (true, 6, end));
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_an_hour_after_the_last_change() {
        let unknown =
            "{apiVersion: unknown.io/v1, kind: Thing, metadata: {name: t, namespace: default}}";
        // After the third try waiting is known to be in vain, which is a change.
        let end = Duration::from_secs(3) + IDLE;
        assert_eq!(held(unknown, &[]).await, (false, 0, end));
        let failures = ["ResourceGroup/rg=AuthorizationFailed"];
        assert_eq!(held(GROUP, &failures).await, (false, 3, end));
    }
}
