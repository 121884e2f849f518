//! What is written beside the statuses of a forge, such as comments: statuses go on without it.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fault::Fault;

/// One kind of such things.
#[derive(Debug)]
pub(in crate::adapters::checks) struct Aside {
    /// As in "cannot ...".
    what: &'static str,
    /// It was refused, and that was logged.
    refused: AtomicBool,
}

impl Aside {
    pub(in crate::adapters::checks) const fn new(what: &'static str) -> Self {
        Self {
            what,
            refused: AtomicBool::new(false),
        }
    }

    /// Whether it was refused the last time.
    pub(in crate::adapters::checks) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Takes a refusal for done, with one warning until it is not refused any more.
    pub(in crate::adapters::checks) fn done(
        &self,
        written: Result<(), Fault>,
        place: &dyn Display,
    ) -> Result<(), Fault> {
        let Err(Fault::Refused(said)) = written else {
            self.refused.fetch_and(written.is_err(), Ordering::Relaxed);
            return written;
        };
        if !self.refused.swap(true, Ordering::Relaxed) {
            let what = self.what;
            tracing::warn!(repository = %place, error = said, "cannot {what}; commit statuses are written");
        }
        Ok(())
    }
}
