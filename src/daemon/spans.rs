//! The span of a fleet, which names it in each log line of its daemon.
//!
//! A task or thread that is started leaves the span: it has to take it along.

use tokio::task::JoinHandle;
use tracing::Span;

/// The target of [`fleet_span`], for the filter of logs.
pub const FLEET_SPAN: &str = "capstan::fleet";

/// Makes the span of a fleet.
#[must_use]
pub fn fleet_span(namespace: &str, fleet: &str) -> Span {
    tracing::error_span!(target: FLEET_SPAN, "fleet", fleet, namespace)
}

/// Runs `work` on a thread that may block, within the span of the caller.
pub(super) fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    tokio::task::spawn_blocking(within_span(work))
}

/// Wraps work for another thread, so that it is done within the span of the caller.
pub(super) fn within_span<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = Span::current();
    move || span.in_scope(work)
}
