//! Where checks go without a forge: into git notes, or into a file for a directory.

use std::path::PathBuf;
use std::sync::Arc;

use super::git_notes::GitNotes;
use super::job::Origin;
use super::status_file::StatusFile;
use crate::model::CheckSink;
use crate::settings::SyncConfig;

/// Where checks go without a forge.
pub(super) fn sink(origin: &Origin, config: &SyncConfig) -> Arc<dyn CheckSink> {
    match origin {
        Origin::Repository(mirror) => Arc::new(GitNotes::new(Arc::clone(mirror))),
        Origin::Directory(_) => Arc::new(StatusFile::new(status_file(config))),
    }
}

/// The file with the checks of a directory.
#[must_use]
pub fn status_file(config: &SyncConfig) -> PathBuf {
    let default = || config.mirror.with_extension("status.json");
    config.status_file.clone().unwrap_or_else(default)
}
