//! What applies revisions: it is started when the first is assigned, and again should it end.
//!
//! In: a prepared revision, and what people approved of it. Out: its assignment to the runner, whose reports and questions
//! come back as events.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::task::AbortOnDropHandle;

use super::revision::{Run, Runner, Stage, Sync};
use super::sync::RETRY;
use super::{Daemon, Event};
use crate::adapters::git;
use crate::adapters::kubernetes::{self, Input};
use crate::apply::AppliedState;
use crate::apply::{ApprovalsAnswer, ApprovalsRequest, Assignment};
use crate::plan::approvals::Approvals;
use crate::reporting::Verdict;

/// The longest pause before an approval to recreate is passed on again.
const MOST_PAUSE: Duration = Duration::from_secs(300);

impl Daemon {
    /// Starts to apply what was prepared.
    pub(super) fn assign(&mut self) {
        let Some(sync) = &self.sync else { return };
        let assignment = self.assignment(sync);
        let runner = self.runner.take().unwrap_or_else(|| self.start_runner());
        // Should it have ended, an event says so.
        let _ = runner.inputs.send(Input::Assign(assignment));
        self.runner = Some(runner);
        if let Some(sync) = &mut self.sync {
            // Nobody needs the plan before any more, unless the parent says that the fleet is suspended after all.
            if sync.suspended.is_none() && matches!(sync.applied, AppliedState::Earlier(_)) {
                sync.applied = AppliedState::Unknown;
            }
            sync.stage = Stage::Running(Run {
                report_due: false,
                verdict: Verdict::pending(),
            });
        }
    }

    /// What to apply for `sync`.
    pub(super) fn assignment(&self, sync: &Sync) -> Assignment {
        let (plan, embedded) = (&sync.prepared.plan, &sync.prepared.embedded);
        let directory = self.source.origin.directory();
        Assignment {
            number: sync.number,
            revision: sync.revision.clone(),
            source: self.shown_source(),
            prune: self.config.prune,
            without_commits: directory.is_some_and(|directory| !directory.has_commits()),
            heeds_suspension: true,
            suspended: sync.suspended.clone(),
            ..Assignment::new(Arc::clone(plan), Arc::clone(embedded))
        }
    }

    /// It is asked what people approved of the assignment.
    pub(super) fn approvals_asked(&mut self, request: ApprovalsRequest) {
        let is_asked = |sync: &&Sync| sync.number == request.number;
        let Some(sync) = self.sync.as_ref().filter(is_asked) else {
            return;
        };
        let (revision, unread) = (sync.revision.clone(), request.clone());
        self.blocking(
            move |source| {
                let approvals = source.approvals(request.number, &request.applied, &revision);
                Event::Approved(Box::new((request, approvals)))
            },
            move |_| Event::Approved(Box::new((unread, Approvals::default()))),
        );
    }

    /// It is known what people approved of the assignment.
    pub(super) fn approved(&mut self, request: ApprovalsRequest, approvals: Approvals) {
        let recreated = approvals.recreatable();
        if !recreated.is_empty() {
            self.recreated(recreated, RETRY);
        }
        let is_current = |sync: &Sync| sync.number == request.number;
        if self.sync.as_ref().is_some_and(is_current) && approvals != Approvals::default() {
            // The check names them.
            self.report_progress();
        }
        if let Some(runner) = &self.runner {
            let approvals = approvals.given;
            let answer = ApprovalsAnswer { request, approvals };
            // Should it have ended, an event says so.
            let _ = runner.inputs.send(Input::Approve(answer));
        }
    }

    /// Somebody approved that the HCP clusters of these clusters are deleted and made again. The controllers do it, if
    /// they are in that state. What cannot be passed on is tried again after `pause`: no later commit says it again.
    pub(super) fn recreated(&mut self, clusters: BTreeSet<String>, pause: Duration) {
        let client = self.engine.target.client.clone();
        self.jobs.spawn(async move {
            let mut left = BTreeSet::new();
            for cluster in clusters {
                let (namespace, name) = cluster.split_once('/').unwrap_or_default();
                match kubernetes::approve_recreation(&client, namespace, name).await {
                    Ok(Some(uid)) => {
                        tracing::info!(cluster, uid, "approved to recreate the HCP cluster");
                    }
                    Ok(None) => {
                        tracing::warn!(cluster, "approved to recreate the HCP cluster, but there is nothing to recreate: it does not exist, is not in state 'error', ran before, or was approved already");
                    }
                    Err(error) => {
                        if pause == RETRY {
                            tracing::warn!(cluster, %error, "the approval to recreate the HCP cluster cannot be passed on yet, and is tried again; setting the annotation capstan.dev/recreate of its AROControlPlane to the uid of the HcpOpenShiftCluster does the same");
                        }
                        left.insert(cluster);
                    }
                }
            }
            if left.is_empty() {
                return Event::Tick;
            }
            tokio::time::sleep(pause).await;
            Event::Recreated(left, (pause * 2).min(MOST_PAUSE))
        });
    }

    /// Where the fleet comes from, as the cluster may show it: the user of an address may be a token.
    pub(super) fn shown_source(&self) -> String {
        git::shown(&self.config.url)
    }

    /// Starts what applies revisions.
    fn start_runner(&self) -> Runner {
        let options = kubernetes::Options {
            concurrency: self.config.concurrency,
            set: self.set.clone(),
        };
        let (inputs, input) = unbounded_channel();
        let (reports, mut reported) = unbounded_channel();
        let (questions, mut asked) = unbounded_channel();
        let target = self.engine.target.clone();
        let run = kubernetes::run(target, options, input, reports, questions);
        let events = self.events.clone();
        let task = tokio::spawn(async move {
            let forward = async {
                loop {
                    let event = tokio::select! {
                        biased;
                        Some((number, report)) = reported.recv() => Event::Report(number, report),
                        Some(request) = asked.recv() => Event::ApprovalsAsked(request),
                        else => break,
                    };
                    let _ = events.send(event);
                }
            };
            let both = futures::future::join(run, forward);
            let _ = AssertUnwindSafe(both).catch_unwind().await;
            let _ = events.send(Event::Ended);
        });
        Runner {
            inputs,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// The runner ends only when something in it panicked. It is begun again after a while.
    pub(super) fn ended(&mut self) {
        tracing::error!(
            "applying stopped because of a bug in capstan; please report it. Restarting"
        );
        self.runner = None;
        self.after(RETRY, Event::Restart(self.syncs));
    }

    pub(super) fn restart(&mut self, number: u64) {
        let sync = self.sync.as_mut().filter(|sync| sync.number == number);
        if let Some(sync) = sync.filter(|sync| matches!(sync.stage, Stage::Running(_))) {
            self.syncs += 1;
            (sync.number, sync.settled) = (self.syncs, false);
            self.assign();
        }
    }
    /// Starts a sync that has failed again.
    pub(super) fn retry_failed(&mut self) {
        let now = self.engine.target.clock.now();
        let failed = self.sync.as_ref().filter(|sync| sync.has_failed(now));
        if let Some(number) = failed.map(|sync| sync.number) {
            self.restart(number);
        }
    }
}
