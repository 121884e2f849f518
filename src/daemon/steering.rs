//! What people ask of the fleet: to suspend or resume it, or to look for commits now.

use super::Daemon;
use super::revision::Stage;
use crate::apply::{Steering, Tracker};

impl Daemon {
    /// Since when the fleet is suspended, as far as is known.
    pub(super) fn suspended(&self) -> Option<String> {
        let steering = self.steering.as_ref();
        steering.and_then(|steering| steering.suspended.clone())
    }

    /// Somebody suspended or resumed the fleet, or asked to look for commits now.
    pub(super) fn steered(&mut self, steering: Steering) {
        let now = self.engine.target.clock.now();
        let newest = steering.newest.clone();
        self.newest.seen(steering.uid.as_deref(), newest);
        let before = self.steering.replace(steering.clone());
        let requested = |steering: &Steering| steering.sync_requested.clone();
        let asked = before.is_some_and(|before| requested(&before) != requested(&steering));
        let asked = asked && steering.sync_requested.is_some();
        if asked {
            tracing::info!("looking for commits now: somebody asked to");
            self.look_now.notify_one();
        }
        let Some(sync) = self.sync.as_mut() else {
            return;
        };
        let is_change = sync.suspended != steering.suspended;
        if is_change && steering.suspended.is_none() {
            tracing::info!("the fleet is resumed");
        }
        sync.suspended = steering.suspended;
        // What is not assigned yet reads the parent when it is.
        if !matches!(sync.stage, Stage::Running(_)) {
            return;
        }
        if is_change || asked && sync.has_failed(now) {
            self.apply_again();
        }
    }

    /// Applies once more what is applied.
    pub(super) fn apply_again(&mut self) {
        let now = self.engine.target.clock.now();
        let Some(sync) = self.sync.as_mut() else {
            return;
        };
        self.syncs += 1;
        (sync.number, sync.stuck) = (self.syncs, None);
        // What was reported before may have changed meanwhile. Of a suspended fleet nothing is reported.
        if sync.suspended.is_none() {
            sync.settled = false;
            sync.leaving.clear();
            let tracker = Tracker::new(&sync.prepared.graph, self.config.settle, now);
            sync.tracker = tracker.carrying(&sync.tracker);
        }
        self.assign();
        self.report_progress();
    }
}
