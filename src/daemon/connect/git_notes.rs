//! Checks as git notes: the sink of any git remote.
//!
//! In: checks. Out: the notes of their commits, pushed. It joins the mirror, which carries notes, to the
//! text of a note; neither knows the other.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::task::spawn_blocking;

use crate::adapters::checks::{self, NOTES_REF};
use crate::adapters::git::{Error, Mirror, NoteEdit};
use crate::daemon::jobs::failure::Failure;
use crate::model::{AdapterError, Check, CheckSink, ErrorClass, Later};
use crate::reporting::is_plan;

/// The notes of one repository.
pub(super) struct GitNotes {
    mirror: Arc<Mirror>,
}

impl GitNotes {
    pub(super) const fn new(mirror: Arc<Mirror>) -> Self {
        Self { mirror }
    }

    /// Runs what blocks on a thread of its own.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Mirror) -> Result<T, Error> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, AdapterError>> {
        let mirror = Arc::clone(&self.mirror);
        async move {
            let done = spawn_blocking(move || work(&mirror)).await;
            let done = done.map_err(Failure::ended)?;
            Ok(done.map_err(Failure::Git)?)
        }
        .boxed()
    }
}

impl CheckSink for GitNotes {
    fn probe(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        let probed = self.blocking(|mirror| mirror.probe_notes(NOTES_REF));
        let named = |error: AdapterError| match error.class() {
            ErrorClass::Denied => {
                let message = format!("no right to push {NOTES_REF}: {error}");
                AdapterError::new(ErrorClass::Denied, message)
            }
            _ => error,
        };
        probed.map(move |done| done.map_err(named)).boxed()
    }

    fn publish<'a>(
        &'a self,
        checks: &'a [Check],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Later>, AdapterError>> {
        let checks = checks.to_vec();
        self.blocking(move |mirror| write(mirror, &checks, now).map(|()| Vec::new()))
    }

    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        let (revisions, context) = (revisions.to_vec(), context.to_owned());
        self.blocking(move |mirror| Ok(read(mirror, &revisions, &context)))
    }

    fn unfinished<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        std::future::ready(Ok(Vec::new())).boxed()
    }
}

/// Writes all in one push. Commits that are gone, since somebody rewrote history, are passed over. What a fork proposes
/// never was here, and its check is only there as long as a ref leads to it.
fn write(mirror: &Mirror, checks: &[Check], now: Timestamp) -> Result<(), Error> {
    let is_here = |check: &&Check| match mirror.commit(&check.revision) {
        Err(error) => error.class() != ErrorClass::Gone || is_plan(&check.context),
        Ok(_) => true,
    };
    let checks: Vec<&Check> = checks.iter().filter(is_here).collect();
    let rewrites: Vec<_> = checks
        .iter()
        .map(|check| move |old: Option<&str>| checks::rewrite(old, check))
        .collect();
    let edits: Vec<NoteEdit<'_>> = checks
        .iter()
        .zip(&rewrites)
        .map(|(check, rewrite)| NoteEdit {
            commit: &check.revision,
            rewrite,
        })
        .collect();
    mirror.edit_notes(NOTES_REF, &edits, now)
}

/// By the notes that were last fetched. A note that cannot be read holds no checks.
fn read(mirror: &Mirror, revisions: &[String], context: &str) -> Vec<Check> {
    let notes = revisions
        .iter()
        .filter_map(|revision| mirror.note(NOTES_REF, revision).ok().flatten());
    let checks = notes.filter_map(|note| {
        let mut checks = checks::read(&note).into_iter();
        checks.find(|check| check.context == context)
    });
    checks.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::adapters::git::{Author, Files};
    use crate::model::CheckState;

    const CONTEXT: &str = "capstan/a/sync";

    fn check(revision: &str, state: CheckState) -> Check {
        Check::new(CONTEXT, revision, state, "1/2 ready")
    }

    #[tokio::test]
    async fn checks_are_found_and_commits_that_are_gone_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let author = Author::init(&dir.path().join("fleet.git")).unwrap();
        let (files, now): (Files, _) = (Files::new(), Timestamp::UNIX_EPOCH);
        let commit = author.push("main", None, &files, "it", now).unwrap();
        let url = author.dir().display().to_string();
        let mirror = Mirror::open(&dir.path().join("mirror"), &url, &[]).unwrap();
        mirror.fetch().unwrap();
        let sink: &dyn CheckSink = &GitNotes::new(Arc::new(mirror));
        let revisions = [commit.clone(), "5".repeat(40)];
        let checks = revisions.each_ref();
        let checks = checks.map(|revision| check(revision, CheckState::Pending));
        sink.publish(&checks, now).await.unwrap();
        let found = sink.read(&revisions, CONTEXT).await.unwrap();
        assert_eq!(found, checks[..1]);
        let others = sink.read(&revisions, "capstan/b/sync").await.unwrap();
        assert_eq!(others, []);
        let done = [check(&commit, CheckState::Success)];
        sink.publish(&done, now).await.unwrap();
        assert_eq!(sink.read(&revisions, CONTEXT).await.unwrap(), done);
    }
}
