//! Examines the followed revision, and finds what an earlier process left pending beside it.
//!
//! In: a revision, and the sink to ask. Out: what is known of it. It does not know what is decided.

use std::sync::Arc;
use std::time::Duration;

use super::failure::Failure;
use super::last_applied::LastApplied;
use super::left::{left_pending, left_waiting};
use super::revisions::Revisions;
use super::source::Source;
use crate::follow::{EarlierChecks, ExamineResult};
use crate::model::CheckSink;
use crate::reporting::sync_context;

/// How long a revision waits for what the sink knows of earlier ones.
const ANSWER: Duration = Duration::from_secs(5);

/// Reads and compiles `revision`, and compares it with what is applied `before` it. The `first` time also looks back:
/// for checks that an earlier daemon left pending, and, when `revision` is broken, for the newest good one before it.
pub(in crate::daemon) async fn examine(
    source: Arc<Source>,
    sink: &dyn CheckSink,
    revision: String,
    before: LastApplied,
    first: bool,
) -> ExamineResult {
    let (unread, context) = (revision.clone(), sync_context(&source.settings.fleet));
    let work = move || {
        let earlier = first.then(|| source.revisions.earlier_or_begun(&revision));
        (source.compiler.examine(revision, before, first), earlier)
    };
    let (mut examined, earlier) = match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            let failure = Failure::ended(error);
            return ExamineResult::failed(unread, failure.into());
        }
    };
    if let Some(earlier) = earlier {
        // The revision is not kept waiting: what is not known by then is asked again.
        let left = tokio::time::timeout(ANSWER, left_pending(sink, &earlier, &context));
        examined.left_pending = left.await.ok().flatten();
    }
    examined
}

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
    let earlier = tokio::task::spawn_blocking(work).await.unwrap_or_default();
    let pending = left_pending(sink, &earlier, &context).await?;
    Some(EarlierChecks { pending, waiting })
}
