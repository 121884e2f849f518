//! When each object would be ready if nothing went wrong, and the path that decides it.

use std::time::Duration;

use super::build::ROLES_GATE;
use super::{Graph, Place};
use crate::model::{Needed, ObjectId};

/// When one object can start and when it is ready, counted from the start of the sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// When everything it needs is there.
    pub start: Duration,
    /// When it is ready.
    pub ready: Duration,
    /// The vertex that decided `ready`: a need, or for a carrier the last of what it carries.
    pub via: Option<usize>,
}

/// A [`Timing`] per vertex.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// By vertex.
    pub timings: Vec<Timing>,
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
        };
        for at in order(graph) {
            schedule.timings[at] = match pace(at, &graph.vertices[at].id) {
                Pace::Done => Timing::default(),
                Pace::Running(left) if graph.carried(at).next().is_none() => Timing {
                    ready: left,
                    ..Timing::default()
                },
                Pace::Running(typical) | Pace::Pending(typical) => {
                    schedule.timing(graph, at, typical, settle)
                }
            };
        }
        schedule
    }

    fn timing(&self, graph: &Graph, at: usize, typical: Duration, settle: Duration) -> Timing {
        let open = |edge: &super::Edge| {
            let need = &self.timings[edge.to];
            let wait = if edge.why == ROLES_GATE {
                settle
            } else {
                Duration::ZERO
            };
            let done = if edge.until == Needed::Ready {
                need.ready + wait
            } else {
                need.start
            };
            (done, edge.to)
        };
        let all = graph.needs(at).filter(|edge| !edge.any).map(open).max();
        let any = graph.needs(at).filter(|edge| edge.any).map(open).min();
        let (start, via) = all
            .max(any)
            .map_or((Duration::ZERO, None), |(done, to)| (done, Some(to)));
        let last = graph
            .carried(at)
            .map(|child| (self.timings[child].ready, child))
            .max();
        match last {
            Some((ready, child)) if ready >= start => Timing {
                start,
                ready,
                via: Some(child),
            },
            _ => Timing {
                start,
                ready: start + typical,
                via,
            },
        }
    }

    /// The vertex that is ready last, and what decided it, back to the start: the critical path, in
    /// order of time.
    #[must_use]
    pub fn critical_path(&self) -> Vec<usize> {
        let last = (0..self.timings.len())
            .max_by_key(|at| (self.timings[*at].ready, std::cmp::Reverse(*at)));
        let mut path: Vec<usize> = std::iter::successors(last, |at| self.timings[*at].via)
            .take(self.timings.len())
            .collect();
        path.reverse();
        path
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

/// The vertices so that each stands behind what it needs and what it carries. An embedded resource
/// starts no earlier than its carrier is applied, which for the schedule is at once.
fn order(graph: &Graph) -> Vec<usize> {
    let mut open = vec![0_usize; graph.vertices.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); graph.vertices.len()];
    let carried = graph
        .vertices
        .iter()
        .enumerate()
        .filter_map(|(at, vertex)| match vertex.place {
            Place::Embedded(carrier) => Some((carrier, at)),
            _ => None,
        });
    for (from, to) in graph
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to))
        .chain(carried)
    {
        open[from] += 1;
        users[to].push(from);
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
    order
}
