//! A forge that takes connections and never answers: applying does not wait for it.

use futures::FutureExt as _;

use super::*;
use crate::daemon::jobs::LastApplied;
use crate::model::{CommitSource, no_approvals, no_source};

/// It never answers.
struct Silent;

impl CheckSink for Silent {
    fn publish<'a>(
        &'a self,
        _: &'a [Check],
        _: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Later>, AdapterError>> {
        std::future::pending().boxed()
    }

    fn read<'a>(
        &'a self,
        _: &'a [String],
        _: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        std::future::pending().boxed()
    }

    fn unfinished<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        std::future::pending().boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        std::future::pending().boxed()
    }

    fn rate_remaining(&self) -> Option<u64> {
        None
    }

    fn app(&self) -> Option<u64> {
        None
    }

    fn may_approve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), AdapterError>> {
        no_approvals()
    }

    fn source_of<'a>(
        &'a self,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<CommitSource>, AdapterError>> {
        no_source()
    }
}

#[tokio::test(start_paused = true)]
async fn a_revision_is_applied_after_5_seconds_although_its_check_is_not_written() {
    let mut case = Case::on_forge(Arc::new(Silent));
    let commit = case.commit.clone();
    case.parts().heads.set(&commit, &commit);
    case.examined(case.examination(&commit, config_maps(&["a"])));
    case.conclude();
    let is_running = |case: &mut Case| case.parts().releases.current().unwrap().is_running();
    let start = Instant::now();
    while !is_running(&mut case) {
        let event = case.daemon.jobs.join_next().await.unwrap().unwrap();
        case.daemon.handle(event);
    }
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_revision_waits_5_seconds_for_what_earlier_ones_left() {
    let case = Case::new();
    let (source, commit) = (Arc::clone(&case.daemon.source), case.commit.clone());
    let start = Instant::now();
    let examined = jobs::examine(source, &Silent, commit, LastApplied::Partly(None), true).await;
    assert_eq!(
        (start.elapsed().as_secs(), examined.left_pending),
        (5, None)
    );
}
