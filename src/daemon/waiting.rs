//! Heads that wait for their plan: their checks say so at once, and every one of them ends.
//!
//! In: the candidates as they are now. Out: the checks that say what waits, and those that end what no plan will end:
//! its branch moved on or is gone. It does not know when a candidate is planned.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::job::{self, Left};
use super::{Daemon, Event};
use crate::follow::candidates::{Candidate, OpenRef};
use crate::model::Check;
use crate::reporting::report;
use crate::reporting::{plan_context, sync_context};

impl Daemon {
    /// Takes in which of the refs that were there at the start are planned, and which commits an earlier process left
    /// waiting.
    pub(super) fn opened(&mut self, refs: Vec<OpenRef>, left: Option<Vec<String>>) {
        self.candidates.open(refs);
        self.left_unknown |= left.is_none();
        self.left_waiting(left.unwrap_or_default());
        self.plan_next();
    }

    /// Takes in which commits an earlier process left waiting for a plan.
    fn left_waiting(&mut self, left: Vec<String>) {
        let context = plan_context(&self.config.fleet);
        for commit in left {
            self.checks.leave(&context, &commit, String::new());
        }
        self.show_waiting();
    }

    /// Takes in which sync checks an earlier process left pending: their revisions and titles.
    pub(super) fn left_pending(&mut self, left: Vec<(String, String)>) {
        let context = sync_context(&self.config.fleet);
        for (revision, title) in left {
            self.checks.leave(&context, &revision, title);
        }
    }

    /// Asks once more what an earlier process left pending, if that could not be asked at the start: the credential
    /// was missing, or the forge away.
    pub(super) fn ask_left(&mut self) {
        let Some(revision) = self
            .accepted()
            .or_else(|| self.heads.examined().map(str::to_owned))
        else {
            return;
        };
        if std::mem::take(&mut self.left_unknown) {
            let (source, sink) = (Arc::clone(&self.source), Arc::clone(&self.sink));
            self.jobs
                .spawn(async move { Event::Left(job::left(source, &*sink, revision).await) });
        }
    }

    /// The answer to [`Self::ask_left`]. What this process has written since is its own.
    pub(super) fn left(&mut self, left: Option<Left>) {
        let Some(left) = left else {
            self.left_unknown = true;
            return;
        };
        self.left_pending(left.pending);
        self.left_waiting(left.waiting);
    }

    /// Says of heads that they wait, and ends the checks of those that no candidate leads to any more.
    pub(super) fn show_waiting(&mut self) {
        let open = self.candidates.open_commits();
        let context = plan_context(&self.config.fleet);
        let pending = self.checks.pending(&context);
        let pending = pending.map(|(commit, _)| commit.to_owned());
        let gone: Vec<String> = pending.filter(|commit| !open.contains(commit)).collect();
        let announced = self.candidates.announced();
        let new = announced.filter(|commit| !self.is_waiting(commit)).cloned();
        let new: BTreeSet<String> = new.filter(|_| self.sink.shows_queued()).collect();
        for commit in gone {
            self.end_waiting(&commit);
        }
        for commit in new {
            self.set_plan_check(report::queued(&self.config.fleet, &commit));
        }
    }

    /// Returns true if the check of a head says that it waits, or is being planned.
    pub(super) fn is_waiting(&self, commit: &str) -> bool {
        let context = plan_context(&self.config.fleet);
        self.checks.is_pending(&context, commit)
    }

    /// Says of a head that it is being planned, if it was said that it waits.
    pub(super) fn show_planning(&mut self, candidate: &Candidate) {
        if self.is_waiting(&candidate.commit) {
            let fleet = &self.config.fleet;
            self.set_plan_check(report::planning(fleet, &candidate.commit));
        }
    }

    /// Sets the plan check of a candidate.
    pub(super) fn set_plan_check(&mut self, check: Check) {
        let mut pull_requests = self.candidates.pull_requests(&check.revision);
        self.set_check(Check {
            pull_request: pull_requests.next(),
            older_pull_requests: pull_requests.collect(),
            ..check
        });
    }

    /// Ends the check of a head that is not planned any more, unless nobody saw it.
    fn end_waiting(&mut self, commit: &str) {
        let fleet = &self.config.fleet;
        let context = plan_context(fleet);
        let check = match self.heads.is_newest(commit) {
            true => report::merged(fleet, commit),
            false => report::left_behind(fleet, commit),
        };
        if !self.checks.withdraw(&context, commit) {
            self.set_check(check);
        }
    }
}
