//! Examines the followed revision, and finds the checks that an earlier process left pending beside it.
//!
//! In: a revision, and the sink to ask. Out: what is known of it. It does not know what is decided.

use std::sync::Arc;
use std::time::Duration;

use super::earlier_checks::left_pending;
use super::failure::Failure;
use super::last_applied::LastApplied;
use super::source::Source;
use crate::daemon::spans::spawn_blocking;
use crate::follow::ExamineResult;
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
    let (mut examined, earlier) = match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            let failure = Failure::ended(error);
            return ExamineResult {
                left_pending: None,
                ..ExamineResult::failed(unread, failure.into())
            };
        }
    };
    if let Some(earlier) = earlier {
        // The revision is not kept waiting: what is not known by then is asked again.
        let left = tokio::time::timeout(ANSWER, left_pending(sink, &earlier, &context));
        examined.left_pending = left.await.ok().flatten();
    }
    examined
}
