//! The newest commit while it is not applied: the parent in the cluster records why, so that `status` shows it.
//!
//! In: what became of each commit, and what the parent records. Out: a write whenever they differ. It does not
//! know: who reads it.

use super::newest_record::EMPTIED;
use super::sync::RETRY;
use super::{Daemon, Event};
use crate::adapters::kubernetes;
use crate::apply::AppliedState;
use crate::apply::Newest;

impl Daemon {
    /// The newest commit, if it is not applied.
    pub(super) fn newest(&self) -> Option<Newest> {
        if self.newest.rejected.is_some() {
            return self.newest.rejected.clone();
        }
        let sync = self.sync.as_ref()?;
        if sync.is_emptied() {
            return Some(Newest::refused(&sync.revision, EMPTIED));
        }
        if matches!(sync.applied, AppliedState::This | AppliedState::Unwatched) {
            return None;
        }
        if sync.suspended.is_some() {
            let fleet = &self.config.fleet;
            let why = format!("the fleet is suspended; `capstan resume --name {fleet}` continues");
            return Some(Newest::waiting(&sync.revision, &why));
        }
        // While it is resumed, the parent is read and written by what applies: nothing comes in between.
        let recorded = self.newest.recorded.clone().flatten();
        recorded.filter(|newest| newest.waits_at(&sync.revision))
    }

    /// Records what became of the newest commit, if the parent does not.
    pub(super) fn record_newest(&mut self) {
        // Until a commit was examined, nothing is known that an earlier daemon did not know.
        let is_known = self.newest.rejected.is_some() || self.sync.is_some();
        let (false, true, Some(recorded)) = (self.newest.busy, is_known, &self.newest.recorded)
        else {
            return;
        };
        let wanted = self.newest();
        if *recorded == wanted {
            return;
        }
        self.newest.begin();
        let (client, set) = (self.engine.target.client.clone(), self.set.clone());
        let source = self.shown_source();
        let sync = self.sync.as_ref();
        let is_suspended = sync.is_some_and(|sync| sync.suspended.is_some());
        let may_create = !is_suspended && self.suspended().is_none();
        self.jobs.spawn(async move {
            let newest = wanted.as_ref();
            let answer = kubernetes::record_newest(&client, &set, &source, newest, may_create);
            let answer = answer.await;
            Event::Recorded(Box::new((wanted, answer)))
        });
    }

    /// What became of the newest commit was recorded, or could not be.
    pub(super) fn newest_recorded(
        &mut self,
        newest: Option<Newest>,
        answer: Result<(), kubernetes::Error>,
    ) {
        match answer {
            Ok(()) => self.newest.written(newest),
            Err(error) => {
                tracing::debug!(%error, "cannot record what became of the newest commit");
                self.after(RETRY, Event::RecordAgain);
            }
        }
    }

    pub(super) fn record_again(&mut self) {
        self.newest.busy = false;
    }
}
