//! Steps: begun, sent, watched, repaired.

use jiff::Timestamp;
use serde_json::Value as Json;

use super::super::backoff::backoff;
use super::super::event::{
    Applied, ApplyPrecondition, Command, Failure, FailureCause, RetryTarget, Warning,
};
use super::super::kinds::KindState;
use super::super::steps::{StepState, payload};
use super::super::{DriftState, Member, Outcome, PruneStatus, Report, State};
use super::Engine;
use crate::api::platform::{CLUSTER_API, Platform, is_root};
use crate::model::ObjectId;
use crate::plan;

/// From this failure in a row on, a kind that the plan defines should be served: seven seconds after the first.
const UNANNOUNCED: u32 = 4;

impl Engine {
    /// Begins every step that may, as far as the concurrency allows.
    pub(super) fn begin_steps(&mut self) {
        while self.work.parent.is_open()
            && self.work.steps.sending() < self.settings.concurrency.max(1)
        {
            let Some(at) = self.work.steps.next() else {
                return;
            };
            self.begin(at);
        }
    }

    fn begin(&mut self, at: usize) {
        let steps = &mut self.work.steps;
        let kind = steps.kind(at).clone();
        let state = self.kinds.state(&kind);
        if let Some(KindState::Listed { .. }) = state {
            return self.decide(at);
        }
        let failures = steps.state(at).failures();
        steps.enter(at, StepState::WaitingForKind { failures });
        if matches!(state, None | Some(KindState::Unserved)) {
            let example = steps.object(at).clone();
            self.find(&kind, &example);
        }
    }

    /// A step whose turn has come, and whose object is known if it is a member.
    fn decide(&mut self, at: usize) {
        let failures = self.work.steps.state(at).failures();
        if self.is_late(at) {
            let state = StepState::WaitingForAnswer { failures };
            return self.work.steps.enter(at, state);
        }
        if let Some((deleted, held)) = self.being_deleted(at) {
            let state = StepState::WaitingForRemoval { failures };
            self.work.steps.enter(at, state);
            self.work.failures.ended(at);
            let why = format!("{deleted} is {held}; it is applied again once that is gone");
            return self.report_step(at, State::Waiting, false, why);
        }
        let member = self.inventory.get(self.work.steps.object(at));
        if member.is_some_and(|member| member.drift == DriftState::InSync) {
            return self.in_sync(at, Outcome::Unchanged);
        }
        if let Some((state, why)) = self.rename_in_doubt(at) {
            let waiting = StepState::WaitingForApproval { failures };
            self.work.steps.enter(at, waiting);
            return self.report_step(at, state, state == State::Failed, why);
        }
        let precondition = self.precondition(at, member, failures);
        let steps = &mut self.work.steps;
        let vanished = false;
        steps.enter(at, StepState::Sending { failures, vanished });
        let command = Command::Apply {
            plan: steps.plan().clone(),
            step: at,
            object: steps.object(at).clone(),
            kind: steps.kind(at).clone(),
            number: self.number(),
            precondition,
        };
        self.command(command);
    }

    fn precondition(&self, at: usize, member: Option<&Member>, failures: u32) -> ApplyPrecondition {
        let was_applied = self.work.steps.is_applied(at);
        let takes_back = member.is_some_and(|member| member.drift.takes_back(was_applied));
        let gates = !takes_back && plan::is_looked_at(self.work.steps.object(at));
        // The object may have been deleted or replaced: then it is looked up. So is one that only carries our label.
        let known = member.filter(|member| failures == 0 && member.applied_by_us);
        ApplyPrecondition {
            takes_back: takes_back || member.is_some_and(|member| !member.applied_by_us),
            gate: gates.then_some(self.work.guard.unchanged && member.is_some()),
            uid: known.map(|member| member.uid.clone()),
        }
    }

    /// The deletion that a step must wait for, and what holds it up: of its object, or of the cluster that contains it.
    fn being_deleted(&self, at: usize) -> Option<(ObjectId, String)> {
        let (object, step) = (self.work.steps.object(at), self.work.steps.step(at));
        let cluster = payload(step).cluster();
        let platform = Platform::of(object).unwrap_or(&CLUSTER_API);
        let root = platform.root(&object.namespace, cluster);
        let deleted = |id: &ObjectId| {
            let member = self.inventory.get(id).filter(|one| one.deleting)?;
            Some((id.clone(), member.held.clone()))
        };
        [object, &root].into_iter().find_map(deleted)
    }

    pub(super) fn answered(&mut self, at: usize, answer: Result<Applied, Failure>) {
        let steps = &mut self.work.steps;
        let StepState::Sending { vanished, .. } = steps.state(at) else {
            return;
        };
        let object = steps.object(at).clone();
        match answer {
            // A watch reported a deletion meanwhile, of this object or of an earlier one: only the cluster knows.
            Ok(_) if vanished && !self.inventory.contains_key(&object) => steps.queue(at),
            Ok(Applied {
                live,
                created,
                remains,
            }) => {
                let member = Member::answered(&live, &steps.step(at).action);
                self.keep_newest(&object, member);
                if let Some(remains) = remains {
                    self.work.remains.insert(at, remains);
                }
                let outcome = match created {
                    true => Outcome::Created,
                    false => Outcome::Updated,
                };
                self.in_sync(at, outcome);
                self.regain_rights(at);
            }
            Err(failure) => self.step_failed(at, &failure),
        }
    }

    /// Keeps the newest version of a member; `false` if that was known.
    fn keep_newest(&mut self, id: &ObjectId, member: Member) -> bool {
        let known = self.inventory.get(id);
        let is_newest = known.is_none_or(|known| member.is_newer(known));
        if is_newest {
            self.inventory.insert(id.clone(), member);
        }
        is_newest
    }

    /// The object is as it was asked for.
    fn in_sync(&mut self, at: usize, outcome: Outcome) {
        let first = self.work.steps.in_sync(at);
        self.work.failures.ended(at);
        self.work.removals.stir();
        if first {
            let object = ObjectId::clone(&self.work.steps.step(at).object);
            self.report(Report::Applied(object, outcome));
            let remains = self.work.remains.get(&at).cloned();
            self.report_step(at, State::Applied, false, remains.unwrap_or_default());
        }
        let object = self.work.steps.object(at).clone();
        self.examine(&object, at);
    }

    /// Reports a failed step and lets it back off.
    pub(super) fn step_failed(&mut self, at: usize, failure: &Failure) {
        if failure.cause == FailureCause::NotServed {
            self.watch_definitions();
        }
        self.report_denied(failure);
        let steps = &mut self.work.steps;
        if failure.cause == FailureCause::Held {
            steps.keep(at);
        }
        self.note_rights(at, failure);
        let steps = &self.work.steps;
        let failures = steps.state(at).failures().saturating_add(1);
        let why = failure.about(steps.object(at));
        let backoff = backoff(failure.class, failures, failure.retry_after);
        // A kind is established a moment before the API server shows it.
        if failure.cause == FailureCause::NotServed
            && failures < UNANNOUNCED
            && self.work.steps.is_of_new_kind(at)
        {
            let why = "the API server does not show its kind yet".to_owned();
            self.report_step(at, State::Waiting, false, why);
        } else {
            let vain = backoff.in_vain.then_some(why.as_str());
            let step = self.work.steps.step(at);
            self.work.failures.failed(at, step, vain);
            self.report_step(at, State::Failed, backoff.in_vain, why);
        }
        let until = self.wake_after(backoff.wait, |until| RetryTarget::Step(at, until));
        let state = StepState::BackingOff { failures, until };
        self.work.steps.enter(at, state);
    }

    /// A step has backed off; it may have been queued earlier.
    pub(super) fn step_backed_off(&mut self, at: usize, since: Timestamp) {
        match self.work.steps.state(at) {
            StepState::BackingOff { until, .. } if until == since => self.work.steps.queue(at),
            _ => {}
        }
    }

    /// A watch saw a member.
    pub(super) fn seen(&mut self, id: &ObjectId, live: &Json) {
        let at = self.work.steps.of(id);
        let wanted = at.map(|at| &*self.work.steps.step(at).action);
        let member = Member::read(live, wanted, self.inventory.get(id));
        if at.is_none() && !member.applied_by_us {
            return self.seen_other(id, &member);
        }
        if !self.keep_newest(id, member) {
            return;
        }
        match at {
            Some(at) => self.examine(id, at),
            None => {
                self.work.removals.add(id);
                self.work.recount();
            }
        }
        self.stir(id);
    }

    /// An object carries our label, and neither did we apply it nor does the plan have it: it is left alone. A member
    /// that was there under its name is gone, or nothing shows any more that we applied it.
    fn seen_other(&mut self, id: &ObjectId, other: &Member) {
        let known = self.inventory.get(id);
        let Some(known) = known.filter(|known| other.is_newer(known)) else {
            return;
        };
        let status = match known.uid == other.uid {
            true => PruneStatus::Released,
            false => PruneStatus::Gone,
        };
        self.left(id, status);
    }

    /// A watch no longer sees an object with our label: it is gone, or lost the label.
    pub(super) fn gone(&mut self, id: &ObjectId) {
        match self.work.steps.of(id) {
            Some(at) => {
                self.inventory.remove(id);
                self.step_gone(at);
            }
            None if self.is_known(id) => self.confirm(id),
            None => return,
        }
        self.stir(id);
    }

    fn step_gone(&mut self, at: usize) {
        match self.work.steps.state(at) {
            StepState::Sending { .. } => self.work.steps.vanished_while_sending(at),
            StepState::WaitingForRemoval { .. } => self.work.steps.queue(at),
            _ if self.work.steps.is_applied(at) => {
                let why = "it was deleted, or lost the label that makes it part of the fleet";
                self.repair(at, why);
            }
            _ => {}
        }
    }

    /// Steps that wait for a deletion check again; so do the members that leave.
    pub(super) fn stir(&mut self, id: &ObjectId) {
        if !self.work.removals.is_empty() {
            self.work.removals.stir();
        }
        if is_root(id) {
            self.work.steps.queue_held();
        }
    }

    /// Examines the object of a step that was applied.
    fn examine(&mut self, id: &ObjectId, at: usize) {
        let sending = matches!(self.work.steps.state(at), StepState::Sending { .. });
        if sending || !self.work.steps.is_applied(at) {
            return;
        }
        let Some(member) = self.inventory.get(id) else {
            return;
        };
        match member.drift.to_repair().filter(|_| !member.deleting) {
            Some(why) => self.repair(at, &why),
            None => {
                let health = member.health.clone();
                if health.is_ready() {
                    self.work.steps.ready(at);
                }
                let object = self.work.steps.step(at).object.clone();
                self.report_health(&object, &health);
            }
        }
    }

    /// Applies a step again because others changed its object; backs off if that keeps happening.
    fn repair(&mut self, at: usize, why: &str) {
        if self.work.steps.state(at) != StepState::InSync {
            return;
        }
        let repairs = self.work.steps.repairs(at);
        let (wait, count) = (repairs.note(self.now), repairs.count());
        self.warn(Warning::Drift {
            object: ObjectId::clone(&self.work.steps.step(at).object),
            why: why.to_owned(),
        });
        match wait {
            None => {
                self.work.steps.queue(at);
                let why = format!("{why}; it is put right");
                self.report_step(at, State::Progressing, false, why);
            }
            Some(wait) => {
                let why = format!(
                    "{why}, for the {count}th time in ten minutes: two fight over it. It is put right in {} s; to leave it to the other, name it in the annotation capstan.dev/ignore",
                    wait.as_secs()
                );
                self.report_step(at, State::Failed, false, why);
                let until = self.wake_after(wait, |until| RetryTarget::Step(at, until));
                let failures = 0;
                let state = StepState::BackingOff { failures, until };
                self.work.steps.enter(at, state);
            }
        }
    }

    pub(super) fn report_step(&mut self, at: usize, state: State, terminal: bool, message: String) {
        let object = self.work.steps.step(at).object.clone();
        self.report_state(&object, state, terminal, message);
    }
}
