//! How far a fleet has come, for people: counts, what is being worked on, how long it will take.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::api::kinds::{AUTHORIZATION, CAPI, MANAGED_IDENTITY, RED_HAT_OPENSHIFT};
use crate::api::timeline;
use crate::graph::{Graph, Pace, Place, Schedule};
use crate::model::{Health, HealthState, ObjectId};

/// The state of one object as people read it (DESIGN §12, `rehearse`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum State {
    /// It was sent to the cluster.
    Applied,
    /// It waits for something else.
    Waiting,
    /// It works.
    Progressing,
    /// It is what was asked for.
    Ready,
    /// It failed.
    Failed,
}

/// One object reached a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// When.
    pub at: Timestamp,
    /// Which object, top-level or embedded.
    pub object: ObjectId,
    /// What it reached.
    pub state: State,
    /// Whether waiting is in vain.
    pub terminal: bool,
    /// The reason and message of the condition that decided it.
    pub message: String,
}

impl Progress {
    /// What a live object's health means for people.
    #[must_use]
    pub fn of(at: Timestamp, object: &ObjectId, health: &Health) -> Self {
        let state = match health.state {
            HealthState::Unknown | HealthState::Progressing => State::Progressing,
            HealthState::Waiting => State::Waiting,
            HealthState::Ready => State::Ready,
            HealthState::Failed { .. } => State::Failed,
        };
        let parts = [health.reason.as_str(), health.message.as_str()];
        let message = parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        Self {
            at,
            object: object.clone(),
            state,
            terminal: health.is_terminal(),
            message,
        }
    }
}

/// What is known of one object so far.
#[derive(Clone, Debug)]
struct Row {
    state: Option<State>,
    terminal: bool,
    since: Timestamp,
    message: String,
}

/// Follows the objects of a fleet to ready.
#[derive(Clone, Debug)]
pub struct Tracker {
    graph: Arc<Graph>,
    settle: Duration,
    rows: Vec<Row>,
    by_id: HashMap<ObjectId, usize>,
}

/// One line about a fleet or a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Objects that are ready, embedded ones counted.
    pub ready: usize,
    /// All objects, embedded ones counted.
    pub total: usize,
    /// What is being waited for, in words; empty when all is ready.
    pub stage: String,
    /// How long until all is ready, by what each kind typically takes.
    pub left: Duration,
    /// The objects that failed, and why.
    pub failed: Vec<(ObjectId, String)>,
    /// Whether one of them can only be helped by a change.
    pub terminal: bool,
}

/// One cluster of the fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSummary {
    /// The Cluster.
    pub id: ObjectId,
    /// Its parts.
    pub summary: Summary,
    /// How long ago its first part was applied, until its last became ready.
    pub elapsed: Duration,
}

impl Tracker {
    /// Nothing is known yet at `now`.
    #[must_use]
    pub fn new(graph: &Arc<Graph>, settle: Duration, now: Timestamp) -> Self {
        let row = || Row {
            state: None,
            terminal: false,
            since: now,
            message: String::new(),
        };
        let rows = graph.vertices.iter().map(|_| row()).collect();
        let inside = graph
            .vertices
            .iter()
            .enumerate()
            .filter(|(_, vertex)| vertex.place != Place::Outside);
        let by_id = inside.map(|(at, vertex)| (vertex.id.clone(), at)).collect();
        Self {
            graph: Arc::clone(graph),
            settle,
            rows,
            by_id,
        }
    }

    /// Takes in one event; `false` when it says nothing new or is about no object of the fleet.
    pub fn note(&mut self, progress: &Progress) -> bool {
        let Some(&at) = self.by_id.get(&progress.object) else {
            return false;
        };
        let row = &mut self.rows[at];
        // An apply that changes nothing does not unmake what was ready.
        let stale = progress.state == State::Applied && row.state.is_some();
        if stale || (row.state == Some(progress.state) && row.message == progress.message) {
            return false;
        }
        let since = if row.state == Some(progress.state) {
            row.since
        } else {
            progress.at
        };
        let (state, message) = (Some(progress.state), progress.message.clone());
        *row = Row {
            state,
            terminal: progress.terminal,
            since,
            message,
        };
        true
    }

    /// Whether every object is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.by_id
            .values()
            .all(|at| self.rows[*at].state == Some(State::Ready))
    }

    /// The whole fleet at `now`.
    #[must_use]
    pub fn summary(&self, now: Timestamp) -> Summary {
        let all: Vec<usize> = (0..self.rows.len())
            .filter(|at| self.graph.vertices[*at].place != Place::Outside)
            .collect();
        self.summarise(&all, &self.schedule(now))
    }

    /// Each cluster at `now`, in the order of the fleet.
    #[must_use]
    pub fn clusters(&self, now: Timestamp) -> Vec<ClusterSummary> {
        let schedule = self.schedule(now);
        let one = |members: Vec<usize>| {
            let root = members
                .iter()
                .copied()
                .find(|at| self.graph.vertices[*at].id.is(CAPI, "Cluster"))?;
            let parts = members
                .iter()
                .flat_map(|at| std::iter::once(*at).chain(self.graph.carried(*at)));
            let parts: Vec<usize> = parts.collect();
            let summary = self.summarise(&parts, &schedule);
            let started = parts
                .iter()
                .filter(|at| self.rows[**at].state.is_some())
                .map(|at| self.rows[*at].since)
                .min();
            let ended = if summary.ready == summary.total {
                self.last_change(&parts)
            } else {
                Some(now)
            };
            let elapsed = started
                .zip(ended)
                .map_or(Duration::ZERO, |(from, to)| span(from, to));
            Some(ClusterSummary {
                id: self.graph.vertices[root].id.clone(),
                summary,
                elapsed,
            })
        };
        self.graph.clusters().into_iter().filter_map(one).collect()
    }

    fn last_change(&self, parts: &[usize]) -> Option<Timestamp> {
        parts.iter().map(|at| self.rows[*at].since).max()
    }

    /// What is left to do from `now` on.
    fn schedule(&self, now: Timestamp) -> Schedule {
        let pace = |at: usize, id: &ObjectId| {
            let row = &self.rows[at];
            let typical = timeline::creation(id);
            match (row.state, self.graph.vertices[at].place) {
                (Some(State::Ready), _) | (_, Place::Outside) => Pace::Done,
                (Some(State::Progressing), _) => {
                    Pace::Running(typical.saturating_sub(span(row.since, now)))
                }
                _ => Pace::Pending(typical),
            }
        };
        Schedule::new(&self.graph, pace, self.settle)
    }

    fn summarise(&self, parts: &[usize], schedule: &Schedule) -> Summary {
        let is_ready = |at: &&usize| self.rows[**at].state == Some(State::Ready);
        let open: Vec<usize> = parts.iter().filter(|at| !is_ready(at)).copied().collect();
        let failed: Vec<usize> = open
            .iter()
            .copied()
            .filter(|at| self.rows[*at].state == Some(State::Failed))
            .collect();
        let left = open
            .iter()
            .map(|at| schedule.timings[*at].ready)
            .max()
            .unwrap_or_default();
        // What the longest open path waits for first: of all that is open, the leaf that is done first.
        let leaf = |at: &usize| {
            self.graph.carried(*at).next().is_none()
                && !self.graph.vertices[*at].id.is(CAPI, "Cluster")
        };
        let first = open
            .iter()
            .copied()
            .filter(leaf)
            .min_by_key(|at| (schedule.timings[*at].ready, *at));
        Summary {
            ready: parts.len() - open.len(),
            total: parts.len(),
            stage: first
                .or_else(|| open.first().copied())
                .map(|at| label(&self.graph.vertices[at].id))
                .unwrap_or_default(),
            left,
            terminal: failed.iter().any(|at| self.rows[*at].terminal),
            failed: failed
                .iter()
                .map(|at| {
                    (
                        self.graph.vertices[*at].id.clone(),
                        self.rows[*at].message.clone(),
                    )
                })
                .collect(),
        }
    }
}

impl Summary {
    /// `31/54 ready, HCP cluster, about 9 min left`.
    #[must_use]
    pub fn title(&self) -> String {
        let mut title = format!("{}/{} ready", self.ready, self.total);
        if let Some((id, message)) = self.failed.first() {
            return format!("{title}, {id} failed: {message}");
        }
        if self.ready < self.total {
            title.push_str(&format!(", {}, {}", self.stage, about(self.left)));
        }
        title
    }
}

/// `about 9 min left`.
fn about(left: Duration) -> String {
    match left.as_secs() {
        0..60 => "less than a minute left".to_owned(),
        seconds => format!("about {} min left", seconds.div_ceil(60)),
    }
}

fn span(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// What people call a kind.
fn label(id: &ObjectId) -> String {
    match (id.group.as_str(), id.kind.as_str()) {
        (AUTHORIZATION, _) => "role assignments".to_owned(),
        (MANAGED_IDENTITY, _) => "managed identities".to_owned(),
        (RED_HAT_OPENSHIFT, "HcpOpenShiftCluster") => "HCP cluster".to_owned(),
        (RED_HAT_OPENSHIFT, "HcpOpenShiftClustersNodePool") => "node pool".to_owned(),
        (RED_HAT_OPENSHIFT, "HcpOpenShiftClustersExternalAuth") => "external auth".to_owned(),
        (_, kind) => kind.to_owned(),
    }
}
