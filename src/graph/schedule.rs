//! When each object would be ready if nothing went wrong, and the path that decides it.
//!
//! In: the graph, and how long each object takes. Out: a [`Timing`] for each. A rehearsal plays the same
//! fleet with the real controllers; both must come to the same times.

use std::time::Duration;

use super::build::ROLES_GATE;
use super::{Edge, Executor, Graph, Place};
use crate::api::kinds::CAPI;
use crate::model::{Needed, ObjectId};

/// When one object can start and when it is ready, counted from the start of the sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// When everything it needs is there.
    pub start: Duration,
    /// When it is ready.
    pub ready: Duration,
}

/// A [`Timing`] per vertex.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// By vertex.
    pub timings: Vec<Timing>,
    /// How long role assignments need to come into force.
    settle: Duration,
}

/// How far one object has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// It is ready.
    Done,
    /// It works and will be ready in about this time, whatever it needs.
    Running(Duration),
    /// It waits, and will take this time once what it needs is there.
    Pending(Duration),
}

impl Schedule {
    /// Works out the schedule from how far each object has come and how long role assignments need
    /// to come into force. Vertices in a cycle keep a zero timing.
    #[must_use]
    pub fn new(graph: &Graph, pace: impl Fn(usize, &ObjectId) -> Pace, settle: Duration) -> Self {
        let mut schedule = Self {
            timings: vec![Timing::default(); graph.vertices.len()],
            settle,
        };
        for moment in order(graph) {
            let at = moment.vertex();
            let pace = pace(at, &graph.vertices[at].id);
            match moment {
                Moment::Start(_) => schedule.timings[at].start = schedule.start(graph, at, pace),
                Moment::Ready(_) => schedule.timings[at].ready = schedule.ready(graph, at, pace),
            }
        }
        schedule
    }

    fn start(&self, graph: &Graph, at: usize, pace: Pace) -> Duration {
        let Pace::Pending(_) = pace else {
            return Duration::ZERO;
        };
        let carrier = match graph.vertices[at].place {
            Place::Embedded(carrier) => self.timings[carrier].start,
            _ => Duration::ZERO,
        };
        let done = |edge: &Edge| Some(self.done(edge));
        let needed = decisive(graph, at, done);
        needed.map_or(carrier, |(needed, _)| needed.max(carrier))
    }

    /// What carries others is ready with the last of them, and what copies from others is so, too.
    fn ready(&self, graph: &Graph, at: usize, pace: Pace) -> Duration {
        let start = self.timings[at].start;
        let (Pace::Pending(own) | Pace::Running(own)) = pace else {
            return Duration::ZERO;
        };
        let carried = graph.carried(at);
        let copied = graph.needs(at).filter(|edge| !is_waited_for(edge));
        let others = carried.chain(copied.map(|edge| edge.to));
        let last = others.map(|other| self.timings[other].ready).max();
        last.map_or(start + own, |last| last.max(start))
    }

    /// When the target of an edge has come as far as needed.
    fn done(&self, edge: &Edge) -> Duration {
        let Timing { start, ready } = self.timings[edge.to];
        match edge.until {
            Needed::Ready => ready + self.wait(edge),
            Needed::Applied => start,
        }
    }

    fn wait(&self, edge: &Edge) -> Duration {
        match &*edge.why == ROLES_GATE {
            true => self.settle,
            false => Duration::ZERO,
        }
    }

    /// The path that decides when everything is ready, in order of time.
    #[must_use]
    pub fn critical_path(&self, graph: &Graph) -> Vec<usize> {
        critical_path(graph, |at| Some(self.timings[at].ready))
    }

    /// When everything is ready.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.timings
            .iter()
            .map(|timing| timing.ready)
            .max()
            .unwrap_or_default()
    }
}

/// From the object that is ready last, back by the need that is ready last, given when each is ready. What
/// Cluster API and the parent resources report is left out: they only mirror the resources behind them.
#[must_use]
pub fn critical_path(graph: &Graph, ready: impl Fn(usize) -> Option<Duration>) -> Vec<usize> {
    let own = |at: usize| graph.carried(at).next().is_none() && graph.vertices[at].id.group != CAPI;
    let ready = |at: usize| ready(at).filter(|_| own(at));
    // Of two that are ready at once, the same one is reported however the files are ordered.
    let last = (0..graph.vertices.len())
        .filter(|at| own(*at))
        .max_by_key(|at| (ready(*at), &graph.vertices[*at].id));
    let before = |at: &usize| {
        let needed = decisive(graph, *at, |edge| ready(edge.to));
        needed.map(|(_, need)| need)
    };
    let mut path: Vec<usize> = std::iter::successors(last, before)
        .take(graph.vertices.len())
        .collect();
    path.reverse();
    path
}

/// Whether `to` waits until the role assignment `from` is in force.
#[must_use]
pub fn waits_for_roles(graph: &Graph, from: usize, to: usize) -> bool {
    let mut needs = graph.needs(to);
    needs.any(|edge| edge.to == from && &*edge.why == ROLES_GATE)
}

/// The need of `at` that is met last, and when: of needs of which one is enough, only the first counts.
fn decisive<T: Ord>(
    graph: &Graph,
    at: usize,
    done: impl Fn(&Edge) -> Option<T>,
) -> Option<(T, usize)> {
    let key = |edge: &Edge| Some((done(edge)?, &graph.vertices[edge.to].id, edge.to));
    let waited = || graph.needs(at).filter(|edge| is_waited_for(edge));
    let all = waited().filter(|edge| !edge.any).filter_map(key).max();
    let any = waited().filter(|edge| edge.any).filter_map(key).min();
    all.max(any).map(|(done, _, to)| (done, to))
}

fn is_waited_for(edge: &Edge) -> bool {
    edge.executor != Executor::Nobody
}

/// One of the two moments of a vertex.
#[derive(Clone, Copy)]
enum Moment {
    Start(usize),
    Ready(usize),
}

impl Moment {
    const fn vertex(self) -> usize {
        match self {
            Self::Start(at) | Self::Ready(at) => at,
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Start(at) => 2 * at,
            Self::Ready(at) => 2 * at + 1,
        }
    }

    const fn of(index: usize) -> Self {
        match index % 2 {
            0 => Self::Start(index / 2),
            _ => Self::Ready(index / 2),
        }
    }
}

/// The moments so that each stands behind those that it depends on.
fn order(graph: &Graph) -> Vec<Moment> {
    let mut open = vec![0_usize; 2 * graph.vertices.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); open.len()];
    let mut link = |user: Moment, need: Moment| {
        open[user.index()] += 1;
        users[need.index()].push(user.index());
    };
    for (at, vertex) in graph.vertices.iter().enumerate() {
        link(Moment::Ready(at), Moment::Start(at));
        if let Place::Embedded(carrier) = vertex.place {
            link(Moment::Start(at), Moment::Start(carrier));
            link(Moment::Ready(carrier), Moment::Ready(at));
        }
    }
    for edge in &graph.edges {
        let need = match edge.until {
            Needed::Applied => Moment::Start(edge.to),
            Needed::Ready => Moment::Ready(edge.to),
        };
        let user = match is_waited_for(edge) {
            true => Moment::Start(edge.from),
            false => Moment::Ready(edge.from),
        };
        link(user, need);
    }
    let mut order: Vec<usize> = (0..open.len()).filter(|at| open[*at] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        for &user in &users[order[next]] {
            open[user] -= 1;
            if open[user] == 0 {
                order.push(user);
            }
        }
        next += 1;
    }
    order.into_iter().map(Moment::of).collect()
}

/// `12m05s`.
#[must_use]
pub fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{}m{:02}s", seconds / 60, seconds % 60)
}

/// `about 9 min`.
#[must_use]
pub fn about(duration: Duration) -> String {
    match duration.as_secs() {
        0..60 => "less than a minute".to_owned(),
        seconds => format!("about {} min", seconds.div_ceil(60)),
    }
}
