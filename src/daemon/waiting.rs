//! Heads that wait for their plan: their checks say so at once, and every one of them ends.
//!
//! In: the candidates as they are now. Out: the checks that say what waits, and those that end what no plan will end:
//! its branch moved on or is gone. It does not know when a candidate is planned.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::candidates::{Candidate, OpenRef};
use super::job::{self, Left};
use super::{Daemon, Event, report};
use crate::model::Check;

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
        let context = report::plan_context(&self.config.fleet);
        for commit in left {
            self.checks.assume_written(&commit, &context);
            self.waiting.insert(commit);
        }
        self.show_waiting();
    }

    /// Asks once more what an earlier process left pending, if that could not be asked at the start: the credential
    /// was missing, or the forge away.
    pub(super) fn ask_left(&mut self) {
        let Some(revision) = self.accepted().or_else(|| self.examined.clone()) else {
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
        let fleet = &self.config.fleet;
        let (sync, plan) = (report::sync_context(fleet), report::plan_context(fleet));
        let checks = &self.checks;
        let is_own = |context: &str, revision: &str| {
            checks.contains(&(context.to_owned(), revision.to_owned()))
        };
        let pending = left.pending.into_iter();
        self.open
            .extend(pending.filter(|(revision, _)| !is_own(&sync, revision)));
        let mut waiting = left.waiting;
        waiting.retain(|commit| !is_own(&plan, commit));
        self.left_waiting(waiting);
    }

    /// Says of heads that they wait, and ends the checks of those that no candidate leads to any more.
    pub(super) fn show_waiting(&mut self) {
        let candidates = &self.candidates;
        let open = candidates.open_commits();
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (kept, gone): (BTreeSet<String>, BTreeSet<String>) =
            waiting.partition(|commit| open.contains(commit));
        self.waiting = kept;
        let is_new = |commit: &&String| !self.waiting.contains(*commit);
        let new = candidates.announced().filter(is_new).cloned();
        let new: Vec<String> = new.filter(|_| self.sink.shows_queued()).collect();
        for commit in gone {
            self.end_waiting(&commit);
        }
        for commit in new {
            self.set_plan_check(report::queued(&self.config.fleet, &commit));
            self.waiting.insert(commit);
        }
    }

    /// Says of a head that it is being planned, if it was said that it waits.
    pub(super) fn show_planning(&mut self, candidate: &Candidate) {
        if self.waiting.contains(&candidate.commit) {
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
        let context = report::plan_context(fleet);
        let check = match self.head.as_deref() == Some(commit) {
            true => report::merged(fleet, commit),
            false => report::left_behind(fleet, commit),
        };
        if !self.checks.withdraw(commit, &context) {
            self.set_check(check);
        }
    }
}
