//! Checks of a directory: a file on the machine of the daemon, since a directory has no commits to note them on.
//!
//! In: checks. Out: one JSON document, exchanged as a whole:
//! `{"apiVersion": "capstan.dev/v1alpha1", "kind": "CheckList", "checks": [...]}`, the newest check last.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::daemon::jobs::failure::Failure;
use crate::model::{AdapterError, Check, CheckSink, CheckState, ErrorClass, Later};

/// How many checks are kept.
const MOST: usize = 100;
const API_VERSION: &str = "capstan.dev/v1alpha1";
const KIND: &str = "CheckList";

/// The checks in one file.
#[derive(Clone)]
pub(super) struct StatusFile {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    api_version: String,
    kind: String,
    checks: Vec<Check>,
}

impl StatusFile {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn checks(&self) -> io::Result<Vec<Check>> {
        match fs::read(&self.path) {
            // What somebody else wrote there, or another version of Capstan, is replaced.
            Ok(text) => Ok(serde_json::from_slice(&text)
                .map_or_else(|_| Vec::new(), |content: Content| content.checks)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn write(&self, news: &[Check]) -> io::Result<()> {
        let mut checks = self.checks()?;
        let is_same = |one: &Check, other: &Check| {
            (&one.context, &one.revision) == (&other.context, &other.revision)
        };
        checks.retain(|old| !news.iter().any(|new| is_same(new, old)));
        checks.extend_from_slice(news);
        checks.drain(..checks.len().saturating_sub(MOST));
        let mut text = serde_json::to_vec_pretty(&Content {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            checks,
        })?;
        text.push(b'\n');
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        fs::write(&new, text)?;
        fs::rename(&new, &self.path)
    }

    fn error(&self, cause: &io::Error) -> AdapterError {
        let class = match cause.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => ErrorClass::Denied,
            _ => ErrorClass::Transient,
        };
        AdapterError::new(class, format!("{}: {cause}", self.path.display()))
    }
}

impl StatusFile {
    /// Runs `work` on a thread of its own: the disk may take its time.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> Result<T, AdapterError> {
        let file = self.clone();
        let work = move || work(&file).map_err(|cause| file.error(&cause));
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(Failure::ended(error).into()))
    }
}

impl CheckSink for StatusFile {
    fn publish<'a>(
        &'a self,
        checks: &'a [Check],
        _: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Later>, AdapterError>> {
        let checks = checks.to_vec();
        let written = self.blocking(move |file| file.write(&checks));
        written.map(|done| done.map(|()| Vec::new())).boxed()
    }

    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        let is_wanted =
            move |check: &Check| check.context == context && revisions.contains(&check.revision);
        async move {
            let mut checks = self.blocking(Self::checks).await?;
            checks.retain(is_wanted);
            Ok(checks)
        }
        .boxed()
    }

    fn unfinished<'a>(
        &'a self,
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        let is_left =
            move |check: &Check| check.context == context && check.state == CheckState::Pending;
        async move {
            let mut checks = self.blocking(Self::checks).await?;
            checks.retain(is_left);
            Ok(checks)
        }
        .boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        std::future::ready(Ok(())).boxed()
    }
}

/// A file for all checks, and a forge besides for those of commits: whether it has a commit, only it knows.
pub(super) struct FileAndForge {
    pub(super) file: Arc<dyn CheckSink>,
    pub(super) forge: Arc<dyn CheckSink>,
}

/// Whether a revision is the ID of a commit.
fn is_commit(revision: &str) -> bool {
    matches!(revision.len(), 40 | 64) && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl CheckSink for FileAndForge {
    /// One that fails does not keep the other from its checks.
    fn publish<'a>(
        &'a self,
        checks: &'a [Check],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Later>, AdapterError>> {
        let commits = checks.iter().filter(|check| is_commit(&check.revision));
        let commits: Vec<Check> = commits.cloned().collect();
        async move {
            let noted = self.file.publish(checks, now).await;
            if !commits.is_empty() {
                let later = self.forge.publish(&commits, now).await?;
                return noted.map(|_| later);
            }
            noted
        }
        .boxed()
    }

    /// What either has: one of them may not have got the newest.
    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        let commits = revisions.iter().filter(|revision| is_commit(revision));
        let commits: Vec<String> = commits.cloned().collect();
        async move {
            let mut checks = self.forge.read(&commits, context).await?;
            checks.extend(self.file.read(revisions, context).await?);
            Ok(checks)
        }
        .boxed()
    }

    fn unfinished<'a>(
        &'a self,
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        async move {
            let mut checks = self.forge.unfinished(context).await?;
            checks.extend(self.file.unfinished(context).await?);
            Ok(checks)
        }
        .boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        self.forge.probe()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn check(revision: &str, state: CheckState) -> Check {
        Check::new("capstan/a/sync", revision, state, "")
    }

    async fn publish(sink: &dyn CheckSink, checks: &[Check]) -> Result<(), AdapterError> {
        sink.publish(checks, Timestamp::UNIX_EPOCH).await.map(drop)
    }

    #[tokio::test]
    async fn the_newest_checks_are_kept_each_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = StatusFile::new(dir.path().join("cache/a.status.json"));
        for number in 0..MOST + 5 {
            let pending = check(&number.to_string(), CheckState::Pending);
            publish(&file, &[pending]).await.unwrap();
        }
        let done = check("50", CheckState::Success);
        publish(&file, std::slice::from_ref(&done)).await.unwrap();
        let checks = file.checks().unwrap();
        assert_eq!((checks.len(), checks[0].revision.as_str()), (MOST, "5"));
        assert_eq!(checks.last(), Some(&done));
        let revisions = ["50".to_owned(), "0".to_owned()];
        let read = async |context| file.read(&revisions, context).await.unwrap();
        assert_eq!(read("capstan/a/sync").await, [done]);
        assert_eq!(read("capstan/b/sync").await, []);
        let left = file.unfinished("capstan/a/sync").await.unwrap();
        assert_eq!(left.len(), MOST - 1, "one is done");
        assert_eq!(file.unfinished("capstan/b/sync").await.unwrap(), []);
        let text: serde_json::Value =
            serde_json::from_slice(&fs::read(&file.path).unwrap()).unwrap();
        assert_eq!(
            (&text["apiVersion"], &text["kind"]),
            (&API_VERSION.into(), &KIND.into())
        );
        fs::write(&file.path, "garbage").unwrap();
        let one = check("1", CheckState::Success);
        publish(&file, &[one]).await.unwrap();
        assert_eq!(file.checks().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let file = StatusFile::new(dir.path().join("file/a.json"));
        let one = check("1", CheckState::Success);
        let error = publish(&file, &[one]).await.unwrap_err();
        assert!(error.to_string().contains("file/a.json: "), "{error}");
    }

    /// Both sinks, in files with these paths.
    fn both(forge: PathBuf, file: PathBuf) -> (FileAndForge, [Arc<StatusFile>; 2]) {
        let [forge, file] = [forge, file].map(|path| Arc::new(StatusFile::new(path)));
        let both = FileAndForge {
            forge: Arc::clone(&forge) as _,
            file: Arc::clone(&file) as _,
        };
        (both, [forge, file])
    }

    fn of_commit_and_files(state: CheckState) -> [Check; 2] {
        let revisions = ["a".repeat(40), "files-0123456789abcdef".to_owned()];
        revisions.map(|revision| check(&revision, state))
    }

    #[tokio::test]
    async fn a_forge_gets_the_checks_of_commits_and_the_file_all() {
        let dir = tempfile::tempdir().unwrap();
        let (both, [forge, file]) = both(dir.path().join("forge"), dir.path().join("file"));
        let checks = of_commit_and_files(CheckState::Success);
        publish(&both, &checks).await.unwrap();
        assert_eq!(forge.checks().unwrap(), checks[..1]);
        assert_eq!(file.checks().unwrap(), checks);
    }

    #[tokio::test]
    async fn what_either_of_both_left_pending_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (both, [forge, file]) = both(dir.path().join("forge"), dir.path().join("file"));
        let checks = of_commit_and_files(CheckState::Pending);
        publish(&both, &checks).await.unwrap();
        let context = "capstan/a/sync";
        let revisions = checks.each_ref().map(|check| check.revision.clone());
        // The forge did not get the newest.
        let done = of_commit_and_files(CheckState::Success);
        publish(&*file, &done).await.unwrap();
        assert_eq!(both.unfinished(context).await.unwrap(), checks[..1]);
        let read = both.read(&revisions, context).await.unwrap();
        assert!(read.contains(&checks[0]), "{read:?}");
        publish(&*forge, &done[..1]).await.unwrap();
        assert_eq!(both.unfinished(context).await.unwrap(), []);
        publish(&*file, &checks).await.unwrap();
        assert_eq!(both.unfinished(context).await.unwrap(), checks);
    }

    #[tokio::test]
    async fn one_sink_that_cannot_be_written_does_not_stop_the_other() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("full"), "").unwrap();
        let (bad, good) = (dir.path().join("full/x"), dir.path().join("good"));
        let checks = of_commit_and_files(CheckState::Success);
        let (no_file, [forge, _]) = both(good.clone(), bad.clone());
        let error = publish(&no_file, &checks).await.unwrap_err();
        assert!(error.to_string().contains("full/x: "), "{error}");
        assert_eq!(forge.checks().unwrap(), checks[..1]);
        let (no_forge, [_, file]) = both(bad, good);
        publish(&no_forge, &checks).await.unwrap_err();
        assert_eq!(file.checks().unwrap(), checks);
    }
}
