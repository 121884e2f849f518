//! The commands of the follower, each carried out by one function.
//!
//! In: a command. Out: a job that ends in an event, where it says more than that it was done. What takes time runs beside the
//! loop; should it panic, the event says so, and nobody waits for ever.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt as _;
use tracing::Instrument as _;

use super::earlier_checks::earlier_checks;
use super::examine::examine;
use super::failure::{Failure, unplanned};
use super::last_applied::LastApplied;
use super::source::Source;
use super::startup_refs::{sorted, startup_refs};
use super::{comments, press, recreation};
use crate::adapters::git::RetainedRef;
use crate::adapters::kubernetes::{self, Input};
use crate::apply::{ApprovalsRequest, Assignment, Newest};
use crate::daemon::Daemon;
use crate::daemon::spans::within_span;
use crate::follow::{
    Candidate, ChecksEvent, ClusterEvent, ClusterState, Command, CommentQuestion, Event,
    ExamineResult, FetchResult, GitEvent, Milestone, PlanRequest, PlanResult, PressAnswer, Record,
    StartupRefs, TimeEvent, ViewChange, Wait,
};
use crate::model::{AdapterError, Check, Press};
use crate::plan::losses::Unit;
use crate::reporting::sync_context;

impl Daemon {
    pub(in crate::daemon) fn carry_out(&mut self, command: Command) {
        match command {
            Command::Fetch => self.fetch(),
            Command::Examine {
                revision,
                before,
                is_first,
            } => self.examine(revision, before, is_first),
            Command::ReadStartupRefs { candidates, base } => {
                self.read_startup_refs(candidates, base);
            }
            Command::Sort(candidates) => self.sort(candidates),
            Command::Plan(request) => self.plan(*request),
            Command::ReadApplied { number, revision } => self.read_applied(number, revision),
            Command::ReadApprovals { request, revision } => self.read_approvals(request, revision),
            Command::Publish(checks) => self.publish(checks),
            Command::Probe => self.probe(),
            Command::ReadEarlierChecks(revision) => self.read_earlier_checks(revision),
            Command::Attribute {
                of_release,
                of_plans,
            } => self.attribute(of_release, of_plans),
            Command::AskPress(asked) => self.ask_press(asked.0, asked.1),
            Command::ReadComments(questions) => self.read_comments(questions),
            Command::RecordNewest { newest, may_create } => self.record_newest(newest, may_create),
            Command::TakeAnnotation(text) => self.take_annotation(text),
            Command::Assign(assignment) => self.assign(assignment),
            // Should the runner have ended, an event says so.
            Command::Approve(answer) => {
                if let Some(runner) = &self.runner {
                    runner.send(Input::Approve(answer));
                }
            }
            Command::Recreate(clusters) => self.recreate(clusters),
            Command::Record(record) => self.record(record),
            Command::Show(change) => self.show(change),
            Command::Wake(wait, event) => self.wake(wait, event),
        }
    }

    /// Runs `work` on a thread of its own. Should it panic, `failed` says what that comes to.
    fn blocking(
        &mut self,
        work: impl FnOnce(&Source) -> GitEvent + Send + 'static,
        failed: impl FnOnce(Failure) -> GitEvent + Send + 'static,
    ) {
        let source = Arc::clone(&self.source);
        self.jobs.spawn_blocking(within_span(move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&source)));
            Event::Git(done.unwrap_or_else(|panic| failed(Failure::caught(&*panic))))
        }));
    }

    /// Waits for `asked` beside the loop. Should it panic, `failed` says what that comes to.
    fn waiting(
        &mut self,
        asked: impl Future<Output = Event> + Send + 'static,
        failed: impl FnOnce(Failure) -> Event + Send + 'static,
    ) {
        let answer = async move {
            let answer = AssertUnwindSafe(asked).catch_unwind().await;
            answer.unwrap_or_else(|panic| failed(Failure::caught(&*panic)))
        };
        self.jobs.spawn(answer.in_current_span());
    }

    fn fetch(&mut self) {
        let fetched = |source: &Source, refs| {
            let next_within = source.revisions.next_look_within();
            GitEvent::Fetched(Box::new(FetchResult { refs, next_within }))
        };
        let source = Arc::clone(&self.source);
        self.blocking(
            move |source| {
                let refs = source.fetch();
                let refs =
                    refs.map_err(|error| AdapterError::new(error.class(), error.to_string()));
                fetched(source, refs)
            },
            move |failure| fetched(&source, Err(failure.into())),
        );
    }

    fn examine(&mut self, revision: String, before: ClusterState, is_first: bool) {
        let (source, sink) = (Arc::clone(&self.source), Arc::clone(&self.ports.checks));
        let (client, unread) = (self.target.client.clone(), revision.clone());
        let examined = |result| Event::Git(GitEvent::Examined(Box::new(result)));
        let asked = async move {
            let before = match source.config.is_check_only() {
                true => LastApplied::nothing(),
                false => LastApplied::read(before, &client, &source.set).await,
            };
            examined(examine(source, &*sink, revision, before, is_first).await)
        };
        self.waiting(asked, move |failure| {
            examined(ExamineResult {
                left_pending: None,
                ..ExamineResult::failed(unread, failure.into())
            })
        });
    }

    fn read_startup_refs(&mut self, candidates: Vec<Candidate>, base: String) {
        let (source, sink) = (Arc::clone(&self.source), Arc::clone(&self.ports.checks));
        let read = |refs| Event::Git(GitEvent::StartupRefsRead(refs));
        let asked = async move {
            let revisions = Arc::clone(&source.revisions);
            let (fleet, ways) = (&source.settings.fleet, source.settings.ways);
            read(startup_refs(revisions, fleet, &*sink, candidates, base, ways.comment).await)
        };
        self.waiting(asked, move |_| read(StartupRefs::default()));
    }

    fn sort(&mut self, candidates: Vec<Candidate>) {
        self.blocking(
            move |source| GitEvent::Sorted(sorted(&source.revisions, candidates)),
            |_| GitEvent::Sorted(Vec::new()),
        );
    }

    fn plan(&mut self, request: PlanRequest) {
        let (source, unread) = (Arc::clone(&self.source), request.candidate.clone());
        let planned = |result: PlanResult| GitEvent::Planned(Box::new(result));
        self.blocking(
            move |source| planned(source.planner.plan(&source.approvals, request)),
            move |failure| planned(unplanned(&source.settings.fleet, unread, &failure)),
        );
    }

    fn read_applied(&mut self, number: u64, revision: String) {
        let unread = revision.clone();
        self.blocking(
            move |source| {
                let plan = source.compiler.recall(&revision);
                GitEvent::AppliedRead(number, (revision, plan))
            },
            move |_| GitEvent::AppliedRead(number, (unread, None)),
        );
    }

    fn read_approvals(&mut self, request: ApprovalsRequest, revision: String) {
        let unread = request.clone();
        self.blocking(
            move |source| {
                let approvals = source.approvals.for_revision(&request.applied, &revision);
                GitEvent::ApprovalsRead(request, Some(Box::new(approvals)))
            },
            move |_| GitEvent::ApprovalsRead(unread, None),
        );
    }

    pub(in crate::daemon) fn publish(&mut self, checks: Vec<Check>) {
        for check in &checks {
            let Check {
                context,
                revision,
                title,
                summary,
                ..
            } = check;
            let (state, detail, button) = (&check.state, &check.detail, &check.button);
            tracing::trace!(target: "capstan::checks", context, revision, ?state, ?detail, title, ?button, summary, "writing a check");
        }
        let context = sync_context(&self.source.settings.fleet);
        self.written.note(&checks, &context);
        let (sink, now) = (Arc::clone(&self.ports.checks), self.now().cluster);
        let metrics = Arc::clone(&self.metrics);
        let publishing = async move {
            let written = AssertUnwindSafe(sink.publish(&checks, now)).catch_unwind();
            let answer = written
                .await
                .unwrap_or_else(|panic| Err(Failure::caught(&*panic).into()));
            let later = answer.as_ref().map_or(0, Vec::len);
            metrics.published(checks.len().saturating_sub(later), answer.is_ok());
            Event::Checks(ChecksEvent::Published(answer))
        };
        self.jobs.spawn(publishing.in_current_span());
    }

    fn probe(&mut self) {
        let (sink, comments) = (Arc::clone(&self.ports.checks), self.ports.comments.clone());
        let source = Arc::clone(&self.source);
        let probed = |answer| Event::Checks(ChecksEvent::Probed(answer));
        let asked = async move {
            let answer = sink.probe().await;
            if let (Ok(()), Some(forge)) = (&answer, comments)
                && source.settings.ways.comment
            {
                comments::probe(&*forge, &source.config.approvals).await;
            }
            probed(answer)
        };
        self.waiting(asked, move |failure| probed(Err(failure.into())));
    }

    fn read_earlier_checks(&mut self, revision: String) {
        let (source, sink) = (Arc::clone(&self.source), Arc::clone(&self.ports.checks));
        let read = |earlier| Event::Checks(ChecksEvent::EarlierRead(earlier));
        let asked = async move {
            let revisions = Arc::clone(&source.revisions);
            let fleet = &source.settings.fleet;
            read(earlier_checks(revisions, fleet, &*sink, revision).await)
        };
        self.waiting(asked, move |_| read(None));
    }

    fn attribute(&mut self, of_release: BTreeSet<String>, of_plans: BTreeSet<String>) {
        let source = Arc::clone(&self.source);
        let ended = || Event::Checks(ChecksEvent::AttributionEnded);
        let asked = async move {
            source
                .approvals
                .attribution
                .ask_again(&of_release, &of_plans)
                .await;
            ended()
        };
        self.waiting(asked, move |_| ended());
    }

    fn ask_press(&mut self, press: Press, check: Option<Check>) {
        let (ports, rules) = (self.ports.clone(), self.source.config.approvals.clone());
        let unasked = press.clone();
        let answered = |press, answer| Event::Checks(ChecksEvent::PressAnswered(press, answer));
        let asked = async move {
            let answer = press::ask(&ports, &rules, &press, check).await;
            answered(press, answer)
        };
        self.waiting(asked, move |failure| {
            answered(unasked, PressAnswer::Refused(failure.into()))
        });
    }

    fn read_comments(&mut self, questions: Vec<CommentQuestion>) {
        let read = |answers| Event::Checks(ChecksEvent::CommentsRead(answers));
        let (source, forge) = (Arc::clone(&self.source), self.ports.comments.clone());
        let asked = async move {
            let Some(forge) = forge else {
                return read(Vec::new());
            };
            let (revisions, rules) = (Arc::clone(&source.revisions), &source.config.approvals);
            let record = source.approvals.recorded.record();
            let known = record.approvals().iter();
            let known = known.flat_map(|one| one.losses.iter().cloned()).collect();
            read(comments::read(revisions, &*forge, rules, &known, questions).await)
        };
        self.waiting(asked, move |_| read(Vec::new()));
    }

    fn record_newest(&mut self, newest: Option<Newest>, may_create: bool) {
        let (client, source) = (self.target.client.clone(), Arc::clone(&self.source));
        let unrecorded = newest.clone();
        let recorded = |newest, answer| {
            Event::Cluster(ClusterEvent::NewestRecorded(Box::new((newest, answer))))
        };
        let asked = async move {
            let (set, shown) = (&source.set, &source.settings.source);
            let answer =
                kubernetes::record_newest(&client, set, shown, newest.as_ref(), may_create).await;
            recorded(newest, answer.map_err(|error| error.to_string()))
        };
        self.waiting(asked, move |failure| {
            recorded(unrecorded, Err(failure.to_string()))
        });
    }

    fn take_annotation(&mut self, text: String) {
        let (client, source) = (self.target.client.clone(), Arc::clone(&self.source));
        let untaken = text.clone();
        let taken = |text, answer| Event::Cluster(ClusterEvent::AnnotationTaken(text, answer));
        let asked = async move {
            let answer = kubernetes::take_annotation(&client, &source.set, &text).await;
            taken(text, answer.map_err(|error| error.to_string()))
        };
        self.waiting(asked, move |failure| {
            taken(untaken, Err(failure.to_string()))
        });
    }

    fn assign(&mut self, assignment: Assignment) {
        let assignment = Assignment {
            without_commits: self.source.revisions.is_without_commits(),
            ..assignment
        };
        let runner = self.runner.take().unwrap_or_else(|| self.start_runner());
        // Should it have ended, an event says so.
        runner.send(Input::Assign(assignment));
        self.runner = Some(runner);
    }

    fn recreate(&mut self, clusters: BTreeSet<Unit>) {
        let client = self.target.account.clone();
        let approval = async move {
            recreation::approve(client, clusters).await;
            Event::Time(TimeEvent::Progress)
        };
        self.jobs.spawn(approval.in_current_span());
    }

    fn record(&self, record: Record) {
        let source = &self.source;
        match record {
            Record::Milestone(Milestone::Begun, revision) => source.take_up(&revision),
            Record::Milestone(Milestone::Applied, revision) => {
                source.revisions.retain(RetainedRef::Applied, &revision);
            }
            Record::Milestone(Milestone::Ready, revision) => {
                source.revisions.retain(RetainedRef::Ready, &revision);
            }
            Record::Approval(approval) => source.approvals.add(approval),
        }
    }

    fn show(&self, change: ViewChange) {
        if let ViewChange::Progress(rollout) = &change {
            let fleet = &self.source.settings.fleet;
            self.metrics.applies(fleet, &rollout.revision);
        }
        self.view.send_if_modified(|view| view.apply(change));
    }

    fn wake(&mut self, wait: Wait, event: TimeEvent) {
        let real = match wait {
            Wait::Cluster(wait) => self.target.clock.real(wait),
            Wait::Wall(wait) => wait,
        };
        let sleep = tokio::time::sleep(real);
        self.jobs.spawn(async move {
            sleep.await;
            Event::Time(event)
        });
    }
}
