//! What webhooks ask of the daemon: to look at the repository now, and to write checks again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::{Daemon, Event};
use crate::model::{Hint, Rerun};
use crate::reporting::{plan_context, sync_context};

/// How long after one hint the next is heard: all that come in between are one.
const PAUSE: Duration = Duration::from_secs(2);
impl Daemon {
    /// Follows the hints, until this is dropped.
    pub(super) fn follow_hints(&self) -> AbortOnDropHandle<()> {
        let (hints, events) = (Arc::clone(&self.hints), self.events.clone());
        AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                let hint = hints.next().await;
                let _ = events.send(Event::Hinted(hint));
                tokio::time::sleep(PAUSE).await;
            }
        }))
    }

    pub(super) fn hinted(&mut self, hint: &Hint) {
        if self.polling.hint() {
            let every = self.polling.wait();
            tracing::info!(
                ?every,
                "webhooks arrive: the repository is polled less often"
            );
        }
        self.look_now.notify_one();
        for rerun in &hint.reruns {
            self.rerun(rerun);
        }
        for press in &hint.presses {
            self.pressed(press);
        }
    }

    /// Somebody wants checks of a commit again. They are made anew where the fleet still reports on it.
    fn rerun(&mut self, rerun: &Rerun) {
        let apps = rerun.app.zip(self.sink.app());
        if apps.is_some_and(|(asked, own)| asked != own) {
            return;
        }
        let wanted = |context: &str| rerun.context.as_deref().is_none_or(|name| name == context);
        let fleet = self.config.fleet.as_str();
        let (plan, sync) = (plan_context(fleet), sync_context(fleet));
        if wanted(&plan) {
            let is = |commit: &str, number| rerun.head.is(commit, number);
            for commit in self.candidates.matching(is) {
                if self.renew(&commit, &plan) {
                    self.candidates.again(&commit);
                }
            }
            self.show_waiting();
            self.plan_next();
        }
        let followed = [self.heads.newest().map(str::to_owned), self.accepted()];
        let followed: BTreeSet<String> = followed.into_iter().flatten().collect();
        let wanted = followed.iter().filter(|_| wanted(&sync));
        for commit in wanted.filter(|commit| rerun.head.is(commit, None)) {
            if self.renew(commit, &sync) {
                self.reexamine(commit);
                self.retry_failed();
            }
        }
    }

    /// Makes the next write of a check a new one; `false` if it was made again a moment ago.
    fn renew(&mut self, commit: &str, context: &str) -> bool {
        let now = self.engine.target.clock.now();
        if !self.reruns.admit(context, commit, now) {
            tracing::debug!(
                commit,
                context,
                "this check was made again within the last minute"
            );
            return false;
        }
        tracing::info!(commit, context, "somebody wants this check again");
        self.checks.renew(context, commit);
        true
    }
}
