//! The apply engine: a state machine that keeps a cluster in line with a plan.
//!
//! ```text
//! Assigned ─► parent opened ─► kinds listed ─► steps begun ─► in sync ─► ready
//!                                    │                           │
//!                   inventory ◄── watches ── drift: begun again ◄┘
//!                       └── those that leave: deleted or released, last of all
//! ```
//!
//! In: [`Event`]s, each with its time. Out: [`Command`]s. An object that is in sync costs no
//! request. A new assignment replaces the one before; what is known of the cluster stays. It does not know:
//! how a command is carried out.

mod approvals;
mod failures;
mod kinds;
mod late;
mod parent;
mod removals;
mod renames;
mod rights;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::event::{
    Command, Event, Failure, FailureCause, GroupKind, RIGHTS, RetryTarget, Warning, WatchEvent,
    WatchScope, What,
};
use super::kinds::Kinds;
use super::late::LateRequests;
use super::parent_state::ParentState;
use super::prune::Unapproved;
use super::removals::Removals;
use super::rights::Rights;
use super::steps::Steps;
use super::{
    ApprovalsRequest, Assignment, DeletionGuard, Embedded, Kind, Member, Progress, Report, State,
};
use crate::model::{Health, ObjectId};
use crate::plan::ApplySet;
use crate::plan::losses::Unit;
use failures::Failures;

/// How to carry out plans.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// How many requests may be under way at once; at least one is.
    pub(crate) concurrency: usize,
    /// The set that the plans' objects are members of.
    pub(crate) set: ApplySet,
}

/// The engine.
pub(crate) struct Engine {
    settings: Settings,
    kinds: Kinds,
    /// The members of the set, by the watches and the answers to our own applies; and objects of the plan that only
    /// carry the set's label.
    inventory: BTreeMap<ObjectId, Member>,
    /// The health of all objects of the kinds of embedded resources.
    embedded: BTreeMap<ObjectId, Health>,
    /// The kinds that cannot be seen now, and why.
    unseen: BTreeMap<GroupKind, String>,
    work: Work,
    late: LateRequests,
    /// The time of the current event.
    now: Timestamp,
    commands: Vec<Command>,
}

/// What is under way for one assignment.
#[derive(Default)]
struct Work {
    assignment: Assignment,
    parent: ParentState,
    /// The kinds that the set had members of, by the parent.
    earlier: BTreeMap<GroupKind, EarlierKind>,
    steps: Steps,
    removals: Removals,
    approvals: Approvals,
    guard: DeletionGuard,
    /// The clusters and pools that are not created before a rename is approved, and that loss; `None` until it is known.
    held: Option<BTreeMap<Unit, Unapproved>>,
    /// What leaves under one name and comes under another, as far as it was recognised.
    renamed: BTreeMap<Unit, Unit>,
    /// The clusters and pools of the plan; empty until something leaves.
    units: BTreeMap<ObjectId, Unit>,
    rights: Rights,
    embedded: Embedded,
    failures: Failures,
    /// By step: which of its fields stay although they are not sent any more; empty for none.
    remains: BTreeMap<usize, String>,
    ending: Ending,
}

/// Where earlier members of a kind are looked for.
enum EarlierKind {
    /// The cluster was asked.
    Asked,
    /// At this version.
    At(Kind),
    /// The cluster does not serve the kind any more: it has no objects of it.
    Unserved,
}

/// What is known of the approvals for an assignment.
#[derive(Default)]
enum Approvals {
    /// Nobody was asked yet.
    #[default]
    Unasked,
    /// This was asked.
    Asked(ApprovalsRequest),
    /// This was answered.
    Answered(ApprovalsRequest),
}

/// Whether an assignment was carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ending {
    /// There is more to do.
    #[default]
    Open,
    /// It was reported, and the parent records it.
    Settled,
    /// The same, but members have come or gone since the parent was written.
    Recount,
}

impl Work {
    fn new(assignment: Assignment) -> Self {
        Self {
            steps: Steps::new(&assignment.plan),
            embedded: Embedded::new(&assignment.embedded),
            guard: DeletionGuard {
                prune: assignment.prune,
                is_end: assignment.is_end,
                without_commits: assignment.without_commits,
                ..DeletionGuard::default()
            },
            assignment,
            ..Self::default()
        }
    }

    /// Members have come or gone.
    fn recount(&mut self) {
        if self.ending == Ending::Settled {
            self.ending = Ending::Recount;
        }
    }
}

impl Engine {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            kinds: Kinds::default(),
            inventory: BTreeMap::new(),
            embedded: BTreeMap::new(),
            unseen: BTreeMap::new(),
            work: Work::default(),
            late: LateRequests::default(),
            now: Timestamp::UNIX_EPOCH,
            commands: Vec::new(),
        }
    }

    /// Handles an event, and returns what to do, in order.
    pub(crate) fn on(&mut self, event: Event) -> Vec<Command> {
        self.now = event.at;
        self.take_in(event.what);
        self.begin_steps();
        self.prune();
        // A round lets steps go that waited for it.
        self.begin_steps();
        self.write_parent();
        std::mem::take(&mut self.commands)
    }

    fn take_in(&mut self, what: What) {
        match what {
            What::Assigned(assignment) => self.assigned(*assignment),
            What::KindServed(kind, answer) => self.kind_served(&kind, answer),
            What::Watched(event) => self.on_watch_event(event),
            What::Confirmed(id, uid, answer) => self.confirmed(&id, uid.as_deref(), *answer),
            What::Elapsed(_, RetryTarget::EmbeddedKind(kind)) => self.find_embedded(&kind),
            What::Elapsed(_, RetryTarget::Confirmation(id)) => self.confirm(&id),
            What::Elapsed(_, RetryTarget::LostKind(kind)) => self.find_again(&kind),
            What::Answered(number, at, answer) if number != self.number() => {
                self.answered_late(number, at, *answer);
            }
            What::Removed(number, id, _) if number != self.number() => {
                self.removed_late(number, id);
            }
            What::ParentRead(number, _)
            | What::ParentWritten(number, _)
            | What::VersionFound(number, ..)
            | What::Read(number, ..)
            | What::Elapsed(number, _)
                if number != self.number() => {}
            What::ParentRead(_, answer) => self.parent_read(*answer),
            What::Approved(answer) => self.approved(answer),
            What::ParentWritten(_, answer) => self.parent_written(answer),
            What::VersionFound(_, kind, answer) => self.version_found(&kind, answer),
            What::Answered(_, at, answer) => self.answered(at, *answer),
            What::Read(_, id, answer) => self.removal_read(&id, *answer),
            What::Removed(_, id, answer) => self.removed(&id, answer),
            What::Elapsed(_, target) => self.elapsed(target),
        }
    }

    fn on_watch_event(&mut self, event: WatchEvent) {
        use WatchScope::{Embedded, Members};
        match event {
            WatchEvent::Object(Members, id, Some(live)) => self.seen(&id, &live),
            WatchEvent::Object(Members, id, None) => self.gone(&id),
            WatchEvent::Object(Embedded, id, live) => self.embedded_seen(&id, live.as_deref()),
            WatchEvent::Listed(Members, kind, there) => self.listed(&kind, &there),
            WatchEvent::Listed(Embedded, kind, _) => self.embedded_listed(&kind),
            WatchEvent::Interrupted(Members, kind, why) => self.interrupted(&kind, &why),
            WatchEvent::Interrupted(Embedded, kind, why) => self.embedded_interrupted(&kind, &why),
            WatchEvent::Lost(kind) => self.lost(kind),
            WatchEvent::Defined(group) => self.defined(&group),
        }
    }

    fn elapsed(&mut self, target: RetryTarget) {
        match target {
            RetryTarget::ParentOpening => self.read_parent(),
            RetryTarget::ParentWrite => self.allow_parent_write(),
            RetryTarget::Step(at, until) => self.step_backed_off(at, until),
            RetryTarget::EarlierKind(kind) => self.find_earlier(kind),
            RetryTarget::Removal(id, until) => self.removal_backed_off(&id, until),
            RetryTarget::Rights => self.try_rights(),
            RetryTarget::EmbeddedKind(_)
            | RetryTarget::Confirmation(_)
            | RetryTarget::LostKind(_) => {}
        }
    }

    /// Replaces the plan. What is known of the cluster stays.
    fn assigned(&mut self, assignment: Assignment) {
        self.await_late();
        let before = std::mem::replace(&mut self.work, Work::new(assignment));
        // However often a revision is taken up, it deletes no more clusters that nobody named.
        if before.assignment.revision == self.work.assignment.revision {
            self.work.guard.begun = before.guard.begun;
            self.work.renamed = before.renamed;
            self.work.guard.left_behind = before.guard.left_behind;
        } else {
            self.leave_behind(before);
        }
        let Work {
            steps, removals, ..
        } = &mut self.work;
        for (kind, namespaced) in self.kinds.served() {
            steps.locate(&kind, namespaced);
        }
        removals.stir();
        // What only carries our label was to be applied, and is none of the fleet's any more.
        self.inventory
            .retain(|id, member| member.applied_by_us || steps.of(id).is_some());
        for (id, member) in &mut self.inventory {
            match steps.of(id) {
                Some(at) => member.judge(&steps.step(at).action),
                None => removals.add(id),
            }
        }
        self.read_parent();
        self.find_all_embedded();
        self.report_embedded();
        self.report_unseen();
    }

    /// Whether all that may be a member is known.
    fn knows_all(&self) -> bool {
        let known = |earlier: &EarlierKind| match earlier {
            EarlierKind::Asked => false,
            EarlierKind::At(kind) => self.kinds.is_listed(kind),
            EarlierKind::Unserved => true,
        };
        self.work.parent.is_open()
            && self.kinds.are_known()
            && self.work.earlier.values().all(known)
    }

    fn number(&self) -> u64 {
        self.work.assignment.number
    }

    fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Schedules a retry of `target` after `wait`, and returns its time.
    fn wake_after(
        &mut self,
        wait: Duration,
        target: impl FnOnce(Timestamp) -> RetryTarget,
    ) -> Timestamp {
        let at = self.now.saturating_add(wait).unwrap_or(Timestamp::MAX);
        self.command(Command::WakeAt(self.number(), at, target(at)));
        at
    }

    /// Schedules a retry of `target` after the pause for a failed question.
    fn retry(&mut self, failure: &Failure, target: RetryTarget) {
        let wait = failure.at_most(RIGHTS, failure.pause());
        self.wake_after(wait, |_| target);
    }

    fn warn(&mut self, warning: Warning) {
        self.command(Command::Warn(warning));
    }

    fn report(&mut self, report: Report) {
        self.command(Command::Report(self.number(), report));
    }

    /// Reports that permissions are missing, if that is why a request failed.
    fn report_denied(&mut self, failure: &Failure) {
        if failure.cause == FailureCause::NoRights {
            self.report(Report::Denied);
        }
    }

    fn report_health(&mut self, id: &ObjectId, health: &Health) {
        let progress = Progress::of(self.now, id, health);
        self.report(Report::Object(progress));
    }

    fn report_state(&mut self, id: &ObjectId, state: State, terminal: bool, message: String) {
        self.report(Report::Object(Progress {
            at: self.now,
            object: id.clone(),
            state,
            terminal,
            message,
        }));
    }
}
