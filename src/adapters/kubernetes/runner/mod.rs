//! Keeps a cluster in line with a plan: carries out the commands of the apply engine, and reports events to it.
//!
//! ```text
//!   assignments ─┐
//!   answers ─────┼─► Event ─► apply::Engine ─► Command ─► requests, watches, timers, reports
//!   watches ─────┘
//! ```
//!
//! It decides nothing. It lives as long as the daemon: a new assignment finds what the engine knows of the
//! cluster.

mod commands;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use kube::Client;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::apply::{self, Engine, Event, Report, Settings, What};
use crate::model::{Clock, ObjectId};
use crate::plan::{ApplySet, Plan};
use commands::Runner;

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
/// fully applied (empty: none was). It may take its time: it runs on a thread of its own.
pub type Approvals = Arc<dyn Fn(&str) -> BTreeSet<String> + Send + Sync>;

/// A plan to carry out.
#[derive(Clone)]
pub struct Assignment {
    /// Comes back with everything that is reported of it.
    pub number: u64,
    /// What the cluster is to have.
    pub plan: Arc<Plan>,
    /// What controllers make of it, with versions.
    pub embedded: Arc<[(ObjectId, String)]>,
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
    pub fn new(plan: Arc<Plan>, embedded: impl Into<Arc<[(ObjectId, String)]>>) -> Self {
        Self {
            number: 0,
            plan,
            embedded: embedded.into(),
            revision: String::new(),
            source: String::new(),
            prune: false,
            max_clusters: 0,
            approvals: Arc::new(|_| BTreeSet::new()),
        }
    }

    /// The same as plain data.
    fn plain(self) -> apply::Assignment {
        apply::Assignment {
            number: self.number,
            plan: self.plan,
            embedded: self.embedded,
            revision: self.revision,
            source: self.source,
            prune: self.prune,
            max_clusters: self.max_clusters,
        }
    }
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
    let Options { concurrency, set } = options;
    let clock = Arc::clone(&target.clock);
    let mut runner = Runner::new(target, set.clone(), reports);
    let mut engine = Engine::new(Settings { concurrency, set });
    loop {
        let what = tokio::select! {
            biased;
            Some(assignment) = assignments.recv() => {
                runner.approvals = Arc::clone(&assignment.approvals);
                Some(What::Assigned(Box::new(assignment.plain())))
            }
            Some(done) = runner.jobs.join_next() => runner.answer(done),
            Some(event) = runner.watches.next() => Some(What::Watched(event)),
            // Neither a watch nor a job: nothing is asked of it.
            else => std::future::pending().await,
        };
        let Some(what) = what else { continue };
        let at = clock.now();
        for command in engine.on(Event { at, what }) {
            runner.carry_out(command);
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
