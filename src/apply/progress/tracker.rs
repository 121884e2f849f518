//! Follows the objects of a fleet until they are ready.
//!
//! In: the graph of the fleet, and one [`Progress`] for each object that reaches a state. Out: summaries.
//! It does not know the cluster; it only counts what is reported.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::state::{Progress, State};
use super::summary::{ClusterSummary, Summary, label};
use crate::api::kinds::CAPI;
use crate::api::platform::is_root;
use crate::api::timeline;
use crate::graph::{Graph, Pace, Place, Schedule};
use crate::model::{Needed, ObjectId, Predecessor};
use crate::plan::Plan;

/// What is known of one object so far.
#[derive(Clone, Debug)]
struct Row {
    state: Option<State>,
    terminal: bool,
    since: Timestamp,
    message: String,
    /// Whether it was seen in this run; what an earlier run saw is only shown.
    seen: bool,
}

impl Row {
    /// Whether the object was seen to be ready.
    fn is_ready(&self) -> bool {
        self.seen && self.state == Some(State::Ready)
    }

    /// Takes in one event; `false` if it is not new.
    fn note(&mut self, progress: &Progress) -> bool {
        // An apply that changes nothing does not reset a ready object.
        if progress.state == State::Applied && self.state.is_some() {
            return false;
        }
        let same = self.state == Some(progress.state);
        let same_reason = (self.terminal, &self.message) == (progress.terminal, &progress.message);
        let changed = !same || !self.seen || !same_reason;
        if !same {
            self.since = progress.at;
        }
        (self.state, self.seen, self.terminal) = (Some(progress.state), true, progress.terminal);
        self.message.clone_from(&progress.message);
        changed
    }
}

/// Follows the objects of a fleet until they are ready.
#[derive(Clone, Debug)]
pub struct Tracker {
    graph: Arc<Graph>,
    settle: Duration,
    rows: Vec<Row>,
    /// One object may be in the fleet twice, embedded in two others.
    by_id: HashMap<ObjectId, Vec<usize>>,
    /// How many rows of `by_id` were not seen to be ready.
    unready: usize,
    start: Timestamp,
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
            seen: false,
        };
        let rows = graph.vertices.iter().map(|_| row()).collect();
        let mut by_id: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        for (at, vertex) in graph.vertices.iter().enumerate() {
            if vertex.place != Place::Outside {
                by_id
                    .entry(ObjectId::clone(&vertex.id))
                    .or_default()
                    .push(at);
            }
        }
        Self {
            graph: Arc::clone(graph),
            settle,
            rows,
            unready: by_id.values().map(Vec::len).sum(),
            by_id,
            start: now,
        }
    }

    /// Shows the objects that an earlier revision had too as they were then, until they are seen
    /// again. What failed then may have been fixed since.
    #[must_use]
    pub fn carrying(mut self, earlier: &Self) -> Self {
        for (id, at) in &self.by_id {
            let known = earlier.by_id.get(id).and_then(|known| known.first());
            let known = known.map(|known| &earlier.rows[*known]);
            let Some(row) = known.filter(|row| row.state != Some(State::Failed)) else {
                continue;
            };
            for at in at {
                self.unready += usize::from(self.rows[*at].is_ready());
                self.rows[*at] = Row {
                    seen: false,
                    ..row.clone()
                };
            }
        }
        self
    }

    /// Takes in one event; `false` if it is not new or not about an object of the fleet.
    pub fn note(&mut self, progress: &Progress) -> bool {
        let Some(all) = self.by_id.get(&progress.object) else {
            return false;
        };
        let mut changed = false;
        for at in all {
            let row = &mut self.rows[*at];
            self.unready += usize::from(row.is_ready());
            changed |= row.note(progress);
            self.unready -= usize::from(row.is_ready());
        }
        changed
    }

    /// Whether every object was seen to be ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.unready == 0
    }

    /// Whether an object failed so that waiting is in vain.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        let failed = |row: &Row| row.terminal && row.state == Some(State::Failed);
        self.rows.iter().any(failed)
    }

    /// Whether every step of `plan` was tried, or waits for one that is not applied or ready yet.
    #[must_use]
    pub fn has_tried_all(&self, plan: &Plan) -> bool {
        let waits = |before: &Predecessor| {
            let state = self.state(&plan.steps[before.step].object);
            match before.until {
                Needed::Applied => matches!(state, None | Some(State::Failed)),
                Needed::Ready => state != Some(State::Ready),
            }
        };
        let mut steps = plan.steps.iter();
        steps.all(|step| self.state(&step.object).is_some() || step.after.iter().any(waits))
    }

    /// The last reported state of an object in this run.
    fn state(&self, id: &ObjectId) -> Option<State> {
        let row = &self.rows[*self.by_id.get(id)?.first()?];
        row.state.filter(|_| row.seen)
    }

    /// The whole fleet at `now`.
    #[must_use]
    pub fn summary(&self, now: Timestamp) -> Summary {
        self.whole(&self.schedule(now))
    }

    /// The whole fleet at `now`, and each of its clusters in the order of the fleet.
    #[must_use]
    pub fn overview(&self, now: Timestamp) -> (Summary, Vec<ClusterSummary>) {
        let schedule = self.schedule(now);
        let clusters = self.graph.clusters();
        let clusters = clusters.filter_map(|members| self.cluster(members, &schedule, now));
        (self.whole(&schedule), clusters.collect())
    }

    fn whole(&self, schedule: &Schedule) -> Summary {
        let inside = |at: &usize| self.graph.vertices[*at].place != Place::Outside;
        let all: Vec<usize> = (0..self.rows.len()).filter(inside).collect();
        self.summarise(&all, schedule)
    }

    fn cluster(
        &self,
        members: &[usize],
        schedule: &Schedule,
        now: Timestamp,
    ) -> Option<ClusterSummary> {
        let id = |at: &usize| &self.graph.vertices[*at].id;
        let root = members.iter().find(|at| is_root(id(at)))?;
        let parts = members.iter();
        let parts = parts.flat_map(|at| std::iter::once(*at).chain(self.graph.carried(*at)));
        let parts: Vec<usize> = parts.collect();
        let summary = self.summarise(&parts, schedule);
        let ready = summary.ready == summary.total;
        let ended = if ready { self.last_change(&parts) } else { now };
        Some(ClusterSummary {
            id: ObjectId::clone(id(root)),
            summary,
            elapsed: span(self.start, ended),
        })
    }

    fn last_change(&self, parts: &[usize]) -> Timestamp {
        parts
            .iter()
            .map(|at| self.rows[*at].since)
            .max()
            .unwrap_or(self.start)
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
        // What Cluster API reports only mirrors the resources behind it.
        let leaf = |at: &usize| {
            self.graph.carried(*at).next().is_none() && self.graph.vertices[*at].id.group != CAPI
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
                    let id = ObjectId::clone(&self.graph.vertices[*at].id);
                    // Many messages begin with the object that they are about.
                    let message = &self.rows[*at].message;
                    let stripped = message.strip_prefix(&format!("{id}: "));
                    let message = stripped.unwrap_or(message).to_owned();
                    (id, message)
                })
                .collect(),
        }
    }
}

fn span(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}
