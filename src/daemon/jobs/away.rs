//! The check of the newest commit while the cluster cannot be used.
//!
//! In: the source, where checks go, since when the cluster cannot be used, and why. Out: a pending check of each newest commit. It does
//! not know when the cluster can be used again: then it is dropped.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::origin::Origin;
use super::revisions::Revisions;
use crate::daemon::spans::spawn_blocking;
use crate::daemon::wall_time;
use crate::model::{AdapterError, Check, CheckSink, CheckState};
use crate::reporting::report;
use crate::settings::SyncConfig;

/// The most checks that are remembered.
const MOST: usize = 16;

/// The checks of revisions that this process wrote last, each with its revision and title.
#[derive(Default)]
pub(in crate::daemon) struct WrittenChecks(Mutex<VecDeque<(String, String)>>);

impl WrittenChecks {
    /// Notes what is written, as far as it is of this context.
    pub(in crate::daemon) fn note(&self, checks: &[Check], context: &str) {
        let mut written = self.0.lock();
        for check in checks.iter().filter(|check| check.context == context) {
            written.push_front((check.revision.clone(), check.title.clone()));
        }
        written.truncate(MOST);
    }

    fn has(&self, check: &Check) -> bool {
        let written = self.0.lock();
        let mut written = written.iter();
        written.any(|(revision, title)| (revision, title) == (&check.revision, &check.title))
    }
}

/// Looks at the source as often as always, and writes on its newest commit that it waits, until this is dropped.
pub(in crate::daemon) async fn report_absence(
    (config, origin): (&SyncConfig, &Origin),
    (sink, written): (&dyn CheckSink, &WrittenChecks),
    since: Timestamp,
    why: &str,
) {
    if config.suspend {
        return std::future::pending().await;
    }
    let revisions = Arc::new(Revisions::new(origin.clone(), config));
    let fleet = config.checks_name();
    let mut last = String::new();
    loop {
        let look = Arc::clone(&revisions);
        match spawn_blocking(move || look.fetch()).await {
            Ok(Ok(refs)) if refs.head != last => {
                let check = report::away(&fleet, &refs.head, since, why);
                match write(sink, written, check).await {
                    Ok(true) => last = refs.head,
                    Ok(false) => {}
                    Err(error) => {
                        tracing::debug!(%error, "cannot write that a commit waits for the cluster; retrying")
                    }
                }
            }
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, "cannot look for commits while the cluster cannot be used; retrying");
            }
            Err(error) => tracing::error!(%error, "a look for commits panicked; retrying"),
        }
        tokio::time::sleep(config.interval).await;
    }
}

/// Writes the check in place of what this process wrote; `false` if the other side cannot take it yet. The check of another process,
/// which may reach the cluster, stays.
async fn write(
    sink: &dyn CheckSink,
    written: &WrittenChecks,
    check: Check,
) -> Result<bool, AdapterError> {
    let (revision, context) = (check.revision.clone(), check.context.clone());
    let found = sink.read(std::slice::from_ref(&revision), &context).await?;
    if !is_due(found.first(), written) {
        return Ok(true);
    }
    tracing::info!(revision, "{}", check.title);
    let later = sink.publish(&[check], wall_time()).await?;
    Ok(later.is_empty())
}

/// Returns true if the commit has no check, or one of this process that does not say yet that it waits. What succeeded was applied
/// before.
fn is_due(found: Option<&Check>, written: &WrittenChecks) -> bool {
    let Some(found) = found else {
        return true;
    };
    let says_it = found.title.starts_with(report::AWAY);
    written.has(found) && found.state != CheckState::Success && !says_it
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_of_another_process_and_a_success_stay() {
        let check = |state, title: &str| Check::new("capstan/f/sync", "1", state, title);
        let pending = check(CheckState::Pending, "0/1 ready");
        let other = check(CheckState::Pending, "1/2 ready");
        let failed = check(CheckState::Failure, "1 failed");
        let success = check(CheckState::Success, "1/1 ready");
        let away = report::away("f", "1", Timestamp::UNIX_EPOCH, "no route");
        assert_eq!(away.state, CheckState::Pending);
        let written = WrittenChecks::default();
        let own = [
            pending.clone(),
            failed.clone(),
            success.clone(),
            away.clone(),
        ];
        written.note(&own, "capstan/f/sync");
        written.note(std::slice::from_ref(&other), "capstan/f/plan");
        for (found, expected) in [
            (None, true),
            (Some(&pending), true),
            (Some(&failed), true),
            (Some(&other), false),
            (Some(&success), false),
            (Some(&away), false),
        ] {
            assert_eq!(is_due(found, &written), expected, "{found:?}");
        }
        for _ in 0..MOST {
            written.note(std::slice::from_ref(&success), "capstan/f/sync");
        }
        assert!(!is_due(Some(&pending), &written), "that was long ago");
    }
}
