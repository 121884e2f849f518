//! Checks on their way out: shown in the view, and written by the sink.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;

use super::failure::Failure;
use super::{Daemon, Event};
use crate::model::{AdapterError, Check, Later};
use crate::reporting::report;
use crate::reporting::sync_context;
use crate::reporting::{Next, Now};

impl Daemon {
    /// Sets a check and shows it in the view.
    pub(super) fn set_check(&mut self, check: Check) {
        let key = (check.context.clone(), check.revision.clone());
        self.checks.set(check);
        let Some(check) = self.checks.wanted(&key.0, &key.1) else {
            return;
        };
        self.view.send_if_modified(|view| {
            view.checks.insert(key, check.clone()).as_ref() != Some(check)
        });
    }

    /// Ends the checks of revisions that nothing works on any more, so that none is pending for ever. A newer revision
    /// took the place of each: in this process, or since an earlier one that left it pending.
    pub(super) fn end_abandoned(&mut self) {
        let heads = &self.heads;
        let is_settled = !heads.is_examining() && heads.is_current();
        let examined = heads.examined().filter(|_| is_settled);
        let Some(newer) = self.accepted().or_else(|| examined.map(str::to_owned)) else {
            return;
        };
        // While the settings suspend the fleet, the newest revision waits.
        let waiting = heads.examined().filter(|_| self.config.suspend);
        let fleet = &self.config.fleet;
        let context = sync_context(fleet);
        let pending = self.checks.pending(&context);
        let abandoned =
            pending.filter(|(revision, _)| *revision != newer && Some(*revision) != waiting);
        let ended =
            abandoned.map(|(revision, title)| report::superseded(fleet, revision, &newer, title));
        for check in ended.collect::<Vec<_>>() {
            self.set_check(check);
        }
    }

    /// Starts a write when something is due and none is under way.
    pub(super) fn publish(&mut self) {
        let now = self.now();
        loop {
            match self.checks.next(now) {
                Next::Write(checks) => return self.write(checks, now),
                Next::Refresh(at) => {
                    let wait = at.duration_since(now.cluster);
                    let wait = Duration::try_from(wait).unwrap_or_default();
                    self.after(self.engine.target.clock.real(wait), Event::Tick);
                }
                Next::Retry(at) => self.after(at.saturating_sub(now.wall), Event::Retry),
                Next::Nothing => return,
            }
        }
    }

    fn write(&mut self, checks: Vec<Check>, now: Now) {
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
        let sink = Arc::clone(&self.sink);
        self.jobs.spawn(async move {
            let written = AssertUnwindSafe(sink.publish(&checks, now.cluster)).catch_unwind();
            let bug = |panic: Box<dyn std::any::Any + Send>| Err(Failure::caught(&*panic).into());
            Event::Published(written.await.unwrap_or_else(bug))
        });
    }

    /// Asks, once, whether checks can be written. Nothing waits for it.
    pub(super) fn probe(&mut self) {
        if !std::mem::replace(&mut self.probed, true) {
            let sink = Arc::clone(&self.sink);
            self.jobs
                .spawn(async move { Event::Probed(sink.probe().await) });
        }
    }

    pub(super) fn probed(&mut self, answer: &Result<(), AdapterError>) {
        self.metrics.forge_allows(self.sink.rate_remaining());
        self.checks.probed(answer);
    }

    /// Takes in how a write of checks ended.
    pub(super) fn published(&mut self, answer: &Result<Vec<Later>, AdapterError>) {
        if answer.is_ok() {
            self.ask_left();
        }
        let later = answer.as_ref().map_or(0, Vec::len);
        let written = self.checks.under_way().saturating_sub(later);
        self.metrics.published(written, answer.is_ok());
        self.metrics.forge_allows(self.sink.rate_remaining());
        let now = self.now();
        self.checks.answered(answer.as_deref(), now);
    }

    /// Lets go of revisions that no ref leads to any more.
    pub(super) fn forget(&mut self) {
        let newest = self.heads.newest().map(str::to_owned);
        let current = newest.into_iter().chain(self.accepted());
        let current = current.chain(self.applied());
        let keep: Vec<String> = current.chain(self.candidates.commits()).collect();
        self.checks
            .forget(|revision| keep.iter().any(|kept| kept == revision));
        let checks = &self.checks;
        self.view.send_if_modified(|view| {
            let is_known =
                |(context, revision): &(String, String)| checks.wanted(context, revision).is_some();
            view.checks.retain(|key, _| is_known(key));
            false
        });
    }
}
