//! Approvals that wait for the forge: it is asked again how their commits came in, and what waited goes on.
//!
//! In: what the last look at approvals found. Out: questions, slower each time, and work that is done again once there is
//! an answer. It does not know which approvals count.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::revision::Stage;
use super::{Daemon, Event};

impl Daemon {
    /// Goes on with what has an answer by now, and asks for the rest after a while.
    pub(super) fn attribute(&mut self) {
        self.go_on_answered();
        let source = &self.source;
        if self.asking.is_under_way() || !source.attribution.is_waiting() {
            return;
        }
        let granted = self.accepted().map(|revision| source.granted(&revision));
        let needed = granted.unwrap_or_default().approvals;
        let needed: BTreeSet<String> = needed.unattributed().cloned().collect();
        let open: BTreeSet<String> = self.candidates.commits().collect();
        source
            .attribution
            .forget(&needed, |commit| open.contains(commit));
        if !source.attribution.is_waiting() {
            return;
        }
        let (source, pause) = (Arc::clone(source), self.asking.begin());
        self.jobs.spawn(async move {
            tokio::time::sleep(pause).await;
            source.attribution.ask_again().await;
            Event::Attributed
        });
    }

    /// The forge was asked.
    pub(super) fn attributed(&mut self) {
        self.asking.end(self.source.attribution.is_waiting());
    }

    fn go_on_answered(&mut self) {
        let running = self.sync.as_ref();
        let running = running.filter(|sync| matches!(sync.stage, Stage::Running(_)));
        let revision = running.map(|sync| sync.revision.clone());
        if revision.is_some_and(|revision| self.source.take_answered(&revision)) {
            self.apply_again();
        }
        let answered = self.source.attribution.take_answered_plans();
        let is_new = answered
            .iter()
            .filter(|commit| self.candidates.again(commit))
            .count()
            > 0;
        if is_new {
            self.show_waiting();
            self.plan_next();
        }
    }
}
