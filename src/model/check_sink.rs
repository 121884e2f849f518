//! The port for checks: git notes are one implementation, each forge is another.

use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::{AdapterError, Check};

/// A check of which the other side cannot take all yet, as when it does not know a new commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    /// The check's context.
    pub context: String,
    /// The check's revision.
    pub revision: String,
    /// How long to wait before it is published again, as it is by then.
    pub wait: Duration,
}

/// Writes checks where people see them. It limits text to what its side takes, and never writes the same
/// check twice side by side: a revision has one check per context.
/// No method has a default body: what wraps a sink would forget to pass it on.
///
/// Callers retry: slower each time after `Transient` and `Conflict`, rarely after the other classes.
pub trait CheckSink: Send + Sync {
    /// Writes `checks`, each in place of the one of its revision and context. Revisions that are gone, as
    /// after a forced push, are passed over. Returns what to publish again later; all others are written. After an
    /// error any of them may have been written; to write all again is safe.
    fn publish<'a>(
        &'a self,
        checks: &'a [Check],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Later>, AdapterError>>;

    /// The checks of `context` on `revisions`: asked after a start, to find what an earlier process left.
    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>>;

    /// The checks of `context` that an earlier process left pending, as far as its records say: also on commits that no
    /// ref leads to any more. Asked after a start until there is an answer.
    fn unfinished<'a>(
        &'a self,
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>>;

    /// Asks whether checks can be written, once after a start: who reads checks learns of a wrong address or a missing
    /// right before the first one is missing. `Denied` says what to change.
    fn probe(&self) -> BoxFuture<'_, Result<(), AdapterError>>;
}
