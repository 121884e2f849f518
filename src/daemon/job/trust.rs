//! Which signatures a revision needs before anything of it is read.

use super::Source;
use crate::adapters::git::{Error, Trust};
use crate::api::fleet::VerifyMode;
use crate::daemon::wall_time;

impl Source {
    /// Whether `revision` has the signatures that the fleet asks for.
    pub(super) fn verify(&self, revision: &str) -> Result<(), Error> {
        let Some(verification) = &self.verification else {
            return Ok(());
        };
        let trust = Trust {
            keys: &verification.keys,
            now: wall_time(),
        };
        let of_tag = || self.mirror.verify_tag(&self.reference, revision, trust);
        let of_commit = || self.mirror.verify_commit(revision, trust);
        match verification.mode {
            VerifyMode::Head => of_commit(),
            VerifyMode::Tag => of_tag(),
            VerifyMode::TagAndHead => of_tag().and_then(|()| of_commit()),
        }
    }
}
