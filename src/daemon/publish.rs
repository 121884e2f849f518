//! Checks on their way out: shown in the view, and written by the sink.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;

use super::check_queue::Next;
use super::failure::Failure;
use super::{Daemon, Event};
use crate::model::{AdapterError, Check};

impl Daemon {
    /// Sets a check and shows it in the view.
    pub(super) fn set_check(&mut self, check: Check) {
        let key = (check.context.clone(), check.revision.clone());
        self.view.send_if_modified(|view| {
            view.checks.insert(key, check.clone()).as_ref() != Some(&check)
        });
        self.checks.offer(check);
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
        let sink = Arc::clone(&self.sink);
        self.jobs.spawn(async move {
            let written = AssertUnwindSafe(sink.publish(&checks, now)).catch_unwind();
            let bug = |panic: Box<dyn std::any::Any + Send>| Err(Failure::caught(&*panic).into());
            Event::Published(written.await.unwrap_or_else(bug))
        });
    }

    /// Checks were written, or could not be, which is logged once.
    pub(super) fn published(&mut self, answer: &Result<(), AdapterError>) {
        let first = !self.checks.is_failing();
        match answer {
            Err(error) if first => {
                tracing::warn!(%error, "cannot write checks; applying continues");
            }
            Err(error) => tracing::debug!(%error, "still cannot write checks"),
            Ok(()) if !first => tracing::info!("checks can be written again"),
            Ok(()) => {}
        }
        let now = self.engine.target.clock.now();
        if let Some(wait) = self.checks.ended(answer.is_ok(), now) {
            self.after(wait, Event::Retry);
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
