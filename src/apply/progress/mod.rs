//! How far a fleet has come, for people: counts, what is being worked on, how long it will take.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::api::kinds::{AUTHORIZATION, CAPI, MANAGED_IDENTITY, RED_HAT_OPENSHIFT};
use crate::api::timeline;
use crate::graph::{Graph, Pace, Place, Schedule};
use crate::model::{Health, HealthState, Needed, ObjectId, Predecessor};
use crate::plan::Plan;

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
    /// Whether it was seen in this run; what an earlier run saw is only for show.
    seen: bool,
}

impl Row {
    /// Takes in one event; `false` when it says nothing new.
    fn note(&mut self, progress: &Progress) -> bool {
        // An apply that changes nothing does not unmake what was ready.
        if progress.state == State::Applied && self.state.is_some() {
            return false;
        }
        let same = self.state == Some(progress.state);
        let told = (self.terminal, &self.message) == (progress.terminal, &progress.message);
        let news = !same || !self.seen || !told;
        if !same {
            self.since = progress.at;
        }
        (self.state, self.seen, self.terminal) = (Some(progress.state), true, progress.terminal);
        self.message.clone_from(&progress.message);
        news
    }
}

/// Follows the objects of a fleet to ready.
#[derive(Clone, Debug)]
pub struct Tracker {
    graph: Arc<Graph>,
    settle: Duration,
    rows: Vec<Row>,
    /// One object may stand in the fleet twice, embedded in two others.
    by_id: HashMap<ObjectId, Vec<usize>>,
    start: Timestamp,
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
    /// From the start of the revision until its last part became ready, or until now.
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
            seen: false,
        };
        let rows = graph.vertices.iter().map(|_| row()).collect();
        let mut by_id: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        for (at, vertex) in graph.vertices.iter().enumerate() {
            if vertex.place != Place::Outside {
                by_id.entry(vertex.id.clone()).or_default().push(at);
            }
        }
        Self {
            graph: Arc::clone(graph),
            settle,
            rows,
            by_id,
            start: now,
        }
    }

    /// Shows the objects that an earlier revision had too as they were then, until they are seen
    /// again. What failed then may have been mended since.
    #[must_use]
    pub fn carrying(mut self, earlier: &Self) -> Self {
        for (id, at) in &self.by_id {
            let known = earlier.by_id.get(id).and_then(|known| known.first());
            let known = known.map(|known| &earlier.rows[*known]);
            let Some(row) = known.filter(|row| row.state != Some(State::Failed)) else {
                continue;
            };
            for at in at {
                self.rows[*at] = Row {
                    seen: false,
                    ..row.clone()
                };
            }
        }
        self
    }

    /// Takes in one event; `false` when it says nothing new or is about no object of the fleet.
    pub fn note(&mut self, progress: &Progress) -> bool {
        let Some(all) = self.by_id.get(&progress.object) else {
            return false;
        };
        let mut news = false;
        for at in all {
            news |= self.rows[*at].note(progress);
        }
        news
    }

    /// Whether every object was seen to be ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let ready = |row: &Row| row.seen && row.state == Some(State::Ready);
        let mut all = self.by_id.values().flatten();
        all.all(|at| ready(&self.rows[*at]))
    }

    /// Whether an object failed so that waiting is in vain.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        let failed = |row: &Row| row.terminal && row.state == Some(State::Failed);
        self.rows.iter().any(failed)
    }

    /// Whether every step of `plan` had its turn, or waits for one that has not come far enough.
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

    /// What was told of an object last in this run.
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
        let clusters = self.graph.clusters().iter();
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
        let root = members.iter().find(|at| id(at).is(CAPI, "Cluster"))?;
        let parts = members.iter();
        let parts = parts.flat_map(|at| std::iter::once(*at).chain(self.graph.carried(*at)));
        let parts: Vec<usize> = parts.collect();
        let summary = self.summarise(&parts, schedule);
        let ready = summary.ready == summary.total;
        let ended = if ready { self.last_change(&parts) } else { now };
        Some(ClusterSummary {
            id: id(root).clone(),
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
        // What Cluster API says only mirrors the resources behind it.
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
                    let id = self.graph.vertices[*at].id.clone();
                    // Many a message begins with whom it is about.
                    let message = &self.rows[*at].message;
                    let rest = message.strip_prefix(&format!("{id}: "));
                    let message = rest.unwrap_or(message).to_owned();
                    (id, message)
                })
                .collect(),
        }
    }
}

impl Summary {
    /// `31/54 ready, HCP cluster, about 9 min left`. One line, whatever objects say.
    #[must_use]
    pub fn title(&self) -> String {
        let brief = self.brief();
        let Some((_, message)) = self.failed.first() else {
            return brief;
        };
        let words: Vec<&str> = message.split_whitespace().collect();
        format!("{brief}: {}", words.join(" "))
    }

    /// The same without what a failure says.
    #[must_use]
    pub fn brief(&self) -> String {
        let count = format!("{}/{} ready", self.ready, self.total);
        if let Some((id, _)) = self.failed.first() {
            return format!("{count}, {id} failed");
        }
        match self.ready < self.total {
            true => format!("{count}, {}, {}", self.stage, about(self.left)),
            false => count,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph;
    use crate::model::{Object, Step};

    const FLEET: &str = "\
{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: rg}}
---
{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: v}, spec: {owner: {name: rg}}}
";

    fn graph() -> Arc<Graph> {
        let (documents, _) = crate::yaml::read(&Arc::from("fleet.yaml"), FLEET.as_bytes());
        let objects: Vec<Object> = documents
            .into_iter()
            .filter_map(|node| Object::from_node(node, "default"))
            .collect();
        Arc::new(graph::build(&objects).0)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn progress(second: i64, kind: &str, state: State) -> Progress {
        let (group, name) = if kind == "Vault" {
            ("keyvault.azure.com", "v")
        } else {
            ("resources.azure.com", "rg")
        };
        let object = ObjectId::new(group, kind, "default", name);
        Progress {
            at: at(second),
            object,
            state,
            terminal: false,
            message: String::new(),
        }
    }

    fn tracker() -> Tracker {
        Tracker::new(&graph(), Duration::ZERO, at(0))
    }

    #[test]
    fn the_title_counts_and_says_what_is_waited_for() {
        let mut tracker = tracker();
        assert_eq!(
            tracker.summary(at(0)).title(),
            "0/2 ready, ResourceGroup, less than a minute left"
        );
        assert!(tracker.note(&progress(1, "ResourceGroup", State::Ready)));
        assert_eq!(
            tracker.summary(at(1)).title(),
            "1/2 ready, Vault, less than a minute left"
        );
        tracker.note(&progress(2, "Vault", State::Ready));
        assert!(tracker.is_ready());
        assert_eq!(tracker.summary(at(2)).title(), "2/2 ready");
    }

    #[test]
    fn what_is_left_shrinks_while_an_object_works() {
        let mut tracker = tracker();
        let all = tracker.summary(at(0)).left;
        tracker.note(&progress(0, "ResourceGroup", State::Progressing));
        assert_eq!(tracker.summary(at(4)).left, all - Duration::from_secs(4));
    }

    #[test]
    fn an_apply_that_changes_nothing_does_not_unmake_ready() {
        let mut tracker = tracker();
        tracker.note(&progress(1, "Vault", State::Ready));
        assert!(!tracker.note(&progress(2, "Vault", State::Applied)));
        assert_eq!(tracker.summary(at(2)).ready, 1);
    }

    #[test]
    fn what_an_earlier_revision_saw_is_shown_but_does_not_count() {
        let mut earlier = tracker();
        earlier.note(&progress(1, "ResourceGroup", State::Ready));
        earlier.note(&progress(1, "Vault", State::Ready));
        let mut tracker = tracker().carrying(&earlier);
        assert_eq!(tracker.summary(at(5)).title(), "2/2 ready");
        assert!(!tracker.is_ready(), "nothing was seen yet");
        tracker.note(&progress(6, "ResourceGroup", State::Ready));
        tracker.note(&progress(6, "Vault", State::Ready));
        assert!(tracker.is_ready());
    }

    #[test]
    fn that_waiting_is_in_vain_by_now_is_news() {
        let mut tracker = tracker();
        let failed = progress(1, "Vault", State::Failed);
        assert!(tracker.note(&failed));
        assert!(!tracker.note(&failed));
        let in_vain = Progress {
            terminal: true,
            ..failed
        };
        assert!(tracker.note(&in_vain));
    }

    #[test]
    fn a_failure_is_the_title() {
        let mut tracker = tracker();
        let failed = Progress {
            terminal: true,
            message: "QuotaExceeded:\n  none left".to_owned(),
            ..progress(1, "Vault", State::Failed)
        };
        tracker.note(&failed);
        let summary = tracker.summary(at(1));
        assert!(summary.terminal);
        assert_eq!(
            summary.title(),
            "0/2 ready, Vault/default/v failed: QuotaExceeded: none left"
        );
    }

    #[test]
    fn all_was_tried_when_what_is_left_waits_for_what_failed() {
        let step = |kind: &str, after: &[(usize, Needed)]| {
            Step::bare(progress(0, kind, State::Failed).object, after)
        };
        let plan = |after: &[(usize, Needed)]| Plan {
            steps: vec![step("ResourceGroup", &[]), step("Vault", after)],
            ..Plan::default()
        };
        let mut tracker = tracker();
        assert!(!tracker.has_tried_all(&plan(&[])));
        tracker.note(&progress(1, "ResourceGroup", State::Failed));
        assert!(!tracker.has_tried_all(&plan(&[])), "the vault needs nobody");
        assert!(tracker.has_tried_all(&plan(&[(0, Needed::Applied)])));
        tracker.note(&progress(2, "ResourceGroup", State::Applied));
        tracker.note(&progress(2, "Vault", State::Failed));
        assert!(tracker.has_tried_all(&plan(&[])));
    }

    #[test]
    fn strangers_are_passed_over() {
        let stranger = Progress {
            object: ObjectId::new("", "ConfigMap", "a", "b"),
            ..progress(1, "Vault", State::Ready)
        };
        assert!(!tracker().note(&stranger));
    }
}
