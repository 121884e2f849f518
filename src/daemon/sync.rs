//! The followed ref: a good revision is announced, prepared, applied and watched; a broken one is
//! reported and the last good one stays applied.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::failure::Failure;
use super::job::{Before, Examined, Judged, Prepared};
use super::newest_record::{self, EMPTIED};
use super::revision::{Stage, Sync};
use super::{Daemon, Event};
use crate::adapters::git::RetainedRef;
use crate::apply::{AppliedRevision, AppliedState};
use crate::apply::{Newest, Report, Tracker};
use crate::compile::Compiled;
use crate::model::{Check, CheckState, ErrorClass};
use crate::reporting::finding_lines;
use crate::reporting::report;

/// Events that come within this time are reported together.
const BATCH: Duration = Duration::from_millis(100);
/// How long applying waits for the pending check of a revision: the other side may not answer.
const ANNOUNCEMENT: Duration = Duration::from_secs(5);
/// How long what failed for no fault of the commit waits before it is tried again.
pub(super) const RETRY: Duration = Duration::from_secs(15);

impl Daemon {
    /// The revision that is applied, or about to be.
    pub(super) fn applied(&self) -> Option<String> {
        self.applied_revision().map(|(revision, _)| revision)
    }

    /// The same with its plan.
    pub(super) fn applied_revision(&self) -> Option<AppliedRevision> {
        match &self.sync {
            Some(sync) => sync.applied(),
            None => self.left_applied.clone(),
        }
    }

    /// What the next revision is compared with.
    pub(super) fn before(&self) -> Before {
        let now = self.engine.target.clock.now();
        let Some(applied) = self.applied_revision() else {
            return Before::Ask(self.engine.target.client.clone());
        };
        match &self.sync {
            Some(sync) if !sync.settled && !sync.has_failed(now) => Before::Partly(Some(applied)),
            _ => Before::Done(applied),
        }
    }

    /// The revision that was accepted last, although the fleet may be suspended.
    pub(super) fn accepted(&self) -> Option<String> {
        self.sync.as_ref().map(|sync| sync.revision.clone())
    }

    pub(super) fn examined(&mut self, examined: Examined) {
        self.heads.end();
        let Examined {
            revision,
            title,
            outcome,
            fallback,
            left_pending,
            left_applied,
        } = examined;
        self.left_applied = left_applied.or(self.left_applied.take());
        self.left_unknown |= left_pending.is_none();
        self.left_pending(left_pending.unwrap_or_default());
        let good = self.applied();
        let good = good.or_else(|| fallback.as_ref().map(|(revision, _)| revision.clone()));
        let good = good.as_deref();
        match outcome {
            Ok(Judged::Sound(prepared)) if self.is_emptied(&prepared, fallback.is_some()) => {
                self.reject_empty(&revision, &title, good);
                self.fall_back(fallback);
            }
            Ok(Judged::Sound(prepared)) => self.accept(revision, &title, prepared),
            Ok(Judged::Broken(compiled)) => {
                self.reject_broken(&revision, &title, &compiled, good);
                self.fall_back(fallback);
            }
            Err(failure) => {
                self.reject_unreadable(&revision, &title, &failure, good);
                self.fall_back(fallback);
            }
        }
        self.examine_next();
        self.plan_next();
    }

    /// Whether this is a revision without objects after one that had some.
    fn is_emptied(&self, prepared: &Prepared, after_good: bool) -> bool {
        let before = self.sync.as_ref();
        let had_objects = before.is_some_and(|sync| !sync.prepared.is_empty());
        prepared.is_empty() && (had_objects || after_good)
    }

    fn reject_empty(&mut self, revision: &str, title: &str, good: Option<&str>) {
        tracing::warn!(revision, title, stays = good, "not applied: {EMPTIED}");
        let check = report::emptied(&self.config.fleet, revision, good);
        self.newest.reject(Newest::refused(revision, EMPTIED));
        self.set_check(check);
    }

    fn reject_broken(
        &mut self,
        revision: &str,
        title: &str,
        compiled: &Compiled,
        good: Option<&str>,
    ) {
        let check = report::refused(&self.config.fleet, revision, compiled, good);
        tracing::warn!(revision, title, stays = good, "{}", check.title);
        for line in finding_lines(&compiled.findings) {
            tracing::warn!("{line}");
        }
        let why = newest_record::errors(compiled);
        self.newest.reject(Newest::refused(revision, &why));
        self.set_check(check);
    }

    /// A revision without errors: it is applied, if it still is the newest.
    fn accept(&mut self, revision: String, title: &str, prepared: Prepared) {
        let objects = prepared.plan.steps.len();
        self.newest.accept();
        if self.config.suspend {
            self.newest
                .reject(Newest::waiting(&revision, Newest::BY_DOCUMENT));
            tracing::info!(
                revision,
                title,
                objects,
                "valid, but the fleet is suspended"
            );
            let applied = self.applied();
            let applied = applied.filter(|applied| *applied != revision);
            self.set_check(report::suspended(
                &self.config.fleet,
                &revision,
                applied.as_deref(),
            ));
        } else if self.accepted().as_ref() == Some(&revision) {
            tracing::info!(revision, title, objects, "already applied");
        } else if self.heads.is_newest(&revision) {
            tracing::info!(revision, title, objects, "applying");
            self.begin(revision, prepared);
        }
    }

    fn reject_unreadable(
        &mut self,
        revision: &str,
        title: &str,
        failure: &Failure,
        good: Option<&str>,
    ) {
        tracing::warn!(revision, title, stays = good, error = %failure, "not applied: {}", failure.summary());
        let fleet = &self.config.fleet;
        self.set_check(report::unreadable(fleet, revision, &failure.fault(), good));
        let why = format!("{}: {failure}", failure.summary());
        self.newest.reject(Newest::refused(revision, &why));
        // What a bug does once it does again.
        if failure.class() == ErrorClass::Transient {
            self.after(RETRY, Event::Reexamine(revision.to_owned()));
        }
    }

    /// Applies an older good revision, when nothing is applied yet.
    fn fall_back(&mut self, fallback: Option<(String, Prepared)>) {
        if self.sync.is_some() || self.config.suspend {
            return;
        }
        // A newer commit that waits to be examined is looked at first.
        if let Some((revision, prepared)) = fallback.filter(|_| self.heads.is_current()) {
            tracing::info!(revision, "applying the last good revision");
            self.begin(revision, prepared);
        }
    }

    /// Takes a good revision up: first its pending check goes out.
    fn begin(&mut self, revision: String, mut prepared: Prepared) {
        let now = self.engine.target.clock.now();
        let mut tracker = Tracker::new(&prepared.graph, self.config.settle, now);
        let mut applied = AppliedState::Unknown;
        if let Some(before) = self.sync.take() {
            applied = before
                .applied()
                .map_or_else(|| before.applied.clone(), AppliedState::Earlier);
            if let AppliedState::Earlier((_, Some(plan))) = &applied {
                prepared.notes.compare(plan, &prepared.plan);
            }
            tracker = tracker.carrying(&before.tracker);
        }
        self.source.take_up(&revision);
        self.syncs += 1;
        let sync = Sync {
            number: self.syncs,
            revision,
            prepared,
            leaving: BTreeMap::new(),
            unseen: BTreeMap::new(),
            staying: BTreeMap::new(),
            settled: false,
            stuck: None,
            suspended: self.suspended(),
            applied,
            tracker,
            stage: self.announcing(),
        };
        let check = self.show_progress(&sync, CheckState::Pending);
        self.sync = Some(sync);
        self.end_abandoned();
        self.set_check(check);
    }

    /// The check of `sync` as it is now, which is also shown in the view.
    fn show_progress(&self, sync: &Sync, state: CheckState) -> Check {
        let now = self.engine.target.clock.now();
        let (summary, clusters) = sync.tracker.overview(now);
        let (fleet, revision) = (&self.config.fleet, &sync.revision);
        let check = match &sync.stuck {
            Some(why) => report::stuck(fleet, revision, state, why),
            None if sync.is_emptied() => report::emptied(fleet, revision, None),
            None => {
                let (shown, graph) = ((&summary, &*clusters), &sync.prepared.graph);
                let check = report::progress(fleet, revision, state, shown, &sync.leaving, graph);
                let check = report::unseen(check, &sync.unseen);
                let check = report::staying(check, &sync.staying);
                let granted = self.source.granted(revision);
                report::asked(check, &sync.leaving, &granted, self.source.has_buttons())
            }
        };
        let check = report::noted(check, &sync.prepared.notes);
        let check = match &sync.suspended {
            Some(since) => report::paused(fleet, check, since, &sync.applied),
            None => check,
        };
        self.metrics.applies(fleet, revision);
        self.view.send_modify(|view| {
            view.revision = Some(revision.clone());
            view.title.clone_from(&check.title);
            view.summary = Some(summary);
            view.clusters = clusters;
        });
        check
    }

    /// The first stage, which ends when the announcement is out, or after [`ANNOUNCEMENT`].
    fn announcing(&self) -> Stage {
        let until = Instant::now() + ANNOUNCEMENT;
        let events = self.events.clone();
        let alarm = tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            let _ = events.send(Event::Tick);
        });
        Stage::Announced {
            until,
            _alarm: AbortOnDropHandle::new(alarm),
        }
    }

    /// Goes on with a revision whose announcement is out, or could not be brought out.
    pub(super) fn advance(&mut self) {
        let now = self.now();
        let Some(sync) = &mut self.sync else { return };
        let Stage::Announced { until, .. } = &sync.stage else {
            return;
        };
        if Instant::now() < *until && self.checks.has_due(&sync.revision, now) {
            return;
        }
        sync.stage = Stage::Preparing;
        let (number, graph) = (sync.number, Arc::clone(&sync.prepared.graph));
        let prepare = Arc::clone(&self.engine.prepare);
        self.jobs.spawn(async move {
            let _ = AssertUnwindSafe(prepare(graph)).catch_unwind().await;
            Event::Prepared(number)
        });
    }

    pub(super) fn prepared(&mut self, number: u64) {
        if self.sync.as_ref().is_some_and(|sync| sync.number == number) {
            self.assign();
        }
    }

    pub(super) fn reported(&mut self, number: u64, report: Report) {
        let Some(sync) = self.sync.as_mut().filter(|sync| sync.number == number) else {
            return;
        };
        let settles = matches!(report, Report::Settled) && !sync.settled;
        if matches!(report, Report::Settled) {
            self.source.retain(RetainedRef::Applied, &sync.revision);
        }
        let is_suspended = matches!(report, Report::Suspended(_));
        let was_unknown = matches!(sync.applied, AppliedState::Unknown);
        let (is_change, recalls) = match report {
            Report::Suspended(suspension) => (true, sync.suspend(suspension)),
            report => (sync.note(report), None),
        };
        let Stage::Running(run) = &mut sync.stage else {
            return;
        };
        let is_due = is_change && !run.report_due;
        run.report_due |= is_change;
        // The parent may have been read just before somebody resumed the fleet; or it is suspended, and
        // that is not noticed yet.
        let steering = self.steering.as_ref();
        if is_suspended && steering.is_some_and(|steering| steering.suspended.is_none()) {
            self.after(RETRY, Event::Restart(number));
        }
        if is_due {
            self.after(BATCH, Event::Tick);
        }
        match recalls {
            Some(revision) => self.recall(number, revision),
            None if was_unknown => self.plan_next(),
            None => {}
        }
        if settles {
            self.reexamine_refused();
        }
    }

    /// Examines the newest commit again if it was refused: what it would own a second time may be gone by now.
    fn reexamine_refused(&mut self) {
        let refused = self.newest.rejected.as_ref();
        let refused = refused.filter(|newest| newest.is_refused);
        if let Some(revision) = refused.map(|newest| newest.revision.clone()) {
            self.reexamine(&revision);
        }
    }

    /// Reads again what an earlier process applied, to compare with.
    fn recall(&mut self, number: u64, revision: String) {
        let unread = revision.clone();
        self.blocking(
            move |source| {
                let plan = source.recall(&revision);
                Event::Recalled(number, (revision, plan))
            },
            move |_| Event::Recalled(number, (unread, None)),
        );
    }

    pub(super) fn recalled(&mut self, number: u64, applied: AppliedRevision) {
        let sync = self.sync.as_mut().filter(|sync| sync.number == number);
        if let Some(sync) = sync.filter(|sync| matches!(sync.applied, AppliedState::Unknown)) {
            sync.applied = AppliedState::Earlier(applied);
            self.report_progress();
        }
        self.plan_next();
    }

    /// Says how far the revision has come.
    pub(super) fn report_progress(&mut self) {
        let now = self.engine.target.clock.now();
        let Some(mut sync) = self.sync.take() else {
            return;
        };
        let emptied = sync.is_emptied();
        if let Stage::Running(run) = &mut sync.stage {
            run.report_due = false;
            let ready = !emptied && sync.settled && sync.tracker.is_ready();
            if ready {
                self.source.retain(RetainedRef::Ready, &sync.revision);
            }
            let terminal = emptied || sync.stuck.is_some() || sync.tracker.is_terminal();
            let wait = run.verdict.judge(ready, terminal, now);
            let state = run.verdict.state;
            let check = self.show_progress(&sync, state);
            self.set_check(check);
            if let Some(wait) = wait {
                self.after(self.engine.target.clock.real(wait), Event::Tick);
            }
        }
        self.sync = Some(sync);
    }
}
