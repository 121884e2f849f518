//! Where checks go: to a forge, into git notes, or into a file for a directory.

use std::path::PathBuf;
use std::sync::Arc;

use super::git_notes::GitNotes;
use super::ports::ForgePorts;
use super::status_file::{FileAndForge, StatusFile};
use crate::daemon::jobs::Origin;
use crate::settings::SyncConfig;

/// Where checks go: to `forge`, if there is one; those of a directory to its file, too.
pub(in crate::daemon) fn ports(
    origin: &Origin,
    config: &SyncConfig,
    forge: Option<ForgePorts>,
) -> ForgePorts {
    match (origin, forge) {
        (Origin::Repository(_), Some(forge)) => forge,
        (Origin::Repository(mirror), None) => {
            ForgePorts::checks_alone(Arc::new(GitNotes::new(Arc::clone(mirror))))
        }
        (Origin::Directory(_), forge) => {
            let file = Arc::new(StatusFile::new(status_file(config)));
            match forge {
                Some(forge) => {
                    let checks = Arc::clone(&forge.checks);
                    let checks = Arc::new(FileAndForge {
                        forge: checks,
                        file,
                    });
                    ForgePorts { checks, ..forge }
                }
                None => ForgePorts::checks_alone(file),
            }
        }
    }
}

/// The file with the checks of a directory.
#[must_use]
pub fn status_file(config: &SyncConfig) -> PathBuf {
    let default = || config.mirror.with_extension("status.json");
    config.status_file.clone().unwrap_or_else(default)
}
