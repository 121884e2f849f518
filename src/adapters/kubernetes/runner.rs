//! Carries out a plan, edge-triggered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::Value as Json;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::Error;
use super::discovery::{Discovery, Served};
use super::watch::{Observation, observe};
use crate::api::labels;
use crate::health::health;
use crate::model::{Action, Clock, ErrorClass, Health, ObjectId};
use crate::plan::{Execution, Plan, Progress, State};

/// How to carry out a plan.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many requests may be under way at once.
    pub concurrency: usize,
    /// The ApplySet id that the plan's objects carry; only they are watched.
    pub part_of: String,
}

/// The cluster and its time.
#[derive(Clone)]
pub struct Target {
    /// How to reach it.
    pub client: Client,
    /// Its time.
    pub clock: Arc<dyn Clock>,
}

/// What a job in the background came to.
enum Done {
    Applied(usize, Box<Result<Json, Error>>),
    /// The back-off of a failed step has passed.
    Again(usize),
}

/// Carries out `plan` and reports every change of state of its objects and of `embedded` resources
/// (with their versions) until the future is dropped: it never ends by itself, since a cluster goes
/// on changing after the last step.
pub async fn run(
    target: Target,
    plan: Arc<Plan>,
    embedded: Vec<(ObjectId, String)>,
    options: Options,
    progress: UnboundedSender<Progress>,
) {
    let mut runner = Runner::new(target, plan, options, progress);
    runner.watch_embedded(embedded).await;
    loop {
        runner.start().await;
        tokio::select! {
            biased;
            Some(observation) = runner.watches.next() => runner.observed(&observation),
            Some(done) = runner.jobs.join_next() => match done {
                Ok(Done::Applied(step, answer)) => runner.answered(step, *answer),
                Ok(Done::Again(step)) => runner.execution.retry(step),
                Err(error) => tracing::error!(%error, "a request ended in a panic"),
            },
            // Neither a watch nor a job: a plan without steps.
            else => std::future::pending().await,
        }
    }
}

struct Runner {
    target: Target,
    plan: Arc<Plan>,
    options: Options,
    progress: UnboundedSender<Progress>,
    execution: Execution,
    steps: HashMap<ObjectId, usize>,
    embedded: BTreeSet<ObjectId>,
    discovery: Discovery,
    watched: BTreeSet<(String, String, String)>,
    watches: SelectAll<BoxStream<'static, Observation>>,
    jobs: JoinSet<Done>,
    running: usize,
    /// Per step: the generation its object had when it was applied. Older observations say nothing.
    applied: BTreeMap<usize, i64>,
    /// Per step: how often it failed in a row.
    failures: BTreeMap<usize, u32>,
}

impl Runner {
    fn new(
        target: Target,
        plan: Arc<Plan>,
        options: Options,
        progress: UnboundedSender<Progress>,
    ) -> Self {
        Self {
            execution: Execution::new(&plan),
            steps: plan
                .steps
                .iter()
                .enumerate()
                .map(|(at, step)| (step.object.clone(), at))
                .collect(),
            embedded: BTreeSet::new(),
            discovery: Discovery::new(target.client.clone()),
            watched: BTreeSet::new(),
            watches: SelectAll::new(),
            jobs: JoinSet::new(),
            running: 0,
            applied: BTreeMap::new(),
            failures: BTreeMap::new(),
            target,
            plan,
            options,
            progress,
        }
    }

    /// Watches the kinds of embedded resources. They carry no label of ours, so all of a kind are
    /// watched and the others passed over.
    async fn watch_embedded(&mut self, embedded: Vec<(ObjectId, String)>) {
        for (id, version) in embedded {
            match self.discovery.resolve(&id, &version).await {
                Ok(served) => self.watch(&served, None),
                Err(error) => tracing::warn!(%error, "its progress will not be shown"),
            }
            self.embedded.insert(id);
        }
    }

    fn watch(&mut self, served: &Served, labels: Option<&str>) {
        let ApiKey(group, version, kind) = ApiKey::of(served);
        if self.watched.insert((group, version, kind)) {
            self.watches
                .push(observe(&self.target.client, served, labels));
        }
    }

    /// Starts every step that may start, as far as the concurrency allows.
    async fn start(&mut self) {
        while self.running < self.options.concurrency {
            let Some(at) = self.execution.start() else {
                return;
            };
            let step = &self.plan.steps[at];
            let Action::Apply {
                payload,
                manager,
                force,
            } = step.action.clone();
            let version = payload["apiVersion"]
                .as_str()
                .and_then(|text| text.rsplit('/').next())
                .unwrap_or_default()
                .to_owned();
            let id = step.object.clone();
            self.running += 1;
            match self.discovery.resolve(&id, &version).await {
                Err(error) => self.answered(at, Err(error)),
                Ok(served) => {
                    let selector = format!("{}={}", labels::PART_OF, self.options.part_of);
                    self.watch(&served, Some(&selector));
                    let api = api(&self.target.client, &served, &id.namespace);
                    let mut params = PatchParams::apply(&manager);
                    params.force = force;
                    self.jobs.spawn(async move {
                        let answer = api.patch(&id.name, &params, &Patch::Apply(&payload)).await;
                        let answer = answer.map_err(|error| Error::new(&id, error));
                        let live =
                            answer.map(|live| serde_json::to_value(live).unwrap_or_default());
                        Done::Applied(at, Box::new(live))
                    });
                }
            }
        }
    }

    fn answered(&mut self, at: usize, answer: Result<Json, Error>) {
        self.running -= 1;
        let id = self.plan.steps[at].object.clone();
        match answer {
            Ok(live) => {
                self.failures.remove(&at);
                self.applied.insert(at, generation(&live));
                self.execution.applied(at);
                self.report(&id, State::Applied, false, String::new());
                self.judged(&id, &health(&live));
            }
            Err(error) => self.failed(at, &error),
        }
    }

    /// Reports a failed step and tries it again later: soon when the world is at fault, seldom when
    /// the step is.
    fn failed(&mut self, at: usize, error: &Error) {
        let transient = error.class() == ErrorClass::Transient;
        let failures = self
            .failures
            .entry(at)
            .and_modify(|count| *count += 1)
            .or_insert(0);
        let (base, limit) = if transient { (1, 60) } else { (15, 300) };
        let wait = Duration::from_secs((base << (*failures).min(8)).min(limit));
        self.report(
            &self.plan.steps[at].object,
            State::Failed,
            !transient,
            error.to_string(),
        );
        let wait = self.target.clock.real(wait);
        self.jobs.spawn(async move {
            tokio::time::sleep(wait).await;
            Done::Again(at)
        });
    }

    fn observed(&mut self, observation: &Observation) {
        let id = &observation.object;
        let step = self.steps.get(id).copied();
        if step.is_none() && !self.embedded.contains(id) {
            return;
        }
        let Some(live) = &observation.live else {
            self.report(id, State::Progressing, false, "it was deleted".to_owned());
            return;
        };
        if let Some(at) = step {
            match self.applied.get(&at) {
                Some(since) if generation(live) >= *since => {}
                _ => return,
            }
        }
        self.judged(id, &health(live));
    }

    fn judged(&mut self, id: &ObjectId, health: &Health) {
        if let Some(at) = self.steps.get(id).copied().filter(|_| health.is_ready()) {
            self.execution.ready(at);
        }
        self.send(Progress::of(self.target.clock.now(), id, health));
    }

    fn report(&self, id: &ObjectId, state: State, terminal: bool, message: String) {
        self.send(Progress {
            at: self.target.clock.now(),
            object: id.clone(),
            state,
            terminal,
            message,
        });
    }

    fn send(&self, progress: Progress) {
        // Whoever stops listening also drops this future.
        let _ = self.progress.send(progress);
    }
}

struct ApiKey(String, String, String);

impl ApiKey {
    fn of(served: &Served) -> Self {
        let resource = &served.resource;
        Self(
            resource.group.clone(),
            resource.version.clone(),
            resource.kind.clone(),
        )
    }
}

fn api(client: &Client, served: &Served, namespace: &str) -> Api<DynamicObject> {
    match (served.namespaced, namespace) {
        (false, _) => Api::all_with(client.clone(), &served.resource),
        (true, "") => Api::namespaced_with(client.clone(), "default", &served.resource),
        (true, namespace) => Api::namespaced_with(client.clone(), namespace, &served.resource),
    }
}

fn generation(live: &Json) -> i64 {
    live["metadata"]["generation"].as_i64().unwrap_or_default()
}
