//! The parent: opened before the first step, written when an assignment was carried out.

use super::super::backoff::backoff;
use super::super::event::{Command, Failure, ParentRead, RIGHTS, RetryTarget};
use super::super::parent_state::{Known, Opening, ParentState};
use super::super::{Kind, Members, Parent, Report, Suspension};
use super::{EarlierKind, Ending, Engine};
use crate::model::{ErrorClass, ObjectId};

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
        if before.objects == planned.objects {
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
    pub(super) fn parent_read(&mut self, answer: Result<ParentRead, Failure>) {
        let ParentState::Reading { failures } = self.work.parent else {
            return;
        };
        let ParentRead { before, approved } = match answer {
            Ok(read) => read,
            Err(failure) => return self.parent_failed(failures, &failure),
        };
        let (before, version) = before.unzip();
        if let Some(suspension) = self.suspension(before.as_ref()) {
            self.work.parent = ParentState::Suspended;
            return self.report(Report::Suspended(suspension));
        }
        let version = version.unwrap_or_default();
        let wanted = before.clone().unwrap_or_default();
        let wanted = wanted.with(self.planned(before.as_ref()));
        let wanted = wanted.tidy(&self.settings.set);
        let is_there = before.as_ref() == Some(&wanted);
        let opening = Opening {
            failures,
            before: before.unwrap_or_default(),
            wanted: wanted.clone(),
            approved,
        };
        if is_there {
            return self.open(opening, version);
        }
        self.work.parent = ParentState::Opening(Box::new(opening));
        self.command(Command::WriteParent {
            number: self.number(),
            parent: wanted,
            version,
            over: false,
        });
    }

    /// Whether nothing may be done: by the parent, or by the assignment if there is none. Nobody resumes a fleet by
    /// deleting its parent.
    fn suspension(&self, before: Option<&Parent>) -> Option<Suspension> {
        let assignment = &self.work.assignment;
        let since = match before {
            Some(parent) => Some(parent.suspended.clone()),
            None => assignment.suspended.clone(),
        };
        let since = since.filter(|since| assignment.heeds_suspension && !since.is_empty())?;
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
            }
            (ParentState::Writing { known, .. }, Err(failure)) => {
                self.work.parent = ParentState::WriteBackingOff(known);
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
            self.report(Report::Stuck(failure.to_string()));
        }
        self.wake_after(wait, |_| RetryTarget::ParentOpening);
    }

    /// The parent names the revision to apply, so steps may begin.
    fn open(&mut self, opening: Opening, version: String) {
        let Opening {
            failures,
            before,
            wanted: parent,
            approved,
        } = opening;
        let work = &mut self.work;
        let revision = &work.assignment.revision;
        let by_hand = work.assignment.by_hand;
        work.guard.unchanged = !by_hand && !revision.is_empty() && before.applied == *revision;
        work.guard.approved = approved;
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

    /// Writes into the parent how far the fleet has come, if that has changed.
    pub(super) fn write_parent(&mut self) {
        // What an earlier assignment still applies may make a member of a kind that this one does not name.
        let knows_all = self.knows_all() && !self.late.has_applies();
        let (true, ParentState::Open(known)) = (knows_all, &self.work.parent) else {
            return;
        };
        let (work, parent) = (&self.work, &known.parent);
        let ready = work.steps.are_ready();
        let newly_ready = ready && parent.ready != work.assignment.revision;
        let idle = work.ending == Ending::Settled && !newly_ready;
        if idle || !work.steps.unapplied().is_empty() || !work.removals.are_calm() {
            return;
        }
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
        wanted.suspended.clone_from(&parent.suspended);
        wanted.applied.clone_from(&wanted.applying);
        wanted.ready = match ready {
            true => wanted.applied.clone(),
            false => parent.ready.clone(),
        };
        let wanted = wanted.tidy(&self.settings.set);
        if wanted == *parent {
            if std::mem::replace(&mut self.work.ending, Ending::Settled) == Ending::Open {
                self.report(Report::Settled);
            }
            return;
        }
        let known = known.clone();
        self.command(Command::WriteParent {
            number: self.number(),
            parent: wanted.clone(),
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
