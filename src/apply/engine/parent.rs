//! The parent: opened before the first step, written when an assignment was carried out, or cannot be.

use sha2::{Digest as _, Sha256};

use super::super::backoff::backoff;
use super::super::event::{Command, Failure, RIGHTS, RetryTarget};
use super::super::parent_state::{Known, Opening, ParentState};
use super::super::{Kind, LeftBehind, Members, Parent, Reason, Reasons, Report, Suspension};
use super::failures::reason;
use super::{EarlierKind, Ending, Engine};
use crate::model::{ErrorClass, ObjectId, hex};
use crate::plan::Plan;

/// The namespace of an object that names none, until it is known whether its kind is in namespaces.
const ASSUMED: &str = "default";

impl Engine {
    /// The content of the parent while the assignment is under way.
    fn opening(&self) -> Parent {
        let (assignment, steps) = (&self.work.assignment, &self.work.steps);
        let kinds = steps
            .objects()
            .map(|id| (id.group.clone(), id.kind.clone()));
        let namespaces = steps.objects().map(|id| id.namespace.clone());
        Parent {
            kinds: kinds.collect(),
            namespaces: namespaces.collect(),
            source: assignment.source.clone(),
            applying: assignment.revision.clone(),
            objects: Some(assignment.plan.steps.len()),
            members: Members::of(steps.objects()),
            contents: contents(&assignment.plan),
            ..Parent::default()
        }
    }

    /// The content of the parent at first, before it is known of any kind whether its objects are in
    /// namespaces. When `before` records this revision as applied, that was known: a namespace that it
    /// does not name then has no object, and its members are where it says.
    fn planned(&self, before: Option<&Parent>) -> Parent {
        let mut planned = self.opening();
        let Some(before) = before.filter(|before| before.applied == planned.applying) else {
            return planned;
        };
        if !before.namespaces.contains(ASSUMED) {
            planned.namespaces.remove(ASSUMED);
        }
        if before.is_same_content(&planned) {
            planned.members = before.members.clone();
        }
        planned
    }

    pub(super) fn read_parent(&mut self) {
        let failures = self.work.parent.failures();
        self.work.parent = ParentState::Reading { failures };
        self.command(Command::ReadParent(self.number()));
    }

    /// Writes the future members into the parent before anything is applied, so that no applied object is
    /// ever forgotten.
    pub(super) fn parent_read(&mut self, answer: Result<Option<(Parent, String)>, Failure>) {
        let ParentState::Reading { failures } = self.work.parent else {
            return;
        };
        let (before, version) = match answer {
            Ok(read) => read.unzip(),
            Err(failure) => return self.parent_failed(failures, &failure),
        };
        let applied = before.as_ref().map(|parent| parent.applied.clone());
        self.ask_approvals(applied.unwrap_or_default());
        if let Some(suspension) = self.suspension(before.as_ref()) {
            self.report(Report::Suspended(suspension));
            if self.work.assignment.heeds_suspension {
                self.work.parent = ParentState::Suspended;
                return;
            }
        }
        let version = version.unwrap_or_default();
        let wanted = before.clone().unwrap_or_default();
        let left = self.left_behind(&wanted.kept);
        let mut wanted = wanted.with(self.planned(before.as_ref()));
        if wanted.kept.is_empty() {
            wanted.kept = left;
        }
        let wanted = wanted.tidy(&self.settings.set);
        let is_there = before.as_ref() == Some(&wanted);
        let opening = Opening {
            failures,
            before: before.unwrap_or_default(),
            wanted: wanted.clone(),
        };
        if is_there {
            return self.open(opening, version);
        }
        self.work.parent = ParentState::Opening(Box::new(opening));
        self.command(Command::WriteParent {
            number: self.number(),
            parent: Box::new(wanted),
            version,
            over: false,
        });
    }

    /// What was kept before, and the plan does not have either: it is kept until it is judged again.
    fn left_behind(&self, kept: &Reasons) -> Reasons {
        let unknown = kept.total.saturating_sub(kept.first.len());
        let left = kept.first.iter().filter(|reason| {
            let id = reason.id();
            id.is_some_and(|id| self.work.steps.of(&id).is_none())
        });
        let first: Vec<Reason> = left.cloned().collect();
        Reasons {
            total: first.len() + unknown,
            first,
        }
    }

    /// Whether the fleet is suspended: by the parent, or by the assignment if there is none. Nobody resumes a fleet by
    /// deleting its parent.
    fn suspension(&self, before: Option<&Parent>) -> Option<Suspension> {
        let assignment = &self.work.assignment;
        let since = match before {
            Some(parent) => Some(parent.suspended.clone()),
            None => assignment.suspended.clone(),
        };
        let since = since.filter(|since| !since.is_empty())?;
        let applied = before.map(|parent| parent.applying.clone());
        let applied = applied.unwrap_or_default();
        Some(Suspension { since, applied })
    }

    pub(super) fn parent_written(&mut self, answer: Result<String, Failure>) {
        match (std::mem::take(&mut self.work.parent), answer) {
            (ParentState::Opening(opening), Ok(version)) => self.open(*opening, version),
            (ParentState::Opening(opening), Err(failure)) => {
                self.parent_failed(opening.failures, &failure);
            }
            (ParentState::Writing { wanted, .. }, Ok(version)) => {
                let parent = *wanted;
                self.work.parent = ParentState::Open(Box::new(Known { parent, version }));
                self.report(Report::Recording(false));
            }
            (ParentState::Writing { known, .. }, Err(failure)) => {
                self.work.parent = ParentState::WriteBackingOff(known);
                self.report(Report::Recording(false));
                self.retry(&failure, RetryTarget::ParentWrite);
            }
            (state, _) => self.work.parent = state,
        }
    }

    fn parent_failed(&mut self, failures: u32, failure: &Failure) {
        let failures = failures.saturating_add(1);
        self.work.parent = ParentState::BackingOff { failures };
        let backoff = backoff(failure.class, failures, failure.retry_after);
        let wait = failure.at_most(RIGHTS, backoff.wait);
        // A write of the assignment before may have come in between.
        if failure.class != ErrorClass::Conflict || backoff.in_vain {
            self.report_denied(failure);
            let why = failure.to_string();
            self.report(match failure.class {
                ErrorClass::Transient => Report::Away(why),
                _ => Report::Stuck(why),
            });
        }
        self.wake_after(wait, |_| RetryTarget::ParentOpening);
    }

    /// The parent names the revision to apply, so steps may begin.
    fn open(&mut self, opening: Opening, version: String) {
        let Opening {
            failures,
            before,
            wanted: parent,
        } = opening;
        let work = &mut self.work;
        let revision = &work.assignment.revision;
        let by_hand = work.assignment.by_hand;
        work.guard.unchanged = !by_hand && !revision.is_empty() && before.applied == *revision;
        work.failures.restore(&parent.failed, &work.steps);
        match parent.kept.total <= parent.kept.first.len() {
            true => {
                let kept = parent.kept.first.iter().filter_map(Reason::id);
                work.guard.left_behind.add(kept);
            }
            false => work.guard.left_behind = LeftBehind::Unknown,
        }
        work.parent = ParentState::Open(Box::new(Known { parent, version }));
        work.removals.stir();
        if failures > 0 {
            self.report(Report::Begun);
        }
        let planned = self.work.steps.kinds();
        for (group, kind) in before.kinds {
            let at = |known: &&Kind| known.0 == group && known.2 == kind;
            let at = planned.keys().find(at).cloned();
            let earlier = at.map_or(EarlierKind::Asked, EarlierKind::At);
            self.work.earlier.insert((group, kind), earlier);
        }
        for (kind, example) in planned {
            self.find(&kind, &example);
        }
        let earlier = self.work.earlier.iter();
        let asked = earlier.filter(|(_, earlier)| matches!(earlier, EarlierKind::Asked));
        let asked: Vec<_> = asked.map(|(kind, _)| kind.clone()).collect();
        for kind in asked {
            self.find_earlier(kind);
        }
    }

    /// Writes into the parent how far the fleet has come, or what fails for good, if that has changed.
    pub(super) fn write_parent(&mut self) {
        let ParentState::Open(known) = &self.work.parent else {
            return;
        };
        if !self.is_carried_out() {
            return self.write_failures();
        }
        if self.is_idle(&known.parent) {
            return;
        }
        let wanted = self.carried_out(&known.parent);
        if wanted != known.parent {
            return self.overwrite_parent(wanted);
        }
        if std::mem::replace(&mut self.work.ending, Ending::Settled) == Ending::Open {
            self.report(Report::Settled);
        }
    }

    /// Writes what fails for good and what is kept, once every step was tried that can be: ten thousand that fail are one
    /// write.
    fn write_failures(&mut self) {
        let (ParentState::Open(known), true) = (&self.work.parent, self.work.steps.are_calm())
        else {
            return;
        };
        let parent = known.parent.clone();
        let knows_kept =
            self.knows_all() && self.knows_approvals() && self.work.removals.are_calm();
        let wanted = Parent {
            failed: self.work.failures.reasons(),
            kept: match knows_kept {
                true => self.kept(&parent.kept),
                false => parent.kept.clone(),
            },
            ..parent
        };
        if wanted != known.parent {
            self.overwrite_parent(wanted);
        }
    }

    /// Whether everything was applied, and removed what is to be. What an earlier assignment still applies may
    /// make a member of a kind that this one does not name.
    fn is_carried_out(&self) -> bool {
        let work = &self.work;
        let is_known = self.knows_all() && self.knows_approvals() && !self.late.has_applies();
        is_known && work.steps.unapplied().is_empty() && work.removals.are_calm()
    }

    /// Whether the parent records everything.
    fn is_idle(&self, parent: &Parent) -> bool {
        let work = &self.work;
        let newly_ready = work.steps.are_ready() && parent.ready != work.assignment.revision;
        work.ending == Ending::Settled && !newly_ready && parent.failed == work.failures.reasons()
    }

    /// The content of the parent once the assignment is carried out.
    fn carried_out(&self, parent: &Parent) -> Parent {
        let mut wanted = self.opening();
        for ObjectId {
            group,
            kind,
            namespace,
            ..
        } in self.inventory.keys()
        {
            wanted.kinds.insert((group.clone(), kind.clone()));
            wanted.namespaces.insert(namespace.clone());
        }
        let ready = self.work.steps.are_ready();
        let wanted = Parent {
            applied: wanted.applying.clone(),
            ready: match ready {
                true => wanted.applying.clone(),
                false => parent.ready.clone(),
            },
            failed: self.work.failures.reasons(),
            kept: self.kept(&parent.kept),
            suspended: parent.suspended.clone(),
            newest: parent.newest.clone(),
            source_error: parent.source_error.clone(),
            lease: parent.lease.clone(),
            unserved: parent.unserved.clone(),
            ..wanted
        };
        wanted.tidy(&self.settings.set)
    }

    /// The members that stay until a person acts, and the objects with fields that stay.
    fn kept(&self, before: &Reasons) -> Reasons {
        let kept = self.work.removals.held();
        let kept = kept.map(|(id, why)| Reason::new(id, "", &why));
        let kept: Vec<Reason> = kept.chain(self.remaining(before)).collect();
        Reasons::of(kept.iter())
    }

    /// The objects with fields that stay although they are not sent any more: those of this process, and those that an
    /// earlier one saw and that were not applied again since.
    fn remaining(&self, before: &Reasons) -> Vec<Reason> {
        let work = &self.work;
        let new = work.remains.iter().filter(|(_, why)| !why.is_empty());
        let new = new.map(|(at, why)| reason(work.steps.step(*at), why));
        let earlier = before.first.iter().filter(|reason| {
            let at = reason.id().and_then(|id| work.steps.of(&id));
            at.is_some_and(|at| !work.remains.contains_key(&at))
        });
        new.chain(earlier.cloned()).collect()
    }

    fn overwrite_parent(&mut self, wanted: Parent) {
        let ParentState::Open(known) = &self.work.parent else {
            return;
        };
        let known = known.clone();
        self.report(Report::Recording(true));
        self.command(Command::WriteParent {
            number: self.number(),
            parent: Box::new(wanted.clone()),
            version: known.version.clone(),
            over: true,
        });
        let wanted = Box::new(wanted);
        self.work.parent = ParentState::Writing { known, wanted };
    }

    pub(super) fn allow_parent_write(&mut self) {
        self.work.parent = match std::mem::take(&mut self.work.parent) {
            ParentState::WriteBackingOff(known) => ParentState::Open(known),
            state => state,
        };
    }
}

/// A digest of what a plan names.
fn contents(plan: &Plan) -> String {
    let mut hash = Sha256::new();
    for step in &plan.steps {
        let ObjectId { group, .. } = &*step.object;
        hash.update(format!("{group} {}\n", step.object));
    }
    let hash = hash.finalize();
    hex(&hash[..8])
}
