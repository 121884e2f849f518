//! Members that the plan no longer has: what becomes of each is `plan`'s to say; here it is done.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::super::request::with_timeout;
use super::super::rest::pause;
use super::{Done, RetryTarget, Runner};
use crate::adapters::kubernetes::Error;
use crate::api::labels;
use crate::apply::Kind;
use crate::apply::{self, PruneDecision, PruneInput, PruneStatus, Report};
use crate::health::Live;
use crate::model::ObjectId;

impl Runner {
    /// A member was seen that the plan lacks.
    pub(super) fn leaves(&mut self, id: &ObjectId) {
        if let Some(work) = &mut self.work {
            work.leaving.entry(id.clone()).or_insert(None);
            (work.stirred, work.recount) = (true, true);
        }
    }

    /// Goes on with those that leave: reads what they refer to, then lets go whom it is time for.
    pub(super) fn dismiss(&mut self) {
        self.dismiss_next();
        let all = self.knows_all();
        let Some(work) = self.work.as_mut().filter(|work| all && work.stirred) else {
            return;
        };
        if !(work.dismissals.is_empty() && work.dismissing.is_empty()) {
            return;
        }
        work.stirred = false;
        let unread = work.leaving.iter().filter(|(_, refers)| refers.is_none());
        let unread: Vec<ObjectId> = unread.map(|(id, _)| id.clone()).collect();
        if unread.is_empty() {
            return self.judge_leavers();
        }
        work.dismissing.extend(unread.iter().cloned());
        for id in unread {
            self.examine(&id);
        }
    }

    /// Reads a member that leaves.
    fn examine(&mut self, id: &ObjectId) {
        let Some((number, object_client)) = self.leaver(id) else {
            return;
        };
        let id = id.clone();
        self.jobs.spawn(async move {
            let answer = with_timeout(&id, object_client.read()).await;
            Done::Examined(number, id, Box::new(answer))
        });
    }

    fn leaver(&mut self, id: &ObjectId) -> Option<(u64, super::ObjectClient)> {
        let served = self.kinds.listed(id)?.clone();
        let number = self.work.as_ref()?.number();
        Some((number, self.object_client(id, &served)))
    }

    pub(super) fn examined(
        &mut self,
        number: u64,
        id: &ObjectId,
        answer: Result<Option<Json>, Error>,
    ) {
        self.of_work(number, |runner| {
            let Some(work) = &mut runner.work else { return };
            work.dismissing.remove(id);
            work.stirred = true;
            match answer {
                // A watch saw it go meanwhile, and that was confirmed.
                Ok(_) if !work.leaving.contains_key(id) => {}
                Ok(Some(live)) => {
                    let refers = apply::references(&[live]).remove(id);
                    work.leaving
                        .insert(id.clone(), Some(refers.unwrap_or_default()));
                }
                // The watch will say so, too.
                Ok(None) => drop(work.leaving.insert(id.clone(), Some(Vec::new()))),
                Err(error) => runner.leaver_failed(id, &error),
            }
        });
    }

    fn judge_leavers(&mut self) {
        let Some(work) = &self.work else { return };
        if work.leaving.is_empty() {
            return;
        }
        let refers = work.leaving.iter();
        let leaving: BTreeMap<ObjectId, Vec<ObjectId>> = refers
            .map(|(id, refers)| (id.clone(), refers.clone().unwrap_or_default()))
            .collect();
        let decisions = apply::prune(&PruneInput {
            members: &self.members,
            leaving: &leaving,
            steps: &work.steps,
            unapplied: &work.unapplied,
            needed: &work.assignment.plan.outside,
            guard: &work.guard,
        });
        for (id, decision) in decisions {
            self.meets(&id, decision);
        }
        self.dismiss_next();
    }

    fn meets(&mut self, id: &ObjectId, decision: PruneDecision) {
        let told = match decision {
            PruneDecision::Delete | PruneDecision::Orphan => {
                let Some(work) = &mut self.work else { return };
                let uid = self.members.get(id).map(|member| &member.uid);
                if work.dismissed.get(id) != uid {
                    work.dismissals
                        .push_back((id.clone(), decision == PruneDecision::Delete));
                }
                return;
            }
            PruneDecision::Going => PruneStatus::Deleting,
            PruneDecision::After(other) => PruneStatus::After(other),
            PruneDecision::Until(step) => PruneStatus::Until(step),
            PruneDecision::Held(why) => PruneStatus::Held(why),
        };
        self.tell_leaving(id, told);
    }

    /// Sends the next deletions and releases, as far as the concurrency allows.
    fn dismiss_next(&mut self) {
        loop {
            let Some(work) = &mut self.work else { return };
            if work.dismissing.len() >= self.options.concurrency.max(1) {
                return;
            }
            let Some((id, deletes)) = work.dismissals.pop_front() else {
                return;
            };
            let uid = self.members.get(&id).map(|member| member.uid.clone());
            let (Some(uid), Some((number, object_client))) = (uid, self.leaver(&id)) else {
                continue;
            };
            if let Some(work) = &mut self.work {
                work.dismissing.insert(id.clone());
                work.dismissed.insert(id.clone(), uid.clone());
            }
            tracing::info!(target: "capstan::step", object = %id, deletes, "no longer in the fleet");
            let set = self.options.set.id();
            self.jobs.spawn(async move {
                let answer = match deletes {
                    true => with_timeout(&id, object_client.delete(&uid)).await,
                    false => with_timeout(&id, object_client.release(&uid, &set)).await,
                };
                Done::Dismissed(number, id, deletes, Box::new(answer))
            });
        }
    }

    pub(super) fn dismissed(
        &mut self,
        number: u64,
        id: &ObjectId,
        deletes: bool,
        answer: Result<(), Error>,
    ) {
        self.of_work(number, |runner| {
            let Some(work) = &mut runner.work else { return };
            work.dismissing.remove(id);
            work.stirred = true;
            tracing::debug!(target: "capstan::step", object = %id, "answered");
            match answer {
                // A watch may have seen it go before this was answered.
                Ok(()) if deletes && work.leaving.contains_key(id) => {
                    runner.tell_leaving(id, PruneStatus::Deleting)
                }
                // A watch says when it has left.
                Ok(()) => {}
                Err(error) => {
                    work.dismissed.remove(id);
                    runner.leaver_failed(id, &error);
                }
            }
        });
    }

    fn leaver_failed(&mut self, id: &ObjectId, error: &Error) {
        if let Some(work) = &mut self.work {
            // Nobody else goes before it is known how this one fares.
            work.dismissing.insert(id.clone());
        }
        self.tell_leaving(id, PruneStatus::Failed(error.to_string()));
        self.rest(pause(error), RetryTarget::Leaver(id.clone()));
    }

    pub(super) fn leaver_rested(&mut self, id: &ObjectId) {
        if let Some(work) = &mut self.work {
            work.dismissing.remove(id);
            work.stirred = true;
        }
    }

    /// A list was told to its end: members that are not in it are gone, or were made since.
    pub(super) fn confirm_missing(&mut self, kind: &Kind, there: &BTreeSet<ObjectId>) {
        let of_kind = self.members.keys().filter(|id| id.is(&kind.0, &kind.2));
        let missing: Vec<ObjectId> = of_kind.filter(|id| !there.contains(*id)).cloned().collect();
        for id in missing {
            self.confirm(&id);
        }
    }

    /// Asks whether an object that a watch no longer sees is there.
    pub(super) fn confirm(&mut self, id: &ObjectId) {
        let Some(served) = self.kinds.listed(id) else {
            return;
        };
        let (object_client, id) = (self.object_client(id, served), id.clone());
        let uid = self.members.get(&id).map(|member| member.uid.clone());
        self.jobs.spawn(async move {
            let answer = with_timeout(&id, object_client.metadata()).await;
            Done::Confirmed(id, uid, Box::new(answer))
        });
    }

    /// Whether the object that had this uid is there was asked.
    pub(super) fn confirmed(
        &mut self,
        id: &ObjectId,
        uid: Option<&str>,
        answer: Result<Option<Json>, Error>,
    ) {
        let live = match answer {
            Ok(live) => live,
            Err(error) => return self.rest(pause(&error), RetryTarget::Gone(id.clone())),
        };
        if self.members.get(id).map(|member| member.uid.as_str()) != uid {
            // Another has come, and is known.
            return;
        }
        let same = live.as_ref().filter(|live| Some(Live(live).uid()) == uid);
        if same.is_some_and(|live| Live(live).label(labels::PART_OF) == self.options.set.id()) {
            // The watch was wrong, and will say so; or somebody has put our label back.
            if let Some(work) = &mut self.work {
                work.dismissed.remove(id);
                work.stirred = true;
            }
            return;
        }
        if self
            .work
            .as_ref()
            .is_some_and(|work| work.steps.contains_key(id))
        {
            return self.vanished(id);
        }
        let left = match same {
            Some(_) => PruneStatus::Released,
            None => PruneStatus::Gone,
        };
        self.left(id, left);
    }

    /// Nothing of its kind is in the cluster.
    pub(super) fn disappeared(&mut self, id: &ObjectId) {
        if self
            .work
            .as_ref()
            .is_some_and(|work| work.steps.contains_key(id))
        {
            return self.vanished(id);
        }
        self.left(id, PruneStatus::Gone);
    }

    fn left(&mut self, id: &ObjectId, left: PruneStatus) {
        self.members.remove(id);
        let leaver = self.work.as_mut().is_some_and(|work| {
            (work.stirred, work.recount) = (true, true);
            work.dismissed.remove(id);
            work.leaving.remove(id).is_some()
        });
        if leaver {
            self.tell_leaving(id, left);
        }
        self.stir(id);
    }

    fn tell_leaving(&mut self, id: &ObjectId, leaving: PruneStatus) {
        let Some(work) = &mut self.work else { return };
        if work.told.insert(id.clone(), leaving.clone()).as_ref() != Some(&leaving) {
            self.report(Report::Prune(id.clone(), leaving));
        }
    }
}
