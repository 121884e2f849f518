//! Which step may start next. Edge-triggered: a step starts when its own predecessors have come far
//! enough; there are no waves.

use std::collections::BTreeSet;

use crate::model::Needed;
use crate::plan::Plan;

/// How far one step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Its predecessors, or a free worker, are awaited.
    Waiting,
    /// It is being carried out.
    Running,
    /// Its object is there as it was asked for before.
    Stayed,
    /// Its object is there.
    Applied,
    /// Its object is ready.
    Ready,
}

/// The state of a plan in execution.
#[derive(Clone, Debug)]
pub struct Execution {
    stages: Vec<Stage>,
    /// Per step: how many predecessors are still awaited.
    open: Vec<usize>,
    /// Per step: the steps that wait for it, and how far it must come for each.
    users: Vec<Vec<(usize, Needed)>>,
    /// How many steps are ready.
    ready: usize,
    /// Steps that may start, first in plan order first out.
    startable: BTreeSet<usize>,
}

impl Execution {
    /// Nothing has been done yet.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut users = vec![Vec::new(); plan.steps.len()];
        for (at, step) in plan.steps.iter().enumerate() {
            for before in &step.after {
                users[before.step].push((at, before.until));
            }
        }
        let open: Vec<usize> = plan.steps.iter().map(|step| step.after.len()).collect();
        let startable = (0..open.len()).filter(|at| open[*at] == 0).collect();
        Self {
            stages: vec![Stage::Waiting; open.len()],
            open,
            users,
            ready: 0,
            startable,
        }
    }

    /// Takes the next step that may start. It then counts as running.
    pub fn start(&mut self) -> Option<usize> {
        let step = self.startable.pop_first()?;
        self.stages[step] = Stage::Running;
        Some(step)
    }

    /// The step's object is there.
    pub fn applied(&mut self, step: usize) {
        if self.stages[step] < Stage::Applied {
            self.stayed(step);
            self.stages[step] = Stage::Applied;
        }
    }

    /// The step is not carried out for now, and its object is there as it was asked for before: what
    /// needs no more than that goes on.
    pub fn stayed(&mut self, step: usize) {
        if self.stages[step] < Stage::Stayed {
            self.stages[step] = Stage::Stayed;
            self.startable.remove(&step);
            self.release(step, Needed::Applied);
        }
    }

    /// The step's object is ready. It counts only once the step itself was carried out: what was
    /// there before says nothing about what is asked for now.
    pub fn ready(&mut self, step: usize) {
        if self.stages[step] == Stage::Applied {
            self.stages[step] = Stage::Ready;
            self.ready += 1;
            self.release(step, Needed::Ready);
        }
    }

    /// Whether the step's object is there as the step asks.
    #[must_use]
    pub fn is_applied(&self, step: usize) -> bool {
        matches!(self.stages[step], Stage::Applied | Stage::Ready)
    }

    /// Whether every step's object was ready once.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready == self.stages.len()
    }

    fn release(&mut self, step: usize, reached: Needed) {
        for at in 0..self.users[step].len() {
            let (user, until) = self.users[step][at];
            if until == reached {
                self.open[user] -= 1;
                if self.open[user] == 0 && self.stages[user] == Stage::Waiting {
                    self.startable.insert(user);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ObjectId, Step};

    fn plan(after: &[&[(usize, Needed)]]) -> Plan {
        let step = |(at, after): (usize, &&[(usize, Needed)])| {
            Step::bare(
                ObjectId::new("", "ConfigMap", "ns", format!("c{at}")),
                after,
            )
        };
        Plan {
            steps: after.iter().enumerate().map(step).collect(),
            ..Plan::default()
        }
    }

    fn drain(execution: &mut Execution) -> Vec<usize> {
        std::iter::from_fn(|| execution.start()).collect()
    }

    #[test]
    fn a_step_starts_when_its_own_predecessors_are_satisfied_and_no_later() {
        let plan = plan(&[
            &[],
            &[],
            &[(0, Needed::Applied)],
            &[(1, Needed::Ready)],
            &[(0, Needed::Applied), (1, Needed::Ready)],
        ]);
        let mut execution = Execution::new(&plan);
        assert_eq!(drain(&mut execution), [0, 1]);
        execution.applied(0);
        assert_eq!(drain(&mut execution), [2]);
        execution.applied(1);
        assert_eq!(drain(&mut execution), [] as [usize; 0]);
        execution.ready(1);
        assert_eq!(drain(&mut execution), [3, 4]);
    }

    #[test]
    fn ready_before_applied_does_not_count() {
        let plan = plan(&[&[], &[(0, Needed::Ready)]]);
        let mut execution = Execution::new(&plan);
        execution.start();
        execution.ready(0);
        assert_eq!(drain(&mut execution), [] as [usize; 0]);
        execution.applied(0);
        execution.ready(0);
        assert_eq!(execution.start(), Some(1));
    }

    #[test]
    fn what_stays_as_it_was_lets_others_go_on_but_is_not_done() {
        let plan = plan(&[&[], &[(0, Needed::Applied)], &[(0, Needed::Ready)]]);
        let mut execution = Execution::new(&plan);
        execution.start();
        execution.stayed(0);
        assert_eq!(drain(&mut execution), [1]);
        execution.ready(0);
        assert!(!execution.is_applied(0));
        execution.applied(0);
        execution.ready(0);
        assert_eq!(drain(&mut execution), [2]);
    }

    #[test]
    fn applying_twice_releases_once() {
        let plan = plan(&[&[], &[], &[(0, Needed::Applied), (1, Needed::Applied)]]);
        let mut execution = Execution::new(&plan);
        drain(&mut execution);
        execution.applied(0);
        execution.applied(0);
        assert_eq!(drain(&mut execution), [] as [usize; 0]);
    }
}
