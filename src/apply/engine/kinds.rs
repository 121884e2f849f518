//! Kinds: found, listed, lost; those of members, and those of embedded resources.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::super::backoff::backoff;
use super::super::event::{Command, Failure, FailureCause, GroupKind, Interruption};
use super::super::event::{RetryTarget, Warning, WatchScope};
use super::super::kinds::KindState;
use super::super::{Kind, Report, State};
use super::{EarlierKind, Engine};
use crate::health::health;
use crate::model::{ErrorClass, ObjectId};

/// Any object of a kind, as an example for discovery.
fn example(group: &str, kind: &str) -> ObjectId {
    ObjectId::new(group, kind, "", "")
}

impl Engine {
    /// Asks how the cluster serves `kind`, unless that is known or was asked.
    pub(super) fn find(&mut self, kind: &Kind, example: &ObjectId) {
        if matches!(self.kinds.state(kind), None | Some(KindState::Unserved)) {
            self.kinds.enter(kind, KindState::Asked);
            self.discover(kind, example, false);
        }
    }

    fn discover(&mut self, kind: &Kind, example: &ObjectId, refresh: bool) {
        self.command(Command::Discover {
            kind: kind.clone(),
            example: example.clone(),
            refresh,
        });
    }

    pub(super) fn kind_served(&mut self, kind: &Kind, answer: Result<bool, Failure>) {
        self.embedded_served(kind, &answer);
        if self.kinds.state(kind) != Some(KindState::Asked) {
            return;
        }
        match answer {
            Ok(namespaced) => {
                self.work.steps.locate(kind, namespaced);
                self.kinds.enter(kind, KindState::Listing { namespaced });
                self.command(Command::Watch(WatchScope::Members, kind.clone()));
            }
            Err(failure) => {
                self.kinds.enter(kind, KindState::Unserved);
                for at in self.work.steps.waiting_for(kind) {
                    self.step_failed(at, &failure);
                }
                self.earlier_unserved(kind, &failure);
                self.members_unserved(kind, &failure);
            }
        }
    }

    /// All members of a kind were seen.
    pub(super) fn listed(&mut self, kind: &Kind, there: &BTreeSet<ObjectId>) {
        if let Some(KindState::Listing { namespaced }) = self.kinds.state(kind) {
            self.kinds.enter(kind, KindState::Listed { namespaced });
        }
        self.can_see(&(kind.0.clone(), kind.2.clone()));
        self.confirm_missing(kind, there);
        for at in self.work.steps.waiting_for(kind) {
            self.work.steps.queue(at);
        }
        self.work.removals.stir();
    }

    /// Steps whose kind cannot be listed report why, and keep waiting.
    pub(super) fn interrupted(&mut self, kind: &Kind, interruption: &Interruption) {
        match interruption.denied {
            true => self.report(Report::Denied),
            false if self.kinds.is_listed(kind) => {}
            false => self.cannot_see((kind.0.clone(), kind.2.clone()), &interruption.why),
        }
        for at in self.work.steps.waiting_for(kind) {
            let why = format!("its kind cannot be watched: {}", interruption.why);
            self.report_step(at, State::Failed, interruption.denied, why);
        }
    }

    /// Reports that the objects of a kind cannot be seen, once for each reason.
    fn cannot_see(&mut self, kind: GroupKind, why: &str) {
        let old = self.unseen.insert(kind.clone(), why.to_owned());
        if old.as_deref() != Some(why) {
            self.report(Report::Unseen(kind, Some(why.to_owned())));
        }
    }

    /// Reports that the objects of a kind are seen again.
    fn can_see(&mut self, kind: &GroupKind) {
        if self.unseen.remove(kind).is_some() {
            self.report(Report::Unseen(kind.clone(), None));
        }
    }

    /// Reports to a new assignment which kinds cannot be seen.
    pub(super) fn report_unseen(&mut self) {
        for (kind, why) in self.unseen.clone() {
            self.report(Report::Unseen(kind, Some(why)));
        }
    }

    /// The cluster does not serve a kind any more, or is just being started.
    pub(super) fn lost(&mut self, kind: Kind) {
        self.kinds.enter(&kind, KindState::Lost);
        let wait = backoff(ErrorClass::Gone, 4, None).wait;
        self.wake_after(wait, |_| RetryTarget::LostKind(kind));
    }

    pub(super) fn find_again(&mut self, kind: &Kind) {
        self.kinds.enter(kind, KindState::Asked);
        self.discover(kind, &example(&kind.0, &kind.2), true);
    }

    /// The cluster did not answer how it serves a kind that was watched before, so it is asked again. If
    /// the kind is not served, its objects are gone.
    fn members_unserved(&mut self, kind: &Kind, failure: &Failure) {
        let mut members = self.inventory.keys();
        if failure.cause != FailureCause::NotServed {
            if members.any(|id| id.is(&kind.0, &kind.2)) {
                self.lost(kind.clone());
            }
            return;
        }
        // At another version it may be served, and its objects known.
        if self.kinds.listed(&example(&kind.0, &kind.2)).is_some() {
            return;
        }
        let gone = members.filter(|id| id.is(&kind.0, &kind.2));
        let gone: Vec<ObjectId> = gone.cloned().collect();
        for id in gone {
            self.disappeared(&id);
        }
    }

    /// Finds out at which version a kind is served that the set had members of.
    pub(super) fn find_earlier(&mut self, kind: GroupKind) {
        match self.work.earlier.get(&kind) {
            Some(EarlierKind::At(at)) => {
                let at = at.clone();
                self.find(&at, &example(&kind.0, &kind.1));
            }
            _ => self.command(Command::FindVersion(self.number(), kind)),
        }
    }

    pub(super) fn version_found(
        &mut self,
        kind: &GroupKind,
        answer: Result<Option<String>, Failure>,
    ) {
        let earlier = match answer {
            Ok(Some(version)) => {
                let at = (kind.0.clone(), version, kind.1.clone());
                self.find(&at, &example(&kind.0, &kind.1));
                EarlierKind::At(at)
            }
            Ok(None) => {
                self.can_see(kind);
                self.work.removals.stir();
                EarlierKind::Unserved
            }
            Err(failure) => {
                self.cannot_see(kind.clone(), &failure.message);
                return self.retry(&failure, RetryTarget::EarlierKind(kind.clone()));
            }
        };
        self.work.earlier.insert(kind.clone(), earlier);
    }

    /// The cluster did not answer how it serves a kind: if there may be earlier members of it, it is
    /// asked again.
    fn earlier_unserved(&mut self, kind: &Kind, failure: &Failure) {
        let key = (kind.0.clone(), kind.2.clone());
        let Some(earlier) = self.work.earlier.get_mut(&key) else {
            return;
        };
        if matches!(earlier, EarlierKind::At(at) if at == kind) {
            if failure.cause == FailureCause::NotServed {
                *earlier = EarlierKind::Asked;
            }
            self.retry(failure, RetryTarget::EarlierKind(key.clone()));
            if failure.cause != FailureCause::NotServed {
                self.cannot_see(key, &failure.message);
            }
        }
    }

    /// The definitions of custom kinds show when a missing kind may have appeared.
    pub(super) fn watch_definitions(&mut self) {
        if self.kinds.watch_definitions() {
            self.command(Command::WatchDefinitions);
        }
    }

    /// The definition of a kind in `group` appeared or changed: what failed without it is tried
    /// again.
    pub(super) fn defined(&mut self, group: &str) {
        self.work.steps.forgive(group);
        for (kind, example) in self.work.embedded.missing(group) {
            self.discover(&kind, &example, false);
        }
    }

    /// Finds out how the cluster serves the kinds of embedded resources.
    pub(super) fn find_all_embedded(&mut self) {
        for (kind, example) in self.work.embedded.kinds() {
            if !self.kinds.is_embedded(&kind) {
                self.discover(&kind, &example, false);
            }
        }
    }

    pub(super) fn find_embedded(&mut self, kind: &Kind) {
        let mut kinds = self.work.embedded.kinds().into_iter();
        if let Some((_, example)) = kinds.find(|(known, _)| known == kind) {
            self.discover(kind, &example, false);
        }
    }

    /// An embedded kind is watched once the cluster serves it. Its resources carry no label of ours, so
    /// all objects of the kind are watched and the others ignored.
    fn embedded_served(&mut self, kind: &Kind, answer: &Result<bool, Failure>) {
        if !self.work.embedded.has(kind) || self.kinds.is_embedded(kind) {
            return;
        }
        let is_new = self.work.embedded.served(kind, answer.is_ok());
        match answer {
            Ok(_) => {
                self.kinds.watch_embedded(kind);
                self.command(Command::Watch(WatchScope::Embedded, kind.clone()));
                if is_new {
                    self.report_kind(kind, State::Waiting, "");
                }
            }
            Err(failure) if failure.class == ErrorClass::Transient => {
                let failures = self.work.embedded.failed(kind);
                let wait = backoff(failure.class, failures, failure.retry_after).wait;
                self.wake_after(wait, |_| RetryTarget::EmbeddedKind(kind.clone()));
            }
            Err(failure) => {
                if is_new {
                    let why = failure.to_string();
                    self.warn(Warning::Unseen { why });
                }
                self.watch_definitions();
                self.report_kind(kind, State::Failed, &failure.message);
            }
        }
    }

    /// We may not see the embedded resources of a kind, or never did: that is reported, since it may last.
    pub(super) fn embedded_interrupted(&mut self, kind: &Kind, interruption: &Interruption) {
        let is_new = self.work.embedded.has(kind) && !self.kinds.is_embedded_listed(kind);
        if is_new && !interruption.denied {
            self.cannot_see((kind.0.clone(), kind.2.clone()), &interruption.why);
        }
        if interruption.denied && self.work.embedded.served(kind, false) {
            self.report(Report::Denied);
            let why = format!("its progress cannot be seen: {}", interruption.why);
            self.report_kind(kind, State::Failed, &why);
        }
    }

    /// The embedded resources of a kind were listed; missing ones are waited for again.
    pub(super) fn embedded_listed(&mut self, kind: &Kind) {
        self.kinds.list_embedded(kind);
        self.can_see(&(kind.0.clone(), kind.2.clone()));
        if self.work.embedded.served(kind, true) {
            self.report_kind(kind, State::Waiting, "");
            self.report_embedded();
        }
    }

    /// A watch saw an embedded resource, or no longer sees it.
    pub(super) fn embedded_seen(&mut self, id: &ObjectId, live: Option<&Json>) {
        match live {
            Some(live) => drop(self.embedded.insert(id.clone(), health(live))),
            None => drop(self.embedded.remove(id)),
        }
        if !self.is_embedded(id) {
            return;
        }
        match self.embedded.get(id).cloned() {
            Some(health) => self.report_health(id, &health),
            None => self.report_state(id, State::Progressing, false, "it was deleted".to_owned()),
        }
    }

    /// Whether it is an embedded resource of the plan.
    fn is_embedded(&self, id: &ObjectId) -> bool {
        self.work.embedded.contains(id) && self.work.steps.of(id).is_none()
    }

    /// Reports every embedded resource that exists.
    pub(super) fn report_embedded(&mut self) {
        let all = self.embedded.iter().filter(|(id, _)| self.is_embedded(id));
        let all: Vec<_> = all
            .map(|(id, health)| (id.clone(), health.clone()))
            .collect();
        for (id, health) in all {
            self.report_health(&id, &health);
        }
    }

    fn report_kind(&mut self, kind: &Kind, state: State, message: &str) {
        for id in self.work.embedded.of(kind) {
            self.report_state(&id, state, false, message.to_owned());
        }
    }
}
