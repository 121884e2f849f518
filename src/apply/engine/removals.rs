//! Members that the plan no longer has: `prune` decides about each; the requests are made here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::super::event::{Command, Failure, Removal, RetryTarget};
use super::super::prune::{self, LeftBehind, PruneDecision, PruneInput};
use super::super::removals::{RemovalState, Traits};
use super::super::{Kind, PruneStatus, Report, is_member};
use super::renames::unapproved_renames;
use super::{Engine, Work};
use crate::api::labels;
use crate::api::platform::is_root;
use crate::health::Live;
use crate::model::ObjectId;
use crate::plan::losses::Likeness;

/// What is said of an object before its finalizers are known.
const BEING_DELETED: &str = "being deleted";

/// How long a removal that lacked rights waits at most. There may be many.
const RIGHTS_TO_REMOVE: Duration = Duration::from_secs(30);

impl Engine {
    /// Continues with the members that leave: reads what they refer to, then removes those whose turn it is.
    pub(super) fn prune(&mut self) {
        self.remove_next();
        let can_judge = self.knows_all() && self.knows_approvals();
        if !can_judge || !self.work.removals.begin_round() {
            return;
        }
        let unread = self.work.removals.unread();
        if unread.is_empty() {
            return self.judge();
        }
        for id in unread {
            if let Some(kind) = self.kinds.listed(&id).cloned() {
                self.work.removals.enter(&id, RemovalState::Reading);
                self.command(Command::Read(self.number(), id, kind));
            }
        }
    }

    pub(super) fn removal_read(&mut self, id: &ObjectId, answer: Result<Option<Json>, Failure>) {
        // A watch saw it go meanwhile, and that was confirmed.
        if !self.work.removals.ended(id) {
            return;
        }
        match answer {
            Ok(Some(live)) => {
                let likeness = Likeness::of(&live);
                let refers = prune::references(&[live]).remove(id);
                let refers = refers.unwrap_or_default();
                self.work.removals.read(id, Traits { refers, likeness });
            }
            // The watch will report it, too.
            Ok(None) => self.work.removals.read(id, Traits::default()),
            Err(failure) => self.removal_failed(id, &failure),
        }
    }

    /// Decides about the members that leave.
    fn judge(&mut self) {
        if self.work.removals.is_empty() {
            return self.hold(BTreeMap::new());
        }
        let renamed = self.renamed();
        let work = &self.work;
        let unapplied = self.unapplied_but_held();
        let decisions = prune::prune(&PruneInput {
            members: &self.inventory,
            leaving: &work.removals.references(),
            steps: work.steps.by_object(),
            unapplied: &unapplied,
            needed: &work.assignment.plan.outside,
            renamed: &renamed,
            guard: &work.guard,
        });
        self.hold(unapproved_renames(&decisions, &renamed));
        for (id, decision) in decisions {
            match decision {
                PruneDecision::Delete => self.queue_removal(&id, Removal::Delete),
                PruneDecision::Orphan => self.queue_removal(&id, Removal::Release),
                PruneDecision::Going => {
                    let held = self.inventory.get(&id).map(|member| member.held.clone());
                    let held = held.unwrap_or_default();
                    self.report_removal(&id, PruneStatus::Deleting(held));
                }
                PruneDecision::After(other) => self.report_removal(&id, PruneStatus::After(other)),
                PruneDecision::ReleaseAfter(other) => {
                    self.report_removal(&id, PruneStatus::ReleaseAfter(other));
                }
                PruneDecision::Until(step) => self.report_removal(&id, PruneStatus::Until(step)),
                PruneDecision::Unapproved(loss) => {
                    self.report_removal(&id, PruneStatus::Unapproved(loss));
                }
                PruneDecision::Held(why) => self.report_removal(&id, PruneStatus::Held(why)),
            }
        }
        self.remove_next();
    }

    /// Takes in what the assignment before kept, or had left behind itself, and this one does not have either.
    pub(super) fn leave_behind(&mut self, before: Work) {
        let kept: Vec<ObjectId> = before.removals.held().map(|(id, _)| id.clone()).collect();
        let steps = &self.work.steps;
        let mut left_behind = before.guard.left_behind;
        left_behind.add(kept.into_iter());
        if let LeftBehind::These(known) = &mut left_behind {
            known.retain(|id| steps.of(id).is_none());
        }
        self.work.guard.left_behind = left_behind;
    }

    /// Queues a removal, unless the cluster has already accepted it for the same object.
    fn queue_removal(&mut self, id: &ObjectId, removal: Removal) {
        let member = self.inventory.get(id).map(|member| &member.uid);
        match self.work.removals.state(id) {
            Some(RemovalState::Accepted { uid }) if Some(uid) == member => {}
            _ => self.work.removals.enter(id, RemovalState::Queued(removal)),
        }
    }

    /// Sends the next deletions and releases, as far as the concurrency allows.
    fn remove_next(&mut self) {
        while self.work.removals.busy() < self.settings.concurrency.max(1) {
            let Some((object, removal)) = self.work.removals.next() else {
                return;
            };
            let uid = self.inventory.get(&object).map(|member| member.uid.clone());
            let kind = self.kinds.listed(&object).cloned();
            if let (Some(uid), Some(kind)) = (uid, kind) {
                let state = RemovalState::Removing { uid: uid.clone() };
                self.work.removals.enter(&object, state);
                if is_root(&object) {
                    self.work.guard.begun.insert(object.clone());
                }
                self.command(Command::Remove {
                    number: self.number(),
                    object,
                    kind,
                    uid,
                    removal,
                });
            }
        }
    }

    pub(super) fn removed(&mut self, id: &ObjectId, answer: Result<Removal, Failure>) {
        let uid = match self.work.removals.state(id) {
            Some(RemovalState::Removing { uid }) => uid.clone(),
            _ => String::new(),
        };
        // A watch may have seen it go before this was answered.
        if !self.work.removals.ended(id) {
            return;
        }
        match answer {
            // A watch reports when it is gone.
            Ok(removal) => {
                self.work.removals.enter(id, RemovalState::Accepted { uid });
                if removal == Removal::Delete {
                    let held = BEING_DELETED.to_owned();
                    self.report_removal(id, PruneStatus::Deleting(held));
                }
            }
            Err(failure) => self.removal_failed(id, &failure),
        }
    }

    /// Reports a member that could not be read or removed. No other member is judged before the
    /// state of this one is known.
    fn removal_failed(&mut self, id: &ObjectId, failure: &Failure) {
        self.report_removal(id, PruneStatus::Failed(failure.to_string()));
        let target = |until| RetryTarget::Removal(id.clone(), until);
        let wait = failure.at_most(RIGHTS_TO_REMOVE, failure.pause());
        let until = self.wake_after(wait, target);
        let state = RemovalState::BackingOff { until };
        self.work.removals.enter(id, state);
    }

    pub(super) fn removal_backed_off(&mut self, id: &ObjectId, since: Timestamp) {
        let ended = match self.work.removals.state(id) {
            Some(RemovalState::BackingOff { until }) => *until == since,
            Some(RemovalState::Left { .. }) => true,
            _ => false,
        };
        if ended {
            self.work.removals.ended(id);
        }
    }

    /// All objects of a kind were seen: members that are not among them are gone, or were created since.
    pub(super) fn confirm_missing(&mut self, kind: &Kind, there: &BTreeSet<ObjectId>) {
        let of_kind = |id: &&ObjectId| id.is(&kind.0, &kind.2) && !there.contains(*id);
        let missing: Vec<ObjectId> = self.inventory.keys().filter(of_kind).cloned().collect();
        for id in missing {
            self.confirm(&id);
        }
    }

    /// Asks whether an object that a watch no longer sees still exists.
    pub(super) fn confirm(&mut self, id: &ObjectId) {
        if let Some(kind) = self.kinds.listed(id).cloned() {
            let uid = self.inventory.get(id).map(|member| member.uid.clone());
            self.command(Command::Confirm(id.clone(), kind, uid));
        }
    }

    /// The answer whether the object with this uid exists.
    pub(super) fn confirmed(
        &mut self,
        id: &ObjectId,
        uid: Option<&str>,
        answer: Result<Option<Json>, Failure>,
    ) {
        let live = match answer {
            Ok(live) => live,
            Err(failure) => {
                let target = RetryTarget::Confirmation(id.clone());
                return self.retry(&failure, target);
            }
        };
        if self.inventory.get(id).map(|member| member.uid.as_str()) != uid {
            // It was replaced by another object, which is known.
            return;
        }
        let same = live.as_ref().filter(|live| Some(Live(live).uid()) == uid);
        let set = self.settings.set.id();
        let is_planned = self.work.steps.of(id).is_some();
        let is_there = |live: &Json| match is_planned {
            true => Live(live).label(labels::PART_OF) == set,
            false => is_member(live, &set),
        };
        if same.is_some_and(is_there) {
            // The watch was wrong and will correct itself, or our label was put back.
            self.work.removals.doubt(id);
        } else if same.is_some() && !is_planned {
            self.left(id, PruneStatus::Released);
        } else {
            self.disappeared(id);
        }
    }

    /// It is not in the cluster any more, or is not a member.
    pub(super) fn disappeared(&mut self, id: &ObjectId) {
        match self.work.steps.of(id) {
            Some(_) => self.gone(id),
            None => self.left(id, PruneStatus::Gone),
        }
    }

    /// Returns true if an object is, or was just now, a member that leaves.
    pub(super) fn is_known(&self, id: &ObjectId) -> bool {
        self.inventory.contains_key(id) || self.work.removals.state(id).is_some()
    }

    /// An object is not a member any more.
    pub(super) fn left(&mut self, id: &ObjectId, status: PruneStatus) {
        self.inventory.remove(id);
        self.work.recount();
        if self.work.removals.left(id) {
            self.report_removal(id, status);
        }
        self.stir(id);
    }

    fn report_removal(&mut self, id: &ObjectId, status: PruneStatus) {
        if self.work.removals.report(id, &status) {
            self.report(Report::Prune(id.clone(), status));
        }
    }
}
