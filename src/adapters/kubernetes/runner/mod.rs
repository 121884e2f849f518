//! Keeps a cluster as a plan says, edge-triggered.
//!
//! ```text
//! assignment ─► parent opened ─► kinds listed ─► steps begun ─► applied ─► ready
//!                                     │                                     │
//!                     members (cache) ◄── watch ── drift: begun again ◄─────┘
//!                                     └── those that leave: deleted or released, last of all
//! ```
//!
//! What stands as it was applied costs no request. It lives as long as the daemon: a new assignment
//! finds the cache of the one before.

mod kinds;
mod leaving;
mod steps;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use kube::Client;
use serde_json::Value as Json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::{AbortHandle, JoinSet};

use super::Error;
use super::discovery::{Discovery, Served};
use super::request::ObjectClient;
use super::watch::{Seen, WatchEvent};
use crate::apply::Kind;
use crate::apply::{Member, Parent, Progress, Report};
use crate::model::{Clock, Health, ObjectId};
use crate::plan::{ApplySet, Plan};
use kinds::Kinds;
use work::Work;

/// How to carry out plans.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many requests may be under way at once; at least one is.
    pub concurrency: usize,
    /// The set that the plans' objects are members of; only members are watched, and removed.
    pub set: ApplySet,
}

/// The cluster and its time.
#[derive(Clone)]
pub struct Target {
    /// How to reach it.
    pub client: Client,
    /// Its time.
    pub clock: Arc<dyn Clock>,
}

/// The clusters that may be deleted, `namespace/name`, when the given revision was the last that was
/// applied to its end (empty: none was). It may take its time: it runs on a thread of its own.
pub type Approvals = Arc<dyn Fn(&str) -> std::collections::BTreeSet<String> + Send + Sync>;

/// A plan to carry out.
#[derive(Clone)]
pub struct Assignment {
    /// Comes back with everything that is reported of it.
    pub number: u64,
    /// What the cluster is to have.
    pub plan: Arc<Plan>,
    /// What controllers make of it, with versions.
    pub embedded: Vec<(ObjectId, String)>,
    /// What it is a plan of; empty when it has no name. It is written down in the cluster.
    pub revision: String,
    /// Where that comes from, for people.
    pub source: String,
    /// Whether members that the plan lacks are removed.
    pub prune: bool,
    /// How many clusters may be deleted without approval.
    pub max_clusters: usize,
    /// Which may.
    pub approvals: Approvals,
}

impl Assignment {
    /// A plan without a name, which removes nothing.
    #[must_use]
    pub fn new(plan: Arc<Plan>, embedded: Vec<(ObjectId, String)>) -> Self {
        Self {
            number: 0,
            plan,
            embedded,
            revision: String::new(),
            source: String::new(),
            prune: false,
            max_clusters: 0,
            approvals: Arc::new(|_| std::collections::BTreeSet::new()),
        }
    }
}

/// What a job in the background came to. Numbers are of the assignment it belongs to.
enum Done {
    /// The parent was read, and written.
    Opened(u64, Box<Result<work::Opened, Error>>),
    /// The parent was written again.
    Written(u64, Box<(Parent, Result<String, Error>)>),
    /// The cluster said how it serves a kind.
    Found(Kind, Box<Result<Served, Error>>),
    /// The cluster said at which version it serves a kind that the set had members of.
    Preferred(u64, (String, String), Box<Result<Option<String>, Error>>),
    /// A step was sent.
    Answered(u64, usize, Box<Result<Json, Error>>),
    /// What a member that leaves says of itself was read.
    Examined(u64, ObjectId, Box<Result<Option<Json>, Error>>),
    /// A member was deleted, or else released.
    Dismissed(u64, ObjectId, bool, Box<Result<(), Error>>),
    /// Whether an object that a watch no longer sees, and the uid it was known by, is there.
    Confirmed(ObjectId, Option<String>, Box<Result<Option<Json>, Error>>),
    /// Somebody has rested.
    Rested(u64, RetryTarget),
}

/// Who rests after a failure.
enum RetryTarget {
    /// The opening of the parent.
    Opening,
    /// A write of the parent.
    Writing,
    /// A step, after so many failures.
    Step(usize, u32),
    /// An embedded kind.
    Kind(Kind),
    /// A kind that the set had members of.
    Past((String, String)),
    /// A kind that seems not to be served any more.
    Lost(Kind),
    /// A member that leaves.
    Leaver(ObjectId),
    /// The confirmation that an object is gone.
    Gone(ObjectId),
}

/// Carries out `assignments`, the newest at a time, and reports every change of state with its number,
/// until the future is dropped: it never ends by itself, since a cluster goes on changing after the
/// last step.
pub async fn run(
    target: Target,
    options: Options,
    mut assignments: UnboundedReceiver<Assignment>,
    reports: UnboundedSender<(u64, Report)>,
) {
    let mut runner = Runner::new(target, options, reports);
    loop {
        runner.advance();
        tokio::select! {
            biased;
            Some(assignment) = assignments.recv() => runner.assign(assignment),
            Some(done) = runner.jobs.join_next() => match done {
                Ok(done) => runner.done(done),
                Err(error) if error.is_cancelled() => {}
                Err(error) => tracing::error!(%error, "a job ended in a panic"),
            },
            Some(news) = runner.watches.next() => runner.on_watch_event(news),
            // Neither a watch nor a job: nothing is asked of it.
            else => std::future::pending().await,
        }
    }
}

/// Carries out one assignment; see [`run`].
pub async fn run_once(
    target: Target,
    options: Options,
    assignment: Assignment,
    reports: UnboundedSender<(u64, Report)>,
) {
    let (sender, assignments) = tokio::sync::mpsc::unbounded_channel();
    // The receiver is here.
    let _ = sender.send(assignment);
    run(target, options, assignments, reports).await;
}

struct Runner {
    target: Target,
    options: Options,
    reports: UnboundedSender<(u64, Report)>,
    discovery: Discovery,
    kinds: Kinds,
    members: BTreeMap<ObjectId, Member>,
    /// How everything fares of the kinds that controllers make.
    made: BTreeMap<ObjectId, Health>,
    watches: SelectAll<BoxStream<'static, WatchEvent>>,
    jobs: JoinSet<Done>,
    /// The job that reads or writes the parent.
    clerk: Option<AbortHandle>,
    work: Option<Work>,
}

impl Runner {
    fn new(target: Target, options: Options, reports: UnboundedSender<(u64, Report)>) -> Self {
        Self {
            discovery: Discovery::new(target.client.clone()),
            kinds: Kinds::default(),
            members: BTreeMap::new(),
            made: BTreeMap::new(),
            watches: SelectAll::new(),
            jobs: JoinSet::new(),
            clerk: None,
            work: None,
            target,
            options,
            reports,
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Opened(number, opened) => self.opened(number, *opened),
            Done::Written(number, written) => self.written(number, *written),
            Done::Found(kind, answer) => self.found(&kind, *answer),
            Done::Preferred(number, kind, answer) => self.preferred(number, &kind, *answer),
            Done::Answered(number, at, answer) => self.answered(number, at, *answer),
            Done::Examined(number, id, answer) => self.examined(number, &id, *answer),
            Done::Dismissed(number, id, deletes, answer) => {
                self.dismissed(number, &id, deletes, *answer);
            }
            Done::Confirmed(id, uid, answer) => self.confirmed(&id, uid.as_deref(), *answer),
            Done::Rested(number, rester) => self.rested(number, rester),
        }
    }

    fn on_watch_event(&mut self, news: WatchEvent) {
        match news {
            WatchEvent::Object(Seen::Member, id, Some(live)) => self.observed(&id, &live),
            WatchEvent::Object(Seen::Member, id, None) => self.vanished(&id),
            WatchEvent::Object(Seen::Embedded, id, live) => self.made_seen(&id, live.as_deref()),
            WatchEvent::Listed(Seen::Member, kind, there) => {
                self.confirm_missing(&kind, &there);
                self.listed(&kind);
            }
            WatchEvent::Listed(Seen::Embedded, kind, _) => self.made_listed(&kind),
            WatchEvent::Lost(kind) => self.lost(kind),
            WatchEvent::Interrupted(Seen::Member, kind, broken) => {
                self.interrupted(&kind, &broken);
            }
            WatchEvent::Interrupted(Seen::Embedded, kind, broken) => {
                self.made_unseen(&kind, &broken);
            }
            WatchEvent::Definition(group) => self.defined(&group),
        }
    }

    /// Does what can be done now.
    fn advance(&mut self) {
        self.begin_steps();
        self.dismiss();
        self.keep_parent();
    }

    fn rested(&mut self, number: u64, rester: RetryTarget) {
        match rester {
            RetryTarget::Kind(kind) => self.find_embedded(kind),
            RetryTarget::Gone(id) => self.confirm(&id),
            RetryTarget::Lost(kind) => self.find_again(kind),
            rester => self.of_work(number, |runner| match rester {
                RetryTarget::Opening => runner.open(),
                RetryTarget::Writing => runner.retry_writing(),
                RetryTarget::Step(at, failures) => runner.step_rested(at, failures),
                RetryTarget::Past(kind) => runner.find_past(kind),
                RetryTarget::Leaver(id) => runner.leaver_rested(&id),
                RetryTarget::Kind(_) | RetryTarget::Gone(_) | RetryTarget::Lost(_) => {}
            }),
        }
    }

    /// Does something, if the assignment it belongs to still is the newest.
    fn of_work(&mut self, number: u64, does: impl FnOnce(&mut Self)) {
        if self
            .work
            .as_ref()
            .is_some_and(|work| work.number() == number)
        {
            does(self);
        }
    }

    /// Comes back to `rester` after `wait` of the cluster's time.
    fn rest(&mut self, wait: std::time::Duration, rester: RetryTarget) {
        let number = self.work.as_ref().map_or(0, Work::number);
        let wait = self.target.clock.real(wait);
        self.jobs.spawn(async move {
            tokio::time::sleep(wait).await;
            Done::Rested(number, rester)
        });
    }

    /// How to speak of `id`, of a kind that the cluster serves.
    fn object_client(&self, id: &ObjectId, served: &Served) -> ObjectClient {
        ObjectClient {
            client: self.target.client.clone(),
            served: served.clone(),
            id: id.clone(),
        }
    }

    fn report(&self, report: Report) {
        let number = self.work.as_ref().map_or(0, Work::number);
        // Whoever stops listening also drops this future.
        let _ = self.reports.send((number, report));
    }

    fn progress(&self, progress: Progress) {
        self.report(Report::Object(progress));
    }
}
