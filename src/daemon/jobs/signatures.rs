//! Which signatures a revision needs before anything of it is read.

use parking_lot::Mutex;

use super::origin::Origin;
use crate::adapters::git::{Error, Ref, Trust};
use crate::api::fleet::VerifyMode;
use crate::daemon::wall_time;
use crate::plan::approvals::Doubt;
use crate::settings::{SyncConfig, Verification};

/// The signatures that the fleet asks for.
pub(super) struct Signatures {
    origin: Origin,
    reference: Ref,
    verification: Option<Verification>,
    /// Whether the fleet says who may approve: then nobody approves in a commit that anybody could have written.
    approvals_need_one: bool,
    /// The commit that was examined last, and why, if it was refused for its signature.
    unverified: Mutex<Option<(String, Error)>>,
}

impl Signatures {
    pub(super) fn new(origin: Origin, reference: Ref, config: &SyncConfig) -> Self {
        Self {
            origin,
            reference,
            verification: config.verify.clone(),
            approvals_need_one: config.approvals.is_set(),
            unverified: Mutex::default(),
        }
    }

    /// What became of the commit that was examined last.
    pub(super) fn remember(&self, revision: &str, error: Option<&Error>) {
        let fault = error.filter(|error| matches!(error, Error::Unverified { .. }));
        *self.unverified.lock() = fault.map(|error| (revision.to_owned(), error.clone()));
    }

    /// Whether `head` was refused for its signature and would not be any more, or for another reason: a tag can be
    /// signed while its commit stays the same.
    pub(super) fn is_signed_anew(&self, head: &str) -> bool {
        let before = self.unverified.lock().clone();
        let before = before.filter(|(revision, _)| revision == head);
        before.is_some_and(|(_, before)| self.verify(head).err() != Some(before))
    }

    /// Whether `revision` has the signatures that the fleet asks for.
    pub(super) fn verify(&self, revision: &str) -> Result<(), Error> {
        let Some(verification) = &self.verification else {
            return Ok(());
        };
        let trust = Trust {
            keys: &verification.keys,
            now: wall_time(),
        };
        let repository = self.origin.repository()?;
        let of_tag = || repository.verify_tag(&self.reference, revision, trust);
        let of_commit = || repository.verify_commit(revision, trust);
        match verification.mode {
            VerifyMode::Head => of_commit(),
            VerifyMode::Tag => of_tag(),
            VerifyMode::TagAndHead => of_tag().and_then(|()| of_commit()),
        }
    }

    /// Why an approval in the message of this commit does not count, if its signature is the reason: one on a later commit,
    /// or on a tag, says nothing of who wrote this message.
    pub(super) fn doubt_approval(&self, commit: &str) -> Option<Doubt> {
        let Some(verification) = &self.verification else {
            return self.approvals_need_one.then_some(Doubt::Unsigned);
        };
        let trust = Trust {
            keys: &verification.keys,
            now: wall_time(),
        };
        let repository = self.origin.repository();
        let verified = repository.and_then(|it| it.verify_commit(commit, trust));
        Some(Doubt::Unverified(verified.err()?.to_string()))
    }
}
