//! Plans of candidates: their checks say at once that they wait, every one of them ends, and nobody waits for a plan that takes
//! too long.
//!
//! In: where the refs lead, and plans that ended. Out: plans to make, and the checks of candidates. It does not know how a plan
//! is made.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::candidates::{Candidate, Candidates, OpenRef};
use super::command::{Command, PlanRequest, Wait};
use super::comments::CommentQuestions;
use super::event::{PlanResult, TimeEvent};
use super::turn::Turn;
use crate::apply::{AppliedRevision, Unapproved};
use crate::model::{Check, Head};
use crate::reporting::report::{self, Base, NotPlanned};

/// How long after a reason that may pass a candidate is planned again; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(900);

/// See the module.
pub(crate) struct Plans {
    candidates: Candidates,
    /// What they are merged onto, if it could be read.
    base: Option<Base>,
    /// The losses of what is applied that nobody approved yet, as far as is known.
    waiting: BTreeSet<Unapproved>,
    /// It is being found out who pushed some of them.
    is_sorting: bool,
    /// By candidate, the commits with approvals of which its plan did not know how they came in.
    unattributed: BTreeMap<String, BTreeSet<String>>,
}

impl Plans {
    /// Plans of the refs that match one of `globs`.
    pub(crate) fn new(globs: &[String]) -> Self {
        Self {
            candidates: Candidates::new(globs),
            base: None,
            waiting: BTreeSet::new(),
            is_sorting: false,
            unattributed: BTreeMap::new(),
        }
    }

    /// The commits that the known candidates lead to.
    pub(crate) fn commits(&self) -> impl Iterator<Item = String> {
        self.candidates.commits()
    }

    /// Takes in what candidates are merged onto from now on.
    pub(crate) fn set_base(&mut self, base: Option<Base>) {
        self.base = base;
    }

    /// Takes in which losses wait for an approval. Returns true if candidates are to be planned again for that.
    pub(crate) fn set_waiting(&mut self, waiting: BTreeSet<Unapproved>) -> bool {
        let is_change = self.waiting != waiting;
        if is_change {
            self.waiting = waiting;
            self.candidates.all_again();
        }
        is_change
    }

    /// Takes in where the refs lead.
    pub(crate) fn look(&mut self, refs: &BTreeMap<String, String>, head: &str, turn: &mut Turn) {
        let is_first = self.candidates.is_new();
        let candidates = self.candidates.update(refs, head);
        if !self.unattributed.is_empty() {
            let open: BTreeSet<String> = self.candidates.commits().collect();
            self.unattributed.retain(|commit, _| open.contains(commit));
        }
        if !candidates.is_empty() || is_first && turn.settings.shows_queued {
            let base = head.to_owned();
            turn.push(Command::ReadStartupRefs { candidates, base });
        }
        self.sort(turn);
        self.show_waiting(Some(head), turn);
    }

    /// Takes in which of the refs that were there at the start are planned.
    pub(crate) fn open(&mut self, refs: Vec<OpenRef>) {
        self.candidates.open(refs);
    }

    /// Finds out of new candidates who pushed them.
    fn sort(&mut self, turn: &mut Turn) {
        let unsorted = self.candidates.unsorted();
        if !unsorted.is_empty() && !self.is_sorting {
            self.is_sorting = true;
            turn.push(Command::Sort(unsorted));
        }
    }

    /// Takes in who pushed these candidates.
    pub(crate) fn sorted(&mut self, sorted: &[Candidate], turn: &mut Turn) {
        self.is_sorting = false;
        self.candidates.sort(sorted);
        if !sorted.is_empty() {
            self.sort(turn);
        }
    }

    /// Begins the next plans, if some wait and their lanes are free.
    pub(crate) fn begin_next(
        &mut self,
        head: &str,
        applied: Option<&AppliedRevision>,
        comments: &CommentQuestions,
        turn: &mut Turn,
    ) {
        while let Some(candidate) = self.candidates.next() {
            if is_waiting(&candidate.commit, turn) {
                let check = report::planning(&turn.settings.fleet, &candidate.commit);
                self.set_check(check, turn);
            }
            // Also in the lane of forks: a branch may lead to the commit by now, and then it is planned here.
            let overdue = TimeEvent::Overdue(Box::new(candidate.clone()));
            turn.wake(Wait::Wall(turn.settings.plan_deadline), overdue);
            turn.push(Command::Plan(Box::new(PlanRequest {
                comments: comments.rest(&turn.plan_context(), &candidate.commit),
                candidate,
                head: head.to_owned(),
                base: self.base.clone().filter(|base| base.commit == head),
                applied: applied.cloned(),
                waiting: self.waiting.clone(),
            })));
        }
    }

    /// Takes in a plan that ended.
    pub(crate) fn planned(&mut self, planned: PlanResult, head: Option<&str>, turn: &mut Turn) {
        let PlanResult {
            candidate,
            resolved,
            merged,
            check,
            is_passing,
            unattributed,
        } = planned;
        if let Some((commit, lane)) = &resolved {
            self.candidates.resolve(&candidate, commit, *lane);
            return self.show_waiting(head, turn);
        }
        let is_change = self.candidates.planned(&candidate, merged.as_ref());
        self.plan_later(&candidate, is_passing, turn);
        let commit = candidate.commit;
        let is_gone = !self.candidates.commits().any(|known| known == commit);
        if unattributed.is_empty() || is_gone {
            self.unattributed.remove(&commit);
        } else {
            self.unattributed.insert(commit.clone(), unattributed);
        }
        match check.filter(|_| is_change) {
            Some(check) => self.set_check(check, turn),
            // Its check says that it waits, or is being planned: another plan ends that.
            None if is_waiting(&commit, turn) => drop(self.candidates.again(&commit)),
            None => {}
        }
    }

    /// Has a candidate planned again after a while if it could not be for a reason that may pass.
    fn plan_later(&mut self, candidate: &Candidate, is_passing: bool, turn: &mut Turn) {
        let failures = self.candidates.failed(candidate, is_passing);
        if failures > 0 {
            let pause = FIRST_PAUSE.saturating_mul(1 << (failures - 1).min(8));
            let replan = TimeEvent::Replan(Box::new(candidate.clone()));
            turn.wake(Wait::Wall(pause.min(LONGEST_PAUSE)), replan);
        }
    }

    /// Lets a candidate be planned again, unless it moved.
    pub(crate) fn retry(&mut self, candidate: &Candidate) {
        self.candidates.retry(candidate);
    }

    /// Takes in that the plan of this candidate takes too long, unless it has ended.
    pub(crate) fn overdue(&mut self, candidate: Candidate, turn: &mut Turn) {
        if !self.candidates.overdue(&candidate, &turn.settings.limits) {
            return;
        }
        let why = NotPlanned::Overdue(turn.settings.plan_deadline);
        let planned = PlanResult::not_planned(&turn.settings, candidate, why);
        if let Some(check) = planned.check {
            self.set_check(check, turn);
        }
    }

    /// Has the candidates that lead to this commit planned again; `false` if there are none.
    pub(crate) fn again(&mut self, commit: &str) -> bool {
        self.candidates.again(commit)
    }

    /// The commits of candidates that are this head.
    pub(crate) fn matching(&self, head: &Head) -> BTreeSet<String> {
        self.candidates
            .matching(|commit, number| head.is(commit, number))
    }

    /// The commits of which plans did not know how they came in.
    pub(crate) fn unattributed(&self) -> impl Iterator<Item = &String> {
        self.unattributed.values().flatten()
    }

    /// Takes in that the forge said how these commits came in. Returns true if candidates wait that lacked one of them.
    pub(crate) fn attributed(&mut self, commits: &BTreeSet<String>) -> bool {
        let lacking = std::mem::take(&mut self.unattributed);
        let (answered, rest) = lacking
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(_, lacking)| !lacking.is_disjoint(commits));
        self.unattributed = rest;
        let mut is_new = false;
        for commit in answered.keys() {
            is_new |= self.candidates.again(commit);
        }
        is_new
    }

    /// Says of heads that they wait, and ends the checks of those that no candidate leads to any more. The followed ref leads
    /// to `head`.
    pub(crate) fn show_waiting(&self, head: Option<&str>, turn: &mut Turn) {
        let open = self.candidates.open_commits();
        let context = turn.plan_context();
        let pending = turn.checks.pending(&context);
        let pending = pending.map(|(commit, _)| commit.to_owned());
        let gone: Vec<String> = pending.filter(|commit| !open.contains(commit)).collect();
        let new: BTreeSet<&String> = self
            .candidates
            .announced()
            .filter(|commit| turn.settings.shows_queued && !is_waiting(commit, turn))
            .collect();
        for commit in gone {
            end_waiting(&commit, head, turn);
        }
        for commit in new {
            self.set_check(report::queued(&turn.settings.fleet, commit), turn);
        }
    }

    /// Sets the check of a candidate.
    fn set_check(&self, check: Check, turn: &mut Turn) {
        let mut pull_requests = self.candidates.pull_requests(&check.revision);
        turn.set_check(Check {
            pull_request: pull_requests.next(),
            older_pull_requests: pull_requests.collect(),
            ..check
        });
    }
}

/// Returns true if the check of a head says that it waits, or is being planned.
fn is_waiting(commit: &str, turn: &Turn) -> bool {
    turn.checks.is_pending(&turn.plan_context(), commit)
}

/// Ends the check of a head that is not planned any more, unless nobody saw it.
fn end_waiting(commit: &str, head: Option<&str>, turn: &mut Turn) {
    let fleet = &turn.settings.fleet;
    let check = if head == Some(commit) {
        report::merged(fleet, commit)
    } else {
        report::left_behind(fleet, commit)
    };
    if !turn.checks.withdraw(&turn.plan_context(), commit) {
        turn.set_check(check);
    }
}

#[cfg(test)]
impl Plans {
    pub(crate) const fn candidates(&mut self) -> &mut Candidates {
        &mut self.candidates
    }

    /// The losses that plans are told of.
    pub(crate) const fn waiting(&self) -> &BTreeSet<Unapproved> {
        &self.waiting
    }

    pub(crate) fn is_waiting(commit: &str, turn: &Turn) -> bool {
        is_waiting(commit, turn)
    }
}
