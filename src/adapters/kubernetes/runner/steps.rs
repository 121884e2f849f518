//! Steps: begun, sent, watched, put right.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::identity;
use super::super::request::{ApplyPrecondition, with_timeout};
use super::super::rest::rest;
use super::kinds::Known;
use super::work::{Work, cluster};
use super::{Done, RetryTarget, Runner};
use crate::adapters::kubernetes::Error;
use crate::api::kinds::CAPI;
use crate::apply::Kind;
use crate::apply::{Drift, DriftState, Member, Progress, State};
use crate::health::health;
use crate::model::{Health, ObjectId};
use crate::plan;
use serde_json::Value as Json;

impl Runner {
    /// Begins every step that may, as far as the concurrency allows.
    pub(super) fn begin_steps(&mut self) {
        loop {
            let Some(work) = self.work.as_mut().filter(|work| work.parent.is_some()) else {
                return;
            };
            if work.sent.len() >= self.options.concurrency.max(1) {
                return;
            }
            let Some(at) = work.queue.pop_first().or_else(|| work.execution.start()) else {
                return;
            };
            self.begin(at);
        }
    }

    fn begin(&mut self, at: usize) {
        let Some(work) = &mut self.work else { return };
        let kind = work.kind(at);
        match self.kinds.known(&kind) {
            Some(Known::Listed(_)) => self.decide(at),
            Some(Known::Listing(_) | Known::Asked | Known::Lost) => {
                work.parked.entry(kind).or_default().insert(at);
            }
            Some(Known::Unserved) | None => {
                let id = work.keys[at].clone();
                work.parked.entry(kind.clone()).or_default().insert(at);
                self.find(kind, &id);
            }
        }
    }

    /// The steps that waited for a kind.
    pub(super) fn unpark(&mut self, kind: &Kind) -> BTreeSet<usize> {
        let work = self.work.as_mut();
        work.and_then(|work| work.parked.remove(kind))
            .unwrap_or_default()
    }

    /// The cluster has its own idea of where the objects of a kind are.
    pub(super) fn locate(&mut self, kind: &Kind, namespaced: bool) {
        let Some(work) = &mut self.work else { return };
        for at in 0..work.keys.len() {
            let key = &work.keys[at];
            if work.kind(at) != *kind || key.namespace.is_empty() != namespaced {
                continue;
            }
            let namespace = if namespaced { "default" } else { "" };
            let key = ObjectId::new(&*key.group, &*key.kind, namespace, &*key.name);
            let before = std::mem::replace(&mut work.keys[at], key.clone());
            work.unapplied
                .remove(&before)
                .map(|cluster| work.unapplied.insert(key.clone(), cluster));
            work.steps.insert(key, at);
        }
    }

    /// A step whose turn has come, and whose object is known if it is a member.
    fn decide(&mut self, at: usize) {
        let going = self.going(at);
        let Some(work) = &mut self.work else { return };
        if let Some(going) = going {
            work.held.insert(at);
            let why = format!("{going} is being deleted; it is applied again once that is gone");
            return self.tell_step(at, State::Waiting, false, why);
        }
        let member = self.members.get(&work.keys[at]);
        match member {
            Some(member) if member.drift == DriftState::InSync => self.stands(at),
            member => {
                // What was refused may have been deleted, or made anew: then it is looked for.
                let refused = work.failures.get(&at).is_some_and(|count| *count > 0);
                // Also when somebody wrote over the annotation that says so.
                let was_applied = work.execution.is_applied(at);
                let drifted =
                    |member: &Member| was_applied || matches!(member.drift, DriftState::Drifted(_));
                let drifted = member.is_some_and(drifted);
                let looks = !drifted && plan::is_looked_at(&work.keys[at]);
                let known = ApplyPrecondition {
                    drifted,
                    gate: looks.then_some(work.guard.unchanged && member.is_some()),
                    uid: member.filter(|_| !refused).map(|member| member.uid.clone()),
                };
                self.send(at, known);
            }
        }
    }

    /// What is being deleted that a step must wait for: its object, or the cluster that is part of.
    fn going(&self, at: usize) -> Option<ObjectId> {
        let work = self.work.as_ref()?;
        let key = &work.keys[at];
        let root = ObjectId::new(CAPI, "Cluster", &*key.namespace, cluster(work.step(at)));
        let is_going = |id: &&ObjectId| self.members.get(*id).is_some_and(|member| member.deleting);
        [key, &root].into_iter().find(is_going).cloned()
    }

    fn send(&mut self, at: usize, known: ApplyPrecondition) {
        let Some(work) = &mut self.work else { return };
        let Some(Known::Listed(served)) = self.kinds.known(&work.kind(at)).cloned() else {
            return;
        };
        work.sent.insert(at);
        let (number, plan, id) = (
            work.number(),
            Arc::clone(&work.assignment.plan),
            work.keys[at].clone(),
        );
        tracing::debug!(target: "capstan::step", object = %id, "applying");
        let (object_client, set) = (self.object_client(&id, &served), self.options.set.id());
        let discovery = self.discovery.clone();
        self.jobs.spawn(async move {
            let step = &plan.steps[at];
            let apply = async {
                identity::check(&object_client.client, &discovery, step, &[]).await?;
                object_client.apply(step, &set, known).await
            };
            Done::Answered(number, at, Box::new(with_timeout(&id, apply).await))
        });
    }

    pub(super) fn answered(&mut self, number: u64, at: usize, answer: Result<Json, Error>) {
        let Some(work) = self.work.as_mut().filter(|work| work.number() == number) else {
            // What it says comes by the watch, too.
            return;
        };
        work.sent.remove(&at);
        let vanished = work.vanished.remove(&at);
        let key = work.keys[at].clone();
        tracing::debug!(target: "capstan::step", object = %key, "answered");
        match answer {
            // A watch saw it go meanwhile, or the one before it: nobody can tell but the cluster.
            Ok(_) if vanished && !self.members.contains_key(&key) => {
                work.queue.insert(at);
            }
            Ok(live) => {
                let member = Member::answered(&live, &work.step(at).action);
                self.keep(&key, member);
                self.stands(at);
            }
            Err(error) => self.failed(at, &error),
        }
    }

    /// Keeps the newest that is known of a member.
    fn keep(&mut self, id: &ObjectId, member: Member) {
        let known = self.members.get(id);
        if known.is_none_or(|known| member.is_newer(known)) {
            self.members.insert(id.clone(), member);
        }
    }

    /// The object is as it was asked for.
    fn stands(&mut self, at: usize) {
        let Some(work) = &mut self.work else { return };
        let key = work.keys[at].clone();
        let first = !work.execution.is_applied(at);
        work.unapplied.remove(&key);
        work.failures.remove(&at);
        work.execution.applied(at);
        work.stirred = true;
        if first {
            self.tell_step(at, State::Applied, false, String::new());
        }
        self.look(&key, at);
    }

    /// Reports a failed step and lets it rest.
    pub(super) fn failed(&mut self, at: usize, error: &Error) {
        if matches!(error, Error::NotServed { .. }) {
            self.watch_definitions();
        }
        let Some(work) = &mut self.work else { return };
        if error.is_held() {
            work.execution.stayed(at);
        }
        let failures = work.failures.entry(at).or_insert(0);
        *failures = failures.saturating_add(1);
        let failures = *failures;
        let rest = rest(error.class(), failures, error.retry_after());
        let why = error.of(&work.keys[at]);
        self.tell_step(at, State::Failed, rest.in_vain, why);
        self.rest(rest.wait, RetryTarget::Step(at, failures));
    }

    /// A step has rested; it may have been woken earlier.
    pub(super) fn step_rested(&mut self, at: usize, failures: u32) {
        let Some(work) = &mut self.work else { return };
        let rests = work.failures.get(&at).copied().unwrap_or_default() == failures;
        if rests && !work.sent.contains(&at) {
            work.queue.insert(at);
        }
    }

    /// A watch saw a member.
    pub(super) fn observed(&mut self, id: &ObjectId, live: &Json) {
        let at = self
            .work
            .as_ref()
            .and_then(|work| work.steps.get(id).copied());
        let wanted = at.and_then(|at| self.work.as_ref().map(|work| &work.step(at).action));
        let before = self.members.get(id);
        let member = Member::read(live, wanted, before);
        if before.is_some_and(|before| !member.is_newer(before)) {
            return;
        }
        self.members.insert(id.clone(), member);
        match at {
            Some(at) => self.look(id, at),
            None => self.leaves(id),
        }
        self.stir(id);
    }

    /// A watch no longer sees a member: it is gone, or lost our label.
    pub(super) fn vanished(&mut self, id: &ObjectId) {
        match self
            .work
            .as_ref()
            .and_then(|work| work.steps.get(id).copied())
        {
            Some(at) => {
                self.members.remove(id);
                let Some(work) = &mut self.work else { return };
                if work.sent.contains(&at) {
                    work.vanished.insert(at);
                } else if work.held.remove(&at) {
                    work.queue.insert(at);
                } else if work.execution.is_applied(at) {
                    let why = "it was deleted, or lost the label that makes it part of the fleet";
                    self.repair(at, why);
                }
            }
            None => self.confirm(id),
        }
        self.stir(id);
    }

    /// What waits for a deletion looks again; so do those that leave.
    pub(super) fn stir(&mut self, id: &ObjectId) {
        let Some(work) = &mut self.work else { return };
        work.stirred |= !work.leaving.is_empty();
        if id.is(CAPI, "Cluster") {
            let held = std::mem::take(&mut work.held);
            work.queue.extend(held);
        }
    }

    /// Looks at the object of a step that was applied.
    fn look(&mut self, id: &ObjectId, at: usize) {
        let Some(work) = &mut self.work else { return };
        if work.sent.contains(&at) || !work.execution.is_applied(at) {
            return;
        }
        let Some(member) = self.members.get(id) else {
            return;
        };
        let (health, deleting) = (member.health.clone(), member.deleting);
        match &member.drift {
            _ if deleting => self.judged(at, &health),
            DriftState::InSync => self.judged(at, &health),
            DriftState::Drifted(drift) => {
                let why = drift.to_string();
                self.repair(at, &why);
            }
            DriftState::Outdated => {
                let why = Drift::default().to_string();
                self.repair(at, &why);
            }
        }
    }

    fn judged(&mut self, at: usize, health: &Health) {
        let Some(work) = &mut self.work else { return };
        if health.is_ready() {
            work.execution.ready(at);
        }
        let progress = Progress::of(self.target.clock.now(), &work.step(at).object, health);
        self.progress(progress);
    }

    /// Applies a step again whose object somebody changed; when that happens again and again, later.
    fn repair(&mut self, at: usize, why: &str) {
        let Some(work) = &mut self.work else { return };
        if work.sent.contains(&at) || work.failures.contains_key(&at) || work.queue.contains(&at) {
            return;
        }
        let now = self.target.clock.now();
        let repairs = work.repairs.entry(at).or_default();
        let rest = repairs.note(now);
        let count = repairs.count();
        let object = work.step(at).object.clone();
        tracing::warn!(%object, why, "drift");
        match rest {
            None => {
                work.queue.insert(at);
                self.tell_step(
                    at,
                    State::Progressing,
                    false,
                    format!("{why}; it is put right"),
                );
            }
            Some(wait) => {
                work.failures.insert(at, 0);
                let why = format!(
                    "{why}, for the {count}th time in ten minutes: two fight over it. It is put right in {} s; to leave it to the other, name it in the annotation capstan.dev/ignore",
                    wait.as_secs()
                );
                self.tell_step(at, State::Failed, false, why);
                self.rest(wait, RetryTarget::Step(at, 0));
            }
        }
    }

    /// A watch saw a resource that controllers made, or no longer sees it.
    pub(super) fn made_seen(&mut self, id: &ObjectId, live: Option<&Json>) {
        match live {
            Some(live) => drop(self.made.insert(id.clone(), health(live))),
            None => drop(self.made.remove(id)),
        }
        let ours = |work: &Work| work.embedded.contains(id) && !work.steps.contains_key(id);
        if !self.work.as_ref().is_some_and(ours) {
            return;
        }
        match self.made.get(id) {
            Some(health) => self.progress(Progress::of(self.target.clock.now(), id, health)),
            None => self.tell(id, State::Progressing, false, "it was deleted".to_owned()),
        }
    }

    /// Tells of every resource that was there before the assignment came.
    pub(super) fn tell_made(&self) {
        let Some(work) = &self.work else { return };
        for (id, health) in &self.made {
            if work.embedded.contains(id) && !work.steps.contains_key(id) {
                self.progress(Progress::of(self.target.clock.now(), id, health));
            }
        }
    }

    pub(super) fn tell_embedded(&self, kind: &Kind, state: State, message: &str) {
        let Some(work) = &self.work else { return };
        for id in work.embedded.of(kind) {
            self.tell(&id, state, false, message.to_owned());
        }
    }

    pub(super) fn tell_step(&self, at: usize, state: State, terminal: bool, message: String) {
        if let Some(work) = &self.work {
            self.tell(&work.step(at).object, state, terminal, message);
        }
    }

    fn tell(&self, id: &ObjectId, state: State, terminal: bool, message: String) {
        self.progress(Progress {
            at: self.target.clock.now(),
            object: id.clone(),
            state,
            terminal,
            message,
        });
    }
}
