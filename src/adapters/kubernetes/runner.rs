//! Carries out a plan, edge-triggered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use kube::Client;
use serde_json::Value as Json;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::Error;
use super::discovery::{Discovery, Served};
use super::embedded::{Embedded, Kind};
use super::request::{self, Answer};
use super::rest::rest;
use super::watch::{self, News};
use crate::api::labels;
use crate::health::{Live, health};
use crate::model::{Clock, ErrorClass, Health, ObjectId};
use crate::plan::{Execution, Plan, Progress, State};

/// How to carry out a plan.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many requests may be under way at once; at least one is.
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
    /// A step was sent.
    Answered(usize, Box<Result<Answer, Error>>),
    /// A step has rested after this many failures.
    Rested(usize, u32),
    /// The cluster said how it serves an embedded kind.
    Found(Kind, Box<Result<Served, Error>>),
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
    let mut runner = Runner::new(target, plan, Embedded::new(embedded), options, progress);
    for (kind, id) in runner.embedded.kinds() {
        runner.find(kind, id);
    }
    loop {
        runner.start();
        tokio::select! {
            biased;
            Some(done) = runner.jobs.join_next() => match done {
                Ok(done) => runner.done(done),
                Err(error) => tracing::error!(%error, "a job ended in a panic"),
            },
            Some(news) = runner.watches.next() => match news {
                News::Object(id, live) => runner.observed(&id, live),
                News::Definition(group) => runner.defined(&group),
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
    embedded: Embedded,
    discovery: Discovery,
    /// The kinds that are watched, and whether only objects with our label are.
    watched: BTreeSet<(Kind, bool)>,
    /// Whether definitions of custom kinds are watched.
    defining: bool,
    watches: SelectAll<BoxStream<'static, News>>,
    jobs: JoinSet<Done>,
    /// The steps that are being sent, each with what was seen of its object meanwhile.
    sent: BTreeMap<usize, Option<Json>>,
    /// Per step: the generation its object had when it was applied. Older observations say nothing.
    applied: BTreeMap<usize, i64>,
    /// Per step that rests: how often it failed in a row.
    failures: BTreeMap<usize, u32>,
}

impl Runner {
    fn new(
        target: Target,
        plan: Arc<Plan>,
        embedded: Embedded,
        options: Options,
        progress: UnboundedSender<Progress>,
    ) -> Self {
        let steps = plan.steps.iter().enumerate();
        Self {
            execution: Execution::new(&plan),
            steps: steps.map(|(at, step)| (step.object.clone(), at)).collect(),
            embedded,
            discovery: Discovery::new(target.client.clone()),
            watched: BTreeSet::new(),
            defining: false,
            watches: SelectAll::new(),
            jobs: JoinSet::new(),
            sent: BTreeMap::new(),
            applied: BTreeMap::new(),
            failures: BTreeMap::new(),
            target,
            plan,
            options,
            progress,
        }
    }

    /// Sends every step that may start, as far as the concurrency allows.
    fn start(&mut self) {
        while self.sent.len() < self.options.concurrency.max(1) {
            let Some(at) = self.execution.start() else {
                return;
            };
            self.sent.insert(at, None);
            let (client, discovery) = (self.target.client.clone(), self.discovery.clone());
            let plan = Arc::clone(&self.plan);
            self.jobs.spawn(async move {
                let answer = request::send(&client, &discovery, &plan.steps[at]).await;
                Done::Answered(at, Box::new(answer))
            });
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Answered(at, answer) => {
                let seen = self.sent.remove(&at).flatten();
                match *answer {
                    Ok(answer) => self.answered(at, answer, seen),
                    Err(error) => self.failed(at, &error),
                }
            }
            Done::Rested(at, failures) => {
                // It may have been woken earlier.
                let rests = self.failures.get(&at) == Some(&failures);
                if rests && !self.sent.contains_key(&at) {
                    self.execution.retry(at);
                }
            }
            Done::Found(kind, answer) => self.found(&kind, *answer),
        }
    }

    fn answered(&mut self, at: usize, answer: Answer, seen: Option<Json>) {
        let Answer { served, live } = answer;
        let selector = format!("{}={}", labels::PART_OF, self.options.part_of);
        self.watch(&served, Some(&selector));
        let id = self.plan.steps[at].object.clone();
        if !served.namespaced {
            // Files may name a namespace where the cluster has none.
            let plain = ObjectId::new(&*id.group, &*id.kind, "", &*id.name);
            self.steps.insert(plain, at);
        }
        self.failures.remove(&at);
        self.applied.insert(at, Live(&live).generation());
        self.execution.applied(at);
        self.report(&id, State::Applied, false, String::new());
        self.judged(&id, &health(&newer(live, seen)));
    }

    /// Reports a failed step and lets it rest.
    fn failed(&mut self, at: usize, error: &Error) {
        let failures = self.failures.entry(at).or_insert(0);
        *failures = failures.saturating_add(1);
        let failures = *failures;
        if matches!(error, Error::NotServed { .. }) {
            self.watch_definitions();
        }
        let rest = rest(error.class(), failures, error.retry_after());
        let id = self.plan.steps[at].object.clone();
        self.report(&id, State::Failed, rest.in_vain, error.to_string());
        let wait = self.target.clock.real(rest.wait);
        self.jobs.spawn(async move {
            tokio::time::sleep(wait).await;
            Done::Rested(at, failures)
        });
    }

    /// Looks up how the cluster serves an embedded kind, as often as it takes to get an answer.
    fn find(&mut self, kind: Kind, id: ObjectId) {
        let (discovery, clock) = (self.discovery.clone(), Arc::clone(&self.target.clock));
        self.jobs.spawn(async move {
            let mut failures = 0;
            loop {
                let answer = discovery.resolve(&id, &kind.1);
                match request::in_time(&id, answer).await {
                    Err(error) if error.class() == ErrorClass::Transient => {
                        failures += 1;
                        let wait = rest(error.class(), failures, error.retry_after()).wait;
                        tokio::time::sleep(clock.real(wait)).await;
                    }
                    answer => return Done::Found(kind, Box::new(answer)),
                }
            }
        });
    }

    /// An embedded kind is watched once the cluster serves it. Its resources carry no label of ours,
    /// so all of the kind are watched and the others passed over.
    fn found(&mut self, kind: &Kind, answer: Result<Served, Error>) {
        let news = self.embedded.served(kind, answer.is_ok());
        match answer {
            Ok(served) => self.watch(&served, None),
            Err(error) => {
                if news {
                    tracing::warn!(%error, "its progress cannot be seen until then");
                }
                self.watch_definitions();
                return self.report_all(kind, State::Failed, &error.to_string());
            }
        }
        if news {
            self.report_all(kind, State::Waiting, "");
        }
    }

    fn report_all(&self, kind: &Kind, state: State, message: &str) {
        for id in self.embedded.of(kind) {
            self.report(&id, state, false, message.to_owned());
        }
    }

    /// Definitions tell when a kind that is missing may be there.
    fn watch_definitions(&mut self) {
        if !self.defining {
            self.defining = true;
            self.watches.push(watch::definitions(&self.target.client));
        }
    }

    /// A definition of a kind in `group` appeared or changed: what failed for want of one is tried
    /// again.
    fn defined(&mut self, group: &str) {
        for (kind, id) in self.embedded.missing(group) {
            self.find(kind, id);
        }
        let resting = |at: &usize| !self.sent.contains_key(at);
        let of_group = |at: &usize| self.plan.steps[*at].object.group == group;
        let woken = self.failures.keys().copied();
        let woken: Vec<usize> = woken.filter(resting).filter(of_group).collect();
        for at in woken {
            self.failures.remove(&at);
            self.execution.retry(at);
        }
    }

    fn watch(&mut self, served: &Served, labels: Option<&str>) {
        let resource = &served.resource;
        let kind = (
            resource.group.clone(),
            resource.version.clone(),
            resource.kind.clone(),
        );
        let all = self.watched.contains(&(kind.clone(), false));
        if !all && self.watched.insert((kind, labels.is_some())) {
            let news = watch::objects(&self.target.client, served, labels);
            self.watches.push(news);
        }
    }

    fn observed(&mut self, id: &ObjectId, live: Option<Json>) {
        match self.steps.get(id).copied() {
            Some(at) => self.observed_step(at, live),
            None if self.embedded.contains(id) => match live {
                Some(live) => self.judged(id, &health(&live)),
                None => self.gone(id),
            },
            None => {}
        }
    }

    fn observed_step(&mut self, at: usize, live: Option<Json>) {
        if let Some(seen) = self.sent.get_mut(&at) {
            // It may be newer than the answer that is on its way, and nothing newer may follow.
            *seen = live;
            return;
        }
        let id = self.plan.steps[at].object.clone();
        let Some(since) = self.applied.get_mut(&at) else {
            return;
        };
        match live {
            Some(live) if Live(&live).generation() >= *since => self.judged(&id, &health(&live)),
            Some(_) => {}
            None => {
                // Generations start anew should somebody make it again.
                *since = 0;
                self.gone(&id);
            }
        }
    }

    fn gone(&self, id: &ObjectId) {
        let message = "it was deleted, or lost the label that makes it part of the fleet";
        self.report(id, State::Progressing, false, message.to_owned());
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

/// What was seen of an object while its answer was on its way, if it is newer than the answer.
fn newer(answer: Json, seen: Option<Json>) -> Json {
    let version = |live: &Json| {
        let text = Live(live).text(&["metadata", "resourceVersion"]);
        text.parse::<u128>().ok()
    };
    match seen {
        Some(seen)
            if Live(&seen).uid() == Live(&answer).uid() && version(&seen) > version(&answer) =>
        {
            seen
        }
        _ => answer,
    }
}
