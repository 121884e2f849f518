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

use crate::model::{AdapterError, Check, CheckSink, ErrorClass};

/// How many checks are kept.
const MOST: usize = 100;
const API_VERSION: &str = "capstan.dev/v1alpha1";
const KIND: &str = "CheckList";

/// The checks in one file.
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

impl CheckSink for StatusFile {
    fn publish<'a>(
        &'a self,
        checks: &'a [Check],
        _: Timestamp,
    ) -> BoxFuture<'a, Result<(), AdapterError>> {
        let written = self.write(checks).map_err(|cause| self.error(&cause));
        std::future::ready(written).boxed()
    }

    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        let checks = self.checks().map_err(|cause| self.error(&cause));
        let wanted = checks.map(|mut checks| {
            checks.retain(|check| check.context == context && revisions.contains(&check.revision));
            checks
        });
        std::future::ready(wanted).boxed()
    }
}

/// A forge for the revisions that are commits, a file for the others.
pub(super) struct OfCommits {
    pub(super) forge: Arc<dyn CheckSink>,
    pub(super) file: Arc<dyn CheckSink>,
}

/// Whether a revision is the ID of a commit.
fn is_commit(revision: &str) -> bool {
    matches!(revision.len(), 40 | 64) && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl CheckSink for OfCommits {
    fn publish<'a>(
        &'a self,
        checks: &'a [Check],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), AdapterError>> {
        let is_of_commit = |check: &Check| is_commit(&check.revision);
        let (commits, others): (Vec<Check>, Vec<Check>) =
            checks.iter().cloned().partition(is_of_commit);
        async move {
            if !others.is_empty() {
                self.file.publish(&others, now).await?;
            }
            if !commits.is_empty() {
                self.forge.publish(&commits, now).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        let is_of_commit = |revision: &String| is_commit(revision);
        let (commits, others): (Vec<String>, Vec<String>) =
            revisions.iter().cloned().partition(is_of_commit);
        async move {
            let mut checks = self.file.read(&others, context).await?;
            checks.extend(self.forge.read(&commits, context).await?);
            Ok(checks)
        }
        .boxed()
    }

    fn app(&self) -> Option<u64> {
        self.forge.app()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        self.forge.probe()
    }

    fn rate_remaining(&self) -> Option<u64> {
        self.forge.rate_remaining()
    }

    fn renew(&self, revision: &str, context: &str) {
        self.forge.renew(revision, context);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::CheckState;

    fn check(revision: &str, state: CheckState) -> Check {
        Check {
            revision: revision.to_owned(),
            context: "capstan/a/sync".to_owned(),
            state,
            title: String::new(),
            summary: String::new(),
            annotations: Vec::new(),
            detail: None,
            target_url: None,
            pull_request: None,
            older_pull_requests: Vec::new(),
            input: None,
            button: None,
        }
    }

    fn publish(sink: &dyn CheckSink, checks: &[Check]) -> Result<(), AdapterError> {
        let published = sink.publish(checks, Timestamp::UNIX_EPOCH);
        published.now_or_never().unwrap()
    }

    #[test]
    fn the_newest_checks_are_kept_each_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = StatusFile::new(dir.path().join("cache/a.status.json"));
        for number in 0..MOST + 5 {
            publish(&file, &[check(&number.to_string(), CheckState::Pending)]).unwrap();
        }
        let done = check("50", CheckState::Success);
        publish(&file, std::slice::from_ref(&done)).unwrap();
        let checks = file.checks().unwrap();
        assert_eq!((checks.len(), checks[0].revision.as_str()), (MOST, "5"));
        assert_eq!(checks.last(), Some(&done));
        let read = |context| {
            let revisions = ["50".to_owned(), "0".to_owned()];
            file.read(&revisions, context)
                .now_or_never()
                .unwrap()
                .unwrap()
        };
        assert_eq!(read("capstan/a/sync"), [done]);
        assert_eq!(read("capstan/b/sync"), []);
        let text: serde_json::Value =
            serde_json::from_slice(&fs::read(&file.path).unwrap()).unwrap();
        assert_eq!(
            (&text["apiVersion"], &text["kind"]),
            (&API_VERSION.into(), &KIND.into())
        );
        fs::write(&file.path, "garbage").unwrap();
        publish(&file, &[check("1", CheckState::Success)]).unwrap();
        assert_eq!(file.checks().unwrap().len(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let file = StatusFile::new(dir.path().join("file/a.json"));
        let error = publish(&file, &[check("1", CheckState::Success)]).unwrap_err();
        assert!(error.to_string().contains("file/a.json: "), "{error}");
    }

    #[test]
    fn a_forge_gets_the_checks_of_commits_alone() {
        let dir = tempfile::tempdir().unwrap();
        let [forge, file] =
            ["forge", "file"].map(|name| Arc::new(StatusFile::new(dir.path().join(name))));
        let both = OfCommits {
            forge: Arc::clone(&forge) as _,
            file: Arc::clone(&file) as _,
        };
        let checks = ["a".repeat(40), "files-0123456789abcdef".to_owned()];
        let checks = checks.map(|revision| check(&revision, CheckState::Success));
        publish(&both, &checks).unwrap();
        assert_eq!(forge.checks().unwrap(), checks[..1]);
        assert_eq!(file.checks().unwrap(), checks[1..]);
        let revisions = checks.each_ref().map(|check| check.revision.clone());
        let read = both.read(&revisions, "capstan/a/sync").now_or_never();
        assert_eq!(read.unwrap().unwrap().len(), 2);
    }
}
