//! Checks on their way out: shown in the view, and written by the sink.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;

use super::failure::Failure;
use super::{Daemon, Event, report};
use crate::model::{AdapterError, Check, CheckState, ErrorClass, Later};
use crate::reporting::Next;

impl Daemon {
    /// Sets a check and shows it in the view.
    pub(super) fn set_check(&mut self, check: Check) {
        if check.context == report::sync_context(&self.config.fleet) {
            let (revision, title) = (check.revision.clone(), check.title.clone());
            match check.state {
                CheckState::Pending => drop(self.open.insert(revision, title)),
                _ => drop(self.open.remove(&revision)),
            }
        }
        let key = (check.context.clone(), check.revision.clone());
        self.view.send_if_modified(|view| {
            view.checks.insert(key, check.clone()).as_ref() != Some(&check)
        });
        self.checks.offer(check);
    }

    /// Ends the checks of revisions that nothing works on any more, so that none is pending for ever. A newer revision
    /// took the place of each: in this process, or since an earlier one that left it pending.
    pub(super) fn end_abandoned(&mut self) {
        let is_settled = !self.examining && self.head == self.examined;
        let examined = self.examined.clone().filter(|_| is_settled);
        let Some(newer) = self.accepted().or(examined) else {
            return;
        };
        // While the settings suspend the fleet, the newest revision waits.
        let waiting = self.examined.clone().filter(|_| self.config.suspend);
        let is_abandoned =
            |revision: &String| *revision != newer && Some(revision) != waiting.as_ref();
        let open = std::mem::take(&mut self.open);
        let (abandoned, open) = open
            .into_iter()
            .partition(|(revision, _)| is_abandoned(revision));
        self.open = open;
        let abandoned: BTreeMap<String, String> = abandoned;
        for (revision, title) in abandoned {
            let fleet = &self.config.fleet;
            self.set_check(report::superseded(fleet, &revision, &newer, &title));
        }
    }

    /// Starts a write when something is due and none is under way.
    pub(super) fn publish(&mut self) {
        let now = self.engine.target.clock.now();
        let checks = match self.checks.next(now) {
            Next::Write(checks) => checks,
            Next::LookAgain(at) => {
                let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                self.after(self.engine.target.clock.real(wait), Event::Tick);
                return;
            }
            Next::Nothing => return,
        };
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
            let written = AssertUnwindSafe(sink.publish(&checks, now)).catch_unwind();
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

    /// What keeps checks from being written is logged once, here or when the first one is not written.
    pub(super) fn probed(&mut self, answer: &Result<(), AdapterError>) {
        self.metrics.forge_allows(self.sink.rate_remaining());
        match answer {
            Err(error) if error.class() == ErrorClass::Denied && !self.checks.is_failing() => {
                tracing::warn!(%error, "cannot write checks; applying continues");
                self.checks.will_fail();
            }
            Err(error) => tracing::debug!(%error, "cannot ask whether checks can be written"),
            Ok(()) => {}
        }
    }

    /// Checks were written, or could not be, which is logged once.
    pub(super) fn published(&mut self, answer: &Result<Vec<Later>, AdapterError>) {
        if let Ok(later) = answer {
            self.put_off(later);
            self.ask_left();
        }
        self.metrics
            .published(self.checks.under_way(), answer.is_ok());
        self.metrics.forge_allows(self.sink.rate_remaining());
        let first = !self.checks.is_failing();
        match answer {
            Err(error) if first => {
                tracing::warn!(%error, "cannot write checks; applying continues");
            }
            Err(error) => tracing::debug!(%error, "still cannot write checks"),
            Ok(_) if !first => tracing::info!("checks can be written again"),
            Ok(_) => {}
        }
        let now = self.engine.target.clock.now();
        if let Some(wait) = self.checks.ended(answer.is_ok(), now) {
            self.after(wait, Event::Retry);
        }
    }

    /// What the forge cannot take yet is written after a while.
    fn put_off(&mut self, later: &[Later]) {
        self.checks.put_off(later);
        for one in later {
            let key = (one.context.clone(), one.revision.clone());
            self.after(one.wait, Event::Call(key));
        }
    }

    /// Lets go of revisions that no ref leads to any more.
    pub(super) fn forget(&mut self) {
        let current = self.head.clone().into_iter().chain(self.accepted());
        let current = current.chain(self.applied());
        let keep: Vec<String> = current.chain(self.candidates.commits()).collect();
        self.checks
            .forget(|revision| keep.iter().any(|kept| kept == revision));
        let checks = &self.checks;
        self.view.send_if_modified(|view| {
            view.checks.retain(|key, _| checks.contains(key));
            false
        });
    }
}
