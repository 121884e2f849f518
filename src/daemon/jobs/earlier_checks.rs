//! What an earlier process wrote and left pending.
//!
//! In: a sink. Out: its checks, or that they cannot be known now, as without a credential: then they are asked for once
//! more. It does not know what ends them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::failure::Failure;
use super::revisions::Revisions;
use crate::daemon::spans::spawn_blocking;
use crate::follow::EarlierChecks;
use crate::model::{AdapterError, Check, CheckSink, CheckState};
use crate::reporting::{plan_context, sync_context};

/// What an earlier process left pending, before and beside `revision`, if it can be known now.
pub(in crate::daemon) async fn earlier_checks(
    revisions: Arc<Revisions>,
    fleet: &str,
    sink: &dyn CheckSink,
    revision: String,
) -> Option<EarlierChecks> {
    let context = sync_context(fleet);
    let waiting = left_waiting(fleet, sink).await?;
    let work = move || revisions.earlier_or_begun(&revision);
    let earlier = spawn_blocking(work).await.unwrap_or_default();
    let pending = left_pending(sink, &earlier, &context).await?;
    Some(EarlierChecks { pending, waiting })
}

/// The commits that an earlier process left waiting for a plan.
pub(super) async fn left_waiting(fleet: &str, sink: &dyn CheckSink) -> Option<Vec<String>> {
    let context = plan_context(fleet);
    let left = unfinished(sink, &context).await?.into_iter();
    Some(left.map(|check| check.revision).collect())
}

/// The revisions whose check is pending, and its title: those among `earlier`, and those that the sink knows of.
pub(super) async fn left_pending(
    sink: &dyn CheckSink,
    earlier: &[String],
    context: &str,
) -> Option<Vec<(String, String)>> {
    let mut checks = unfinished(sink, context).await?;
    checks.extend(written(sink, earlier, context).await?);
    let pending = checks.into_iter().filter(is_pending);
    Some(pending.map(|check| (check.revision, check.title)).collect())
}

pub(super) fn is_pending(check: &Check) -> bool {
    check.state == CheckState::Pending
}

/// The checks of `context` that an earlier process left pending, as far as the sink knows.
async fn unfinished(sink: &dyn CheckSink, context: &str) -> Option<Vec<Check>> {
    found(sink.unfinished(context)).await
}

/// The checks of `context` that an earlier process wrote on these revisions.
pub(super) async fn written(
    sink: &dyn CheckSink,
    revisions: &[String],
    context: &str,
) -> Option<Vec<Check>> {
    found(sink.read(revisions, context)).await
}

/// What an earlier process wrote; `None` if that cannot be known now. What keeps it from that is reported when checks
/// cannot be written, either.
async fn found(asked: BoxFuture<'_, Result<Vec<Check>, AdapterError>>) -> Option<Vec<Check>> {
    let checks = AssertUnwindSafe(asked).catch_unwind();
    let checks = checks.await.unwrap_or_else(|panic| {
        let bug: AdapterError = Failure::caught(&*panic).into();
        Err(bug)
    });
    checks
        .inspect_err(|error| {
            tracing::debug!(%error, "cannot read the checks that an earlier process wrote");
        })
        .ok()
}
