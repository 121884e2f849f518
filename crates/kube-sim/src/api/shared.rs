//! What requests share: the state behind its lock, and the clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::store::State;
use crate::Clock;

/// What requests share.
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Shared {
    /// The state, locked. A thread that panicked with the lock held left it whole: every change is
    /// made in one step.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Now, RFC 3339 in UTC and whole seconds.
    pub(super) fn now(&self) -> String {
        let now = self.clock.now();
        now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}
