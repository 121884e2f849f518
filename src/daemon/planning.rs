//! Candidates are planned: each lane takes its next one, and nobody waits for a plan that takes too long.
//!
//! In: candidates that wait, and plans that ended. Out: jobs, and the checks of candidates. It does not know how a plan is
//! made.

use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::job::Planned;
use super::revision::Sync;
use super::{Daemon, Event};
use crate::apply::AppliedState;
use crate::follow::candidates::Candidate;
use crate::reporting::report::NotPlanned;

/// How many times longer than a fork's the plan of a branch may take.
const OWN_SHARE: u32 = 5;
/// How long after a reason that may pass a candidate is planned again; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(900);

impl Daemon {
    /// Finds out of new candidates who pushed them.
    pub(super) fn sort_candidates(&mut self) {
        let unsorted = self.candidates.unsorted();
        if unsorted.is_empty() || self.sorting {
            return;
        }
        self.sorting = true;
        self.blocking(
            move |source| Event::Sorted(source.sorted(unsorted)),
            |_| Event::Sorted(Vec::new()),
        );
    }

    pub(super) fn sorted(&mut self, sorted: &[Candidate]) {
        self.sorting = false;
        self.candidates.sort(sorted);
        if !sorted.is_empty() {
            self.sort_candidates();
        }
        self.plan_next();
    }

    /// Starts the next plans, if some wait and their lanes are free. A commit of the followed ref comes first: candidates
    /// are merged onto it.
    pub(super) fn plan_next(&mut self) {
        if self.heads.is_examining() || !self.knows_applied() {
            return;
        }
        let Some(head) = self.heads.newest().map(str::to_owned) else {
            return;
        };
        while let Some(candidate) = self.candidates.next() {
            self.show_planning(&candidate);
            self.plan(head.clone(), candidate);
        }
    }

    fn plan(&mut self, head: String, candidate: Candidate) {
        // Also in the lane of forks: a branch may lead to the commit by now, and then it is planned here.
        self.lose_patience_with(&candidate);
        let applied = self.applied_revision();
        let (fleet, unread) = (self.config.fleet.clone(), candidate.clone());
        self.blocking(
            move |source| {
                let applied = applied.as_ref();
                let applied = applied.map(|(revision, plan)| (revision.as_str(), plan.as_deref()));
                Event::Planned(Box::new(source.plan(&head, candidate, applied)))
            },
            move |failure| Event::Planned(Box::new(Planned::failed(&fleet, unread, &failure))),
        );
    }

    /// After a while, the plan of this candidate is not waited for.
    pub(super) fn lose_patience_with(&mut self, candidate: &Candidate) {
        let (wait, events) = (self.own_deadline(), self.events.clone());
        let overdue = Box::new(candidate.clone());
        let alarm = tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            let _ = events.send(Event::Overdue(overdue));
        });
        let alarm = AbortOnDropHandle::new(alarm);
        self.patience.insert(candidate.number, alarm);
    }

    /// How long the plan of a branch may take. It runs in this process, so it cannot be ended.
    fn own_deadline(&self) -> Duration {
        self.config.fork_limits.time * OWN_SHARE
    }

    pub(super) fn overdue(&mut self, candidate: Candidate) {
        self.patience.remove(&candidate.number);
        let why = NotPlanned::Overdue(self.own_deadline());
        let gave_up = self.source.limited();
        if self.candidates.overdue(&candidate, &gave_up) {
            let planned = self.source.not_planned(candidate, why);
            planned
                .check
                .into_iter()
                .for_each(|check| self.set_plan_check(check));
        }
        self.plan_next();
    }

    /// Whether it is known what to compare candidates with: after a start, a suspended fleet has another revision than
    /// the accepted one.
    pub(super) fn knows_applied(&self) -> bool {
        let unknown = |sync: &Sync| matches!(sync.applied, AppliedState::Unknown);
        let steering = self.steering.as_ref();
        let is_applying = steering.is_some_and(|steering| steering.suspended.is_none());
        is_applying || !self.sync.as_ref().is_some_and(unknown)
    }

    /// Has a candidate planned again after a while if it could not be for a reason that may pass.
    fn plan_later(&mut self, planned: &Planned) {
        let failures = self
            .candidates
            .failed(&planned.candidate, planned.is_passing);
        if failures == 0 {
            return;
        }
        let pause = FIRST_PAUSE.saturating_mul(1 << (failures - 1).min(8));
        let (pause, candidate) = (pause.min(LONGEST_PAUSE), planned.candidate.clone());
        self.jobs.spawn(async move {
            tokio::time::sleep(pause).await;
            Event::Replan(Box::new(candidate))
        });
    }

    /// A candidate may be planned again, unless it moved.
    pub(super) fn replan(&mut self, candidate: &Candidate) {
        self.candidates.retry(candidate);
        self.plan_next();
    }

    pub(super) fn planned(&mut self, planned: Planned) {
        self.patience.remove(&planned.candidate.number);
        if let Some((head, lane)) = &planned.resolved {
            self.candidates.resolve(&planned.candidate, head, *lane);
            self.show_waiting();
            return self.plan_next();
        }
        let is_change = {
            let (candidate, merged) = (&planned.candidate, planned.merged.as_ref());
            self.candidates.planned(candidate, merged)
        };
        self.plan_later(&planned);
        let commit = planned.candidate.commit;
        match planned.check.filter(|_| is_change) {
            Some(check) => self.set_plan_check(check),
            // Its check says that it waits, or is being planned: another plan ends that.
            None if self.is_waiting(&commit) => drop(self.candidates.again(&commit)),
            None => {}
        }
        self.plan_next();
    }
}
