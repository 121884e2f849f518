//! The followed ref: a good revision is announced, applied and watched; a broken one is reported, and the last good one stays
//! applied.
//!
//! In: commits that were examined, reports of what applies them, and what people ask of the fleet. Out: assignments, and the
//! checks of the followed ref. It does not know which commits there are.

mod newest;
mod rollout;

use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) use newest::{EMPTIED, NewestRecord};
use rollout::AWAY;
pub(crate) use rollout::{Reported, Rollout, Stage};

use super::command::{ClusterState, Command, Milestone, Record, Wait};
use super::event::{ExamineResult, TimeEvent, Unreadable};
use super::release::{Compilation, Release};
use super::turn::Turn;
use super::view::ViewChange;
use crate::apply::{
    AppliedRevision, AppliedState, ApprovalsAnswer, ApprovalsRequest, Newest, Report, Steering,
    Unapproved,
};
use crate::compile::Checked;
use crate::model::{CheckState, ErrorClass};
use crate::plan::approvals::Approvals;
use crate::reporting::{finding_lines, report};

/// Events that come within this time are reported together.
const BATCH: Duration = Duration::from_millis(100);
/// How long applying waits for the pending check of a revision: the other side may not answer.
const ANNOUNCEMENT: Duration = Duration::from_secs(5);
/// How long what failed for no fault of the commit waits before it is tried again.
const RETRY: Duration = Duration::from_secs(15);

/// See the module.
#[derive(Default)]
pub(crate) struct Releases {
    /// The release that is applied, or about to be.
    current: Option<Rollout>,
    /// The number of the last assignment.
    last_number: u64,
    /// What an earlier process applied, if the settings suspend the fleet.
    left_applied: Option<AppliedRevision>,
    /// The commit that was examined last, with its plan if it has no errors, if nothing is applied.
    checked: Option<AppliedRevision>,
    /// What is asked of the fleet, once that is known.
    steering: Option<Steering>,
    newest: NewestRecord,
}

/// What is known of a commit's place on the followed ref.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The ref leads to it now.
    pub(crate) is_newest: bool,
    /// The ref leads to no commit that was not examined.
    pub(crate) is_last: bool,
}

impl Releases {
    /// Returns true if no commit was accepted yet, or checked where nothing is applied.
    pub(crate) const fn is_new(&self) -> bool {
        self.current.is_none() && self.checked.is_none()
    }

    /// The revision that was accepted last, although the fleet may be suspended.
    pub(crate) fn accepted(&self) -> Option<&str> {
        self.current
            .as_ref()
            .map(|one| one.release.revision.as_str())
    }

    /// The revision that is applied, or about to be, with its plan; where nothing is applied, the newest.
    pub(crate) fn applied(&self) -> Option<AppliedRevision> {
        match &self.current {
            Some(rollout) => rollout.applied(),
            None => self.checked.clone().or_else(|| self.left_applied.clone()),
        }
    }

    /// The losses of what is applied that wait for an approval; `None` as long as they may not be known.
    pub(crate) fn waiting(&self) -> Option<BTreeSet<Unapproved>> {
        self.current.as_ref()?.waiting()
    }

    /// The same without its plan.
    pub(crate) fn applied_revision(&self) -> Option<String> {
        self.applied().map(|(revision, _)| revision)
    }

    /// What the next revision is compared with.
    pub(crate) fn cluster_state(&self, turn: &Turn) -> ClusterState {
        let Some(applied) = self.applied() else {
            return ClusterState::Unknown;
        };
        match &self.current {
            Some(rollout) if !rollout.settled && !rollout.has_failed(turn.now.cluster) => {
                ClusterState::PartlyApplied(applied)
            }
            _ => ClusterState::Applied(applied),
        }
    }

    /// Returns true if it is known what to compare candidates with: after a start, a suspended fleet has another revision
    /// than the accepted one.
    pub(crate) fn knows_applied(&self) -> bool {
        let is_unknown = |rollout: &Rollout| matches!(rollout.applied, AppliedState::Unknown);
        let steering = self.steering.as_ref();
        let is_applying = steering.is_some_and(|steering| steering.suspended.is_none());
        is_applying || !self.current.as_ref().is_some_and(is_unknown)
    }

    /// The newest commit, if it was refused: another examination may accept it.
    pub(crate) fn refused(&self) -> Option<String> {
        let rejected = self.newest.rejected.as_ref();
        let refused = rejected.filter(|newest| newest.is_refused);
        refused.map(|newest| newest.revision.clone())
    }

    /// Since when the fleet is suspended, as far as is known.
    fn suspended(&self) -> Option<String> {
        self.steering.as_ref()?.suspended.clone()
    }

    /// Takes in a commit that was examined.
    pub(crate) fn examined(&mut self, examined: ExamineResult, place: Place, turn: &mut Turn) {
        if place.is_newest {
            let revision = examined.revision.clone();
            turn.push(Command::Show(ViewChange::Examined(revision)));
        }
        if turn.settings.is_check_only {
            return self.check(examined, turn);
        }
        let ExamineResult {
            revision,
            title,
            outcome,
            fallback,
            left_applied,
            ..
        } = examined;
        self.left_applied = left_applied.or(self.left_applied.take());
        let applied = self.applied_revision();
        let good = applied.or_else(|| fallback.as_ref().map(|one| one.revision.clone()));
        let good = good.as_deref();
        match outcome {
            Ok(Compilation::Sound(release)) if !self.is_emptied(&release, fallback.is_some()) => {
                return self.accept(release, &title, place, turn);
            }
            Ok(Compilation::Sound(_)) => self.reject_empty(&revision, &title, good, turn),
            Ok(Compilation::Broken(checked)) => {
                self.reject_broken(&revision, &title, &checked, good, turn);
            }
            Err(why) => self.reject_unreadable(&revision, &title, why, good, turn),
        }
        // A newer commit that waits to be examined is looked at first.
        let is_idle = self.current.is_none() && !turn.settings.suspend && place.is_last;
        if let Some(release) = fallback.filter(|_| is_idle) {
            let revision = &release.revision;
            tracing::info!(revision, "applying the last good revision");
            self.begin(release, turn);
        }
    }

    /// Takes in a commit of which nothing is applied: candidates are compared with it.
    fn check(&mut self, examined: ExamineResult, turn: &mut Turn) {
        let (fleet, revision) = (&turn.settings.fleet, examined.revision);
        let (plan, check) = match examined.outcome {
            Ok(Compilation::Sound(release)) => {
                let check = report::checked(fleet, &revision, &release.notes);
                (Some(release.plan), check)
            }
            Ok(Compilation::Broken(checked)) => {
                for line in finding_lines(&checked.findings) {
                    tracing::warn!(revision, "{line}");
                }
                (None, report::checked_broken(fleet, &revision, &checked))
            }
            Err(Unreadable { fault, class }) => {
                let check = report::checked_unreadable(fleet, &revision, &fault);
                examine_later(&revision, class, turn);
                (None, check)
            }
        };
        tracing::info!(revision, title = examined.title, "{}", check.title);
        self.checked = Some((revision, plan));
        turn.set_check(check);
    }

    /// Returns true for a release without objects after one that had some.
    fn is_emptied(&self, release: &Release, is_after_good: bool) -> bool {
        let before = self.current.as_ref();
        let had_objects = before.is_some_and(|rollout| !rollout.release.is_empty());
        release.is_empty() && (had_objects || is_after_good)
    }

    fn reject_empty(&mut self, revision: &str, title: &str, good: Option<&str>, turn: &mut Turn) {
        tracing::warn!(revision, title, stays = good, "not applied: {EMPTIED}");
        self.newest.reject(Newest::refused(revision, EMPTIED));
        turn.set_check(report::emptied(&turn.settings.fleet, revision, good));
    }

    fn reject_broken(
        &mut self,
        revision: &str,
        title: &str,
        checked: &Checked,
        good: Option<&str>,
        turn: &mut Turn,
    ) {
        let check = report::refused(&turn.settings.fleet, revision, checked, good);
        tracing::warn!(revision, title, stays = good, "{}", check.title);
        for line in finding_lines(&checked.findings) {
            tracing::warn!(revision, "{line}");
        }
        let why = newest::errors(checked);
        self.newest.reject(Newest::refused(revision, &why));
        turn.set_check(check);
    }

    fn reject_unreadable(
        &mut self,
        revision: &str,
        title: &str,
        why: Unreadable,
        good: Option<&str>,
        turn: &mut Turn,
    ) {
        let Unreadable { fault, class } = why;
        let (summary, error) = (fault.summary, &fault.message);
        tracing::warn!(revision, title, stays = good, %error, "not applied: {summary}");
        let why = format!("{summary}: {error}");
        self.newest.reject(Newest::refused(revision, &why));
        turn.set_check(report::unreadable(
            &turn.settings.fleet,
            revision,
            &fault,
            good,
        ));
        examine_later(revision, class, turn);
    }

    /// Takes in a revision without errors: it is applied, if it still is the newest.
    fn accept(&mut self, release: Release, title: &str, place: Place, turn: &mut Turn) {
        let objects = release.plan.steps.len();
        let revision = &release.revision;
        self.newest.accept();
        if turn.settings.suspend {
            self.newest
                .reject(Newest::waiting(revision, Newest::BY_DOCUMENT));
            tracing::info!(
                revision,
                title,
                objects,
                "valid, but the fleet is suspended"
            );
            let applied = self.applied_revision();
            let other = applied.filter(|applied| applied != revision);
            let fleet = &turn.settings.fleet;
            turn.set_check(report::suspended(fleet, revision, other.as_deref()));
        } else if self.accepted() == Some(revision) {
            tracing::info!(revision, title, objects, "already applied");
        } else if place.is_newest {
            tracing::info!(revision, title, objects, "applying");
            self.begin(release, turn);
        }
    }

    /// Takes a good revision up: first its pending check goes out.
    fn begin(&mut self, release: Release, turn: &mut Turn) {
        let milestone = Record::Milestone(Milestone::Begun, release.revision.clone());
        turn.push(Command::Record(milestone));
        self.last_number += 1;
        let until = turn.now.wall + ANNOUNCEMENT;
        let (before, times) = (self.current.take(), (turn.now.cluster, until));
        let mut rollout = Rollout::new(self.last_number, release, before, &turn.settings, times);
        rollout.suspended = self.suspended();
        self.current = Some(rollout);
        turn.wake(Wait::Wall(ANNOUNCEMENT), TimeEvent::Announced);
        self.show(CheckState::Pending, turn);
    }

    /// Shows how the release is now.
    fn show(&self, state: CheckState, turn: &mut Turn) {
        if let Some(rollout) = &self.current {
            let (check, view) = rollout.check(&turn.settings, state, turn.now.cluster);
            turn.push(Command::Show(ViewChange::Progress(Box::new(view))));
            turn.set_check(check);
        }
    }

    /// Goes on with a release whose announcement is out, or could not be brought out.
    pub(crate) fn advance(&mut self, turn: &mut Turn) {
        let Some(rollout) = &mut self.current else {
            return;
        };
        let Stage::Announced { until } = rollout.stage else {
            return;
        };
        let is_due = || turn.checks.has_due(&rollout.release.revision, turn.now);
        if turn.now.wall >= until || !is_due() {
            turn.push(Command::Assign(rollout.run(&turn.settings)));
        }
    }

    /// Takes in what became of the assignment with this number, and returns what that changes for others.
    pub(crate) fn reported(&mut self, number: u64, report: Report, turn: &mut Turn) -> Reported {
        let current = self.current.as_mut();
        let Some(rollout) = current.filter(|rollout| rollout.number == number) else {
            return Reported::default();
        };
        let settles = matches!(report, Report::Settled);
        let is_first_settled = settles && !rollout.settled;
        if settles {
            let revision = rollout.release.revision.clone();
            turn.push(Command::Record(Record::Milestone(
                Milestone::Applied,
                revision,
            )));
        }
        let is_suspended = matches!(report, Report::Suspended(_));
        let was_away = rollout.is_away();
        let was_unknown = matches!(rollout.applied, AppliedState::Unknown);
        let (is_change, unread) = match report {
            Report::Suspended(suspension) => (true, rollout.suspend(suspension)),
            report => (rollout.note(report, turn.now.cluster), None),
        };
        if !rollout.is_running() {
            return Reported::default();
        }
        let is_due = is_change && rollout.note_due();
        // The parent may have been read just before somebody resumed the fleet; or it is suspended, and
        // that is not noticed yet.
        let steering = self.steering.as_ref();
        if is_suspended && steering.is_some_and(|steering| steering.suspended.is_none()) {
            turn.wake(Wait::Wall(RETRY), TimeEvent::Reassign(number));
        }
        if is_due {
            turn.wake(Wait::Wall(BATCH), TimeEvent::Progress);
        }
        if rollout.is_away() && !was_away {
            turn.wake(Wait::Cluster(AWAY), TimeEvent::Progress);
        }
        let is_known = unread.is_none();
        if let Some(revision) = unread {
            turn.push(Command::ReadApplied { number, revision });
        }
        Reported {
            is_first_settled,
            is_comparable: was_unknown && is_known,
        }
    }

    /// Takes in what an earlier process applied, to compare with.
    pub(crate) fn applied_read(&mut self, number: u64, applied: AppliedRevision, turn: &mut Turn) {
        let current = self.current.as_mut();
        let rollout = current.filter(|rollout| rollout.number == number);
        if let Some(rollout) = rollout.filter(|one| matches!(one.applied, AppliedState::Unknown)) {
            rollout.applied = AppliedState::Earlier(applied);
            self.report_progress(turn);
        }
    }

    /// Says how far the release has come.
    pub(crate) fn report_progress(&mut self, turn: &mut Turn) {
        let Some(rollout) = &mut self.current else {
            return;
        };
        let Some((state, is_ready, wait)) = rollout.judge(turn.now.cluster) else {
            return;
        };
        if is_ready {
            let revision = rollout.release.revision.clone();
            turn.push(Command::Record(Record::Milestone(
                Milestone::Ready,
                revision,
            )));
        }
        self.show(state, turn);
        if let Some(wait) = wait {
            turn.wake(Wait::Cluster(wait), TimeEvent::Progress);
        }
    }

    /// Takes in the question what people approved.
    pub(crate) fn approvals_asked(&self, request: ApprovalsRequest, turn: &mut Turn) {
        let current = self.current.as_ref();
        if let Some(rollout) = current.filter(|rollout| rollout.number == request.number) {
            let revision = rollout.release.revision.clone();
            turn.push(Command::ReadApprovals { request, revision });
        }
    }

    /// Takes in the answer.
    pub(crate) fn approvals_read(
        &mut self,
        request: ApprovalsRequest,
        approvals: Option<Approvals>,
        turn: &mut Turn,
    ) {
        let Some(approvals) = approvals else {
            // Nobody approved anything, as far as can be told.
            let approvals = Vec::new();
            return turn.push(Command::Approve(ApprovalsAnswer { request, approvals }));
        };
        let recreated = approvals.recreatable();
        if !recreated.is_empty() {
            turn.push(Command::Recreate(recreated));
        }
        let given = approvals.given.clone();
        let current = self.current.as_mut();
        if let Some(rollout) = current.filter(|rollout| rollout.number == request.number) {
            let is_some = approvals != Approvals::default();
            rollout.approvals = approvals;
            if is_some {
                // The check names them.
                self.report_progress(turn);
            }
        }
        turn.push(Command::Approve(ApprovalsAnswer {
            request,
            approvals: given,
        }));
    }

    /// The commits with approvals of which the forge has not said how they came in.
    pub(crate) fn unattributed(&self) -> impl Iterator<Item = &String> {
        let current = self.current.iter();
        current.flat_map(|rollout| rollout.approvals.unattributed())
    }

    /// Takes in that the forge said how these commits came in. What waited for one of them is applied again.
    pub(crate) fn attributed(&mut self, commits: &BTreeSet<String>, turn: &mut Turn) {
        let current = self.current.as_mut();
        let Some(rollout) = current.filter(|rollout| rollout.is_running()) else {
            return;
        };
        if rollout.approvals.take_attributed(commits) {
            self.apply_again(turn);
        }
    }

    /// Takes in what people ask of the fleet. Returns true if somebody asked to look for commits now.
    pub(crate) fn steered(&mut self, steering: Steering, turn: &mut Turn) -> bool {
        self.newest
            .seen(steering.uid.as_deref(), steering.newest.clone());
        let before = self.steering.replace(steering.clone());
        let is_asked = steering.sync_requested.is_some()
            && before.is_some_and(|before| before.sync_requested != steering.sync_requested);
        let Some(rollout) = self.current.as_mut() else {
            return is_asked;
        };
        let is_change = rollout.suspended != steering.suspended;
        if is_change && steering.suspended.is_none() {
            tracing::info!("the fleet is resumed");
        }
        rollout.suspended = steering.suspended;
        let is_failed = || rollout.has_failed(turn.now.cluster);
        // What is not assigned yet reads the parent when it is.
        if rollout.is_running() && (is_change || is_asked && is_failed()) {
            self.apply_again(turn);
        }
        is_asked
    }

    /// Takes in what comments say of the losses of this revision that does not count, and on which pull request they are.
    pub(crate) fn set_comments(
        &mut self,
        revision: &str,
        comments: Approvals,
        pull_request: Option<u64>,
        turn: &mut Turn,
    ) {
        let current = self.current.as_mut();
        if let Some(rollout) = current.filter(|one| one.release.revision == revision)
            && rollout.set_comments(comments, pull_request)
        {
            self.report_progress(turn);
        }
    }

    /// Removes what waited for an approval that was given now.
    pub(crate) fn go_on_approved(&mut self, turn: &mut Turn) {
        if self.current.as_ref().is_some_and(Rollout::is_running) {
            self.apply_again(turn);
        }
    }

    /// Applies once more what is applied.
    fn apply_again(&mut self, turn: &mut Turn) {
        let Some(rollout) = self.current.as_mut() else {
            return;
        };
        self.last_number += 1;
        rollout.begin_again(self.last_number, &turn.settings, turn.now.cluster);
        turn.push(Command::Assign(rollout.run(&turn.settings)));
        self.report_progress(turn);
    }

    /// Takes in that applying stopped. It is begun again after a while.
    pub(crate) fn runner_ended(&self, turn: &mut Turn) {
        tracing::error!(
            "applying stopped because of a bug in capstan; please report it. Restarting"
        );
        let again = TimeEvent::Reassign(self.last_number);
        turn.wake(Wait::Wall(RETRY), again);
    }

    /// Makes the assignment with this number again, if it is the last one.
    pub(crate) fn reassign(&mut self, number: u64, turn: &mut Turn) {
        let current = self.current.as_mut();
        let rollout = current.filter(|rollout| rollout.number == number && rollout.is_running());
        if let Some(rollout) = rollout {
            self.last_number += 1;
            (rollout.number, rollout.settled) = (self.last_number, false);
            turn.push(Command::Assign(rollout.run(&turn.settings)));
        }
    }

    /// Makes the assignment again if it has failed.
    pub(crate) fn retry_failed(&mut self, turn: &mut Turn) {
        let current = self.current.as_ref();
        let failed = current.filter(|rollout| rollout.has_failed(turn.now.cluster));
        if let Some(number) = failed.map(|rollout| rollout.number) {
            self.reassign(number, turn);
        }
    }

    /// Records what became of the newest commit, if the parent does not.
    pub(crate) fn record_newest(&mut self, turn: &mut Turn) {
        // Until a commit was examined, nothing is known that an earlier daemon did not know.
        if self.newest.rejected.is_none() && self.current.is_none() {
            return;
        }
        let current = self.current.as_ref();
        let wanted = self.newest.wanted(current, &turn.settings.fleet);
        if !self.newest.begin(&wanted) {
            return;
        }
        let is_suspended = current.is_some_and(|rollout| rollout.suspended.is_some());
        let may_create = !is_suspended && self.suspended().is_none();
        turn.push(Command::RecordNewest {
            newest: wanted,
            may_create,
        });
    }

    /// Takes in how that ended.
    pub(crate) fn newest_recorded(
        &mut self,
        newest: Option<Newest>,
        answer: Result<(), String>,
        turn: &mut Turn,
    ) {
        match answer {
            Ok(()) => self.newest.written(newest),
            Err(error) => {
                tracing::debug!(%error, "cannot record what became of the newest commit");
                turn.wake(Wait::Wall(RETRY), TimeEvent::RecordNewest);
            }
        }
    }

    /// Lets what could not be recorded be tried again.
    pub(crate) const fn retry_record(&mut self) {
        self.newest.retry();
    }
}

/// Has a commit examined again after a while that could not be read for a reason that may pass. What a bug does once it does
/// again.
fn examine_later(revision: &str, class: ErrorClass, turn: &mut Turn) {
    if class == ErrorClass::Transient {
        turn.wake(Wait::Wall(RETRY), TimeEvent::Reexamine(revision.to_owned()));
    }
}

#[cfg(test)]
impl Releases {
    /// The release that is applied, or about to be.
    pub(crate) const fn current(&self) -> Option<&Rollout> {
        self.current.as_ref()
    }

    /// The number of the last assignment.
    pub(crate) const fn number(&self) -> u64 {
        self.last_number
    }

    pub(crate) const fn current_mut(&mut self) -> Option<&mut Rollout> {
        self.current.as_mut()
    }

    pub(crate) const fn newest_mut(&mut self) -> &mut NewestRecord {
        &mut self.newest
    }

    /// The newest commit, if it is not applied.
    pub(crate) fn newest(&self, fleet: &str) -> Option<Newest> {
        self.newest.wanted(self.current.as_ref(), fleet)
    }
}
