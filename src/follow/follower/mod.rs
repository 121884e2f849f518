//! The follower of one repository.
//!
//! In: events, one at a time, each with the time. Out: commands. Its parts hold the state; it decides what one part tells
//! another. It does not know the process that it runs in.
//!
//! ```text
//!  Fetched ─► Examine ─► Examined ─► Publish (pending) ─► Assign ─► Reported … ─► Publish (success)
//!        └──► Plan ────► Planned ──► Publish
//! ```

mod people;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use super::annotation::Annotation;
use super::command::{Command, Wait};
use super::comments::CommentQuestions;
use super::event::{
    ChecksEvent, ClusterEvent, EarlierChecks, Event, ExamineResult, FetchResult, GitEvent,
    PeopleEvent, RemoteRefs, StartupRefs, TimeEvent,
};
use super::forge::ForgeQuestions;
use super::heads::Heads;
use super::plans::Plans;
use super::polling::Polling;
use super::releases::{Place, Releases};
use super::reruns::Reruns;
use super::settings::Settings;
use super::turn::Turn;
use super::view::ViewChange;
use crate::apply::Report;
use crate::model::{AdapterError, Later};
use crate::reporting::{Next, Now, report};

/// See the module.
pub(crate) struct Follower {
    turn: Turn,
    /// Where the followed ref leads, and what was examined of it.
    heads: Heads,
    polling: Polling,
    plans: Plans,
    releases: Releases,
    reruns: Reruns,
    forge: ForgeQuestions,
    comments: CommentQuestions,
    annotation: Annotation,
}

impl Follower {
    /// A follower that waits for its first look, which [`TimeEvent::Look`] begins.
    pub(crate) fn new(settings: Settings, now: Now) -> Self {
        Self {
            heads: Heads::default(),
            polling: if settings.is_directory {
                Polling::of_directory(settings.interval)
            } else {
                Polling::new(settings.interval)
            },
            plans: Plans::new(&settings.candidates),
            releases: Releases::default(),
            reruns: Reruns::default(),
            forge: ForgeQuestions::default(),
            comments: CommentQuestions::default(),
            annotation: Annotation::default(),
            turn: Turn::new(settings, now),
        }
    }

    /// Takes in what happened, and returns what is to be done, in order.
    pub(crate) fn on(&mut self, event: Event, now: Now) -> Vec<Command> {
        self.turn.now = now;
        self.take_in(event);
        self.attribute();
        self.end_abandoned();
        self.publish();
        self.releases.advance(&mut self.turn);
        self.releases.record_newest(&mut self.turn);
        self.take_annotation();
        self.turn.take_commands()
    }

    fn take_in(&mut self, event: Event) {
        match event {
            Event::Git(event) => self.on_git(event),
            Event::Cluster(event) => self.on_cluster(event),
            Event::Checks(event) => self.on_checks(event),
            Event::People(PeopleEvent::Steered(steering)) => self.steered(steering),
            Event::People(PeopleEvent::WebhookReceived(hint)) => self.webhook_received(&hint),
            Event::Time(event) => self.on_time(event),
        }
    }

    /// Returns true while checks are being written.
    pub(crate) fn is_publishing(&self) -> bool {
        self.turn.checks.is_busy()
    }

    fn on_git(&mut self, event: GitEvent) {
        match event {
            GitEvent::DirectoryChanged => self.look_now(),
            GitEvent::Fetched(fetched) => self.fetched(*fetched),
            GitEvent::Examined(examined) => self.examined(*examined),
            GitEvent::StartupRefsRead(refs) => self.startup_refs_read(refs),
            GitEvent::Sorted(sorted) => {
                self.plans.sorted(&sorted, &mut self.turn);
                self.plan_next();
            }
            GitEvent::Planned(planned) => {
                self.plans
                    .planned(*planned, self.heads.newest(), &mut self.turn);
                self.plan_next();
            }
            GitEvent::AppliedRead(number, applied) => {
                self.releases.applied_read(number, applied, &mut self.turn);
                self.plan_next();
            }
            GitEvent::ApprovalsRead(request, approvals) => {
                let approvals = approvals.map(|approvals| *approvals);
                self.releases
                    .approvals_read(request, approvals, &mut self.turn);
            }
        }
    }

    fn on_cluster(&mut self, event: ClusterEvent) {
        let (releases, turn) = (&mut self.releases, &mut self.turn);
        match event {
            ClusterEvent::Reported(number, report) => self.reported(number, report),
            ClusterEvent::ApprovalsAsked(request) => releases.approvals_asked(request, turn),
            ClusterEvent::RunnerEnded => releases.runner_ended(turn),
            ClusterEvent::NewestRecorded(recorded) => {
                let (newest, answer) = *recorded;
                releases.newest_recorded(newest, answer, turn);
            }
            ClusterEvent::AnnotationTaken(text, answer) => {
                self.annotation_taken(&text, answer);
            }
        }
    }

    fn on_checks(&mut self, event: ChecksEvent) {
        match event {
            ChecksEvent::Probed(answer) => self.turn.checks.probed(&answer),
            ChecksEvent::Published(answer) => self.published(&answer),
            ChecksEvent::EarlierRead(None) => self.forge.defer_earlier(),
            ChecksEvent::EarlierRead(Some(earlier)) => {
                let EarlierChecks { pending, waiting } = earlier;
                self.leave_pending(pending);
                self.leave_waiting(waiting);
            }
            ChecksEvent::Attributed(commits) => self.forge.note_attributed(commits),
            ChecksEvent::AttributionEnded => self.forge.end_attribution(),
            ChecksEvent::PressAnswered(press, answer) => self.press_answered(&press, answer),
            ChecksEvent::CommentsRead(answers) => self.comments_read(answers),
        }
    }

    fn on_time(&mut self, event: TimeEvent) {
        match event {
            TimeEvent::Look(alarm) => {
                if self.polling.begin_due(alarm, self.turn.now.wall) {
                    self.turn.push(Command::Fetch);
                }
                self.set_look_alarm();
            }
            TimeEvent::Progress => {
                self.releases.report_progress(&mut self.turn);
                if let Some(waiting) = self.releases.waiting()
                    && self.plans.set_waiting(waiting)
                {
                    self.plan_next();
                }
            }
            // Whatever is due is written and assigned after every event.
            TimeEvent::Announced | TimeEvent::RetryChecks => {}
            TimeEvent::Reexamine(revision) => self.reexamine(&revision),
            TimeEvent::Reassign(number) => self.releases.reassign(number, &mut self.turn),
            TimeEvent::RecordNewest => self.releases.retry_record(),
            TimeEvent::TakeAnnotation => self.annotation.retry(),
            TimeEvent::Attribute(number) => self.ask_attribution(number),
            TimeEvent::Replan(candidate) => {
                self.plans.retry(&candidate);
                self.plan_next();
            }
            TimeEvent::Overdue(candidate) => {
                self.plans.overdue(*candidate, &mut self.turn);
                self.plan_next();
            }
        }
    }

    /// Looks at the repository now, or once more after the look under way.
    fn look_now(&mut self) {
        if self.polling.want() {
            self.turn.push(Command::Fetch);
        }
    }

    fn fetched(&mut self, fetched: FetchResult) {
        // What is still on its way is not announced again.
        let is_partial = fetched.refs.as_ref().is_ok_and(|refs| refs.refs.is_none());
        match fetched.refs {
            Ok(refs) => {
                self.refs_moved(&refs);
                self.read_comments();
            }
            Err(error) => self.unreachable(error),
        }
        let wait = if is_partial {
            self.turn.settings.interval
        } else {
            let most = fetched.next_within.unwrap_or(Duration::MAX);
            self.polling.wait().min(most)
        };
        if self.polling.ended(self.turn.now.wall.saturating_add(wait)) {
            self.turn.push(Command::Fetch);
        }
        self.set_look_alarm();
    }

    fn set_look_alarm(&mut self) {
        let now = self.turn.now.wall;
        if let Some(alarm) = self.polling.arm(now) {
            let wait = Wait::Wall(alarm.saturating_sub(now));
            self.turn.wake(wait, TimeEvent::Look(alarm));
        }
    }

    /// Shows that the repository, or what is followed in it, cannot be reached.
    fn unreachable(&mut self, error: AdapterError) {
        self.polling.failed();
        let applied = self.releases.applied_revision();
        let shown = match applied.filter(|_| !self.turn.settings.is_check_only) {
            Some(revision) => AdapterError::new(
                error.class(),
                format!("{error}. The last good revision {revision} stays applied"),
            ),
            None => error,
        };
        let change = ViewChange::Source(Some(shown));
        self.turn.push(Command::Show(change));
    }

    fn reachable(&mut self) {
        if self.polling.worked() {
            let url = &self.turn.settings.source;
            tracing::info!(url, "the source is reachable again");
        }
        if self.forge.begin_probe() {
            self.turn.push(Command::Probe);
        }
        self.turn.push(Command::Show(ViewChange::Source(None)));
    }

    fn refs_moved(&mut self, remote: &RemoteRefs) {
        self.reachable();
        let is_move = self.heads.look(&remote.head);
        if self.polling.looked(is_move) {
            let seconds = self.polling.wait().as_secs();
            tracing::warn!(
                seconds,
                "no webhook announced this push: the repository is polled more often again"
            );
        }
        if remote.signed_anew {
            self.heads.renew();
        }
        self.examine_next();
        if let Some(refs) = &remote.refs {
            self.plans.look(refs, &remote.head, &mut self.turn);
            self.forget();
            self.plan_next();
        }
    }

    /// Examines the newest commit, unless it was examined, or another is being.
    fn examine_next(&mut self) {
        if let Some(revision) = self.heads.begin() {
            let before = self.releases.cluster_state(&self.turn);
            let is_first = self.releases.is_new();
            self.turn.push(Command::Examine {
                revision,
                before,
                is_first,
            });
        }
    }

    /// Examines a commit again, if it was examined last and none is being examined.
    fn reexamine(&mut self, revision: &str) {
        if self.heads.again(revision) {
            self.examine_next();
        }
    }

    fn examined(&mut self, mut examined: ExamineResult) {
        self.heads.end();
        self.plans.set_base(examined.base.take());
        match examined.left_pending.take() {
            Some(left) => self.leave_pending(left),
            None => self.forge.defer_earlier(),
        }
        let place = Place {
            is_newest: self.heads.is_newest(&examined.revision),
            is_last: self.heads.is_current(),
        };
        self.releases.examined(examined, place, &mut self.turn);
        self.examine_next();
        self.plan_next();
    }

    fn startup_refs_read(&mut self, refs: StartupRefs) {
        self.plans.open(refs.open);
        match refs.waiting {
            Some(waiting) => self.leave_waiting(waiting),
            None => {
                self.forge.defer_earlier();
                self.show_waiting();
            }
        }
        self.plan_next();
    }

    /// Takes in which commits an earlier process left waiting for a plan.
    fn leave_waiting(&mut self, commits: Vec<String>) {
        let context = self.turn.plan_context();
        for commit in commits {
            self.turn.checks.leave(&context, &commit, String::new());
        }
        self.show_waiting();
    }

    /// Takes in which sync checks an earlier process left pending: their revisions and titles.
    fn leave_pending(&mut self, checks: Vec<(String, String)>) {
        let context = self.turn.sync_context();
        for (revision, title) in checks {
            self.turn.checks.leave(&context, &revision, title);
        }
    }

    fn show_waiting(&mut self) {
        self.plans.show_waiting(self.heads.newest(), &mut self.turn);
    }

    /// Begins the next plans. A commit of the followed ref comes first: candidates are merged onto it.
    fn plan_next(&mut self) {
        if self.heads.is_examining() || !self.releases.knows_applied() {
            return;
        }
        if let Some(head) = self.heads.newest() {
            let applied = self.releases.applied();
            self.plans
                .begin_next(head, applied.as_ref(), &self.comments, &mut self.turn);
        }
    }

    fn reported(&mut self, number: u64, report: Report) {
        let reported = self.releases.reported(number, report, &mut self.turn);
        if reported.is_comparable {
            self.plan_next();
        }
        // What it would own a second time may be gone by now.
        if let Some(refused) = self
            .releases
            .refused()
            .filter(|_| reported.is_first_settled)
        {
            self.reexamine(&refused);
        }
    }

    /// Goes on with what the forge has said by now of how commits came in whose messages approve something, and has it asked
    /// again for the rest.
    fn attribute(&mut self) {
        let known = self.forge.attributed();
        let is_known = |commit: &&String| known.contains(*commit);
        let answered: BTreeSet<String> = self.unattributed().filter(is_known).cloned().collect();
        if !answered.is_empty() {
            self.attributed(&answered);
        }
        if self.unattributed().next().is_none() {
            return self.forge.rest();
        }
        if let Some((pause, number)) = self.forge.wait_for_attribution() {
            let wait = Wait::Wall(pause);
            self.turn.wake(wait, TimeEvent::Attribute(number));
        }
    }

    /// The commits with approvals of which the forge has not said how they came in.
    fn unattributed(&self) -> impl Iterator<Item = &String> {
        let of_release = self.releases.unattributed();
        of_release.chain(self.plans.unattributed())
    }

    fn ask_attribution(&mut self, number: u64) {
        if self.forge.begin_attribution(number) {
            self.turn.push(Command::Attribute {
                of_release: self.releases.unattributed().cloned().collect(),
                of_plans: self.plans.unattributed().cloned().collect(),
            });
        }
    }

    fn attributed(&mut self, commits: &BTreeSet<String>) {
        self.forge.forget_attributed(commits);
        self.releases.attributed(commits, &mut self.turn);
        if self.plans.attributed(commits) {
            self.show_waiting();
            self.plan_next();
        }
    }

    /// Ends the checks of revisions that nothing works on any more, so that none is pending for ever. A newer revision
    /// took the place of each: in this process, or since an earlier one that left it pending.
    fn end_abandoned(&mut self) {
        let heads = &self.heads;
        let is_settled = !heads.is_examining() && heads.is_current();
        let examined = heads.examined().filter(|_| is_settled);
        let Some(newer) = self.releases.accepted().or(examined) else {
            return;
        };
        // While the settings suspend the fleet, the newest revision waits.
        let waiting = heads.examined().filter(|_| self.turn.settings.suspend);
        let context = self.turn.sync_context();
        let pending = self.turn.checks.pending(&context);
        let ended: Vec<_> = pending
            .filter(|(revision, _)| *revision != newer && Some(*revision) != waiting)
            .map(|(revision, title)| {
                report::superseded(&self.turn.settings.fleet, revision, newer, title)
            })
            .collect();
        for check in ended {
            self.turn.set_check(check);
        }
    }

    /// Has checks written that are due, unless others are being written.
    fn publish(&mut self) {
        let now = self.turn.now;
        loop {
            match self.turn.checks.next(now) {
                Next::Write(checks) => return self.turn.push(Command::Publish(checks)),
                Next::Refresh(at) => {
                    let wait = Duration::try_from(at.duration_since(now.cluster));
                    let wait = Wait::Cluster(wait.unwrap_or_default());
                    self.turn.wake(wait, TimeEvent::Progress);
                }
                Next::Retry(at) => {
                    let wait = Wait::Wall(at.saturating_sub(now.wall));
                    self.turn.wake(wait, TimeEvent::RetryChecks);
                }
                Next::Nothing => return,
            }
        }
    }

    fn published(&mut self, answer: &Result<Vec<Later>, AdapterError>) {
        if answer.is_ok() {
            self.read_earlier_checks();
        }
        let now = self.turn.now;
        self.turn.checks.answered(answer.as_deref(), now);
    }

    /// Reads once more what an earlier process left pending, if that could not be read at the start: the credential was
    /// missing, or the forge away.
    fn read_earlier_checks(&mut self) {
        let revision = self.releases.accepted().or_else(|| self.heads.examined());
        if let Some(revision) = revision.map(str::to_owned)
            && self.forge.begin_earlier()
        {
            self.turn.push(Command::ReadEarlierChecks(revision));
        }
    }

    /// Lets go of revisions that no ref leads to any more.
    fn forget(&mut self) {
        let newest = self.heads.newest().map(str::to_owned);
        let accepted = self.releases.accepted().map(str::to_owned);
        let keep: BTreeSet<String> = newest
            .into_iter()
            .chain(accepted)
            .chain(self.releases.applied_revision())
            .chain(self.plans.commits())
            .collect();
        let checks = &mut self.turn.checks;
        checks.forget(|revision| keep.contains(revision));
        let change = ViewChange::KeepChecks(checks.known());
        self.turn.push(Command::Show(change));
    }
}

#[cfg(test)]
impl Follower {
    /// Takes in what happened, and no more: nothing is written or assigned for it yet.
    pub(crate) fn only(&mut self, event: Event, now: Now) -> Vec<Command> {
        self.turn.now = now;
        self.take_in(event);
        self.turn.take_commands()
    }

    pub(crate) const fn parts(&mut self) -> Parts<'_> {
        Parts {
            turn: &mut self.turn,
            heads: &mut self.heads,
            polling: &mut self.polling,
            plans: &mut self.plans,
            releases: &mut self.releases,
            forge: &mut self.forge,
        }
    }
}

/// The parts of a follower, for tests of the loop.
#[cfg(test)]
pub(crate) struct Parts<'a> {
    pub(crate) turn: &'a mut Turn,
    pub(crate) heads: &'a mut Heads,
    pub(crate) polling: &'a mut Polling,
    pub(crate) plans: &'a mut Plans,
    pub(crate) releases: &'a mut Releases,
    pub(crate) forge: &'a mut ForgeQuestions,
}
