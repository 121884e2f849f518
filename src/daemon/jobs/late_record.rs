//! The commits with approvals that came too late for a revision: the forge had not said yet how they came in. Kept across
//! restarts, since no later commit says the same.
//!
//! In: what counted for a revision, and what waits. Out: commits to look at beside those that lead to a revision. A file
//! that cannot be read holds none: then somebody has to approve again. It does not know the forge.

use std::collections::BTreeMap;
use std::path::PathBuf;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::record_file;
use crate::plan::approvals::Approvals;

/// How many are kept.
const MOST: usize = 100;

/// By commit, the revision that it counted for in the end.
type Late = BTreeMap<String, Option<String>>;

/// See the module.
pub(super) struct LateRecord {
    path: PathBuf,
    late: Mutex<Late>,
}

#[derive(Default, Serialize, Deserialize)]
struct Contents {
    commits: Late,
}

impl LateRecord {
    /// What the file holds, if there is one.
    pub(super) fn open(path: PathBuf) -> Self {
        let contents: Contents = record_file::read(&path).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "cannot read which approvals wait for an answer of the forge: approve again what is kept");
            Contents::default()
        });
        Self {
            path,
            late: Mutex::new(contents.commits),
        }
    }

    /// Lists those that may count for `revision` after `applied`. What counted for `applied` is done.
    pub(super) fn of(&self, applied: &str, revision: &str) -> Vec<String> {
        let mut late = self.late.lock();
        let is_done =
            |counted: &Option<String>| applied != revision && counted.as_deref() == Some(applied);
        let before = late.len();
        late.retain(|_, counted| !is_done(counted));
        if late.len() < before {
            self.save(&late);
        }
        late.keys().cloned().collect()
    }

    /// Takes in what counts for `revision`, and what waits.
    pub(super) fn note(&self, revision: &str, approvals: &Approvals) {
        let mut late = self.late.lock();
        let before = late.clone();
        for commit in approvals.unattributed() {
            if late.len() < MOST {
                late.insert(commit.clone(), None);
            }
        }
        for approval in &approvals.given {
            if let Some(counted) = late.get_mut(&approval.commit) {
                *counted = Some(revision.to_owned());
            }
        }
        for (approval, _) in &approvals.doubted {
            if approvals.unattributed().all(|one| *one != approval.commit) {
                late.remove(&approval.commit);
            }
        }
        if *late != before {
            self.save(&late);
        }
    }

    fn save(&self, late: &Late) {
        let contents = Contents {
            commits: late.clone(),
        };
        if let Err(error) = record_file::write(&self.path, contents) {
            tracing::warn!(path = %self.path.display(), %error, "cannot record which approvals wait for an answer of the forge: a restart forgets them; make the directory writable");
        }
    }
}
