//! Credentials, each made once.
//!
//! In: what a credential is made of, who asks for it, and the time. Out: the same credential for the same content. A
//! credential is dropped when its content is replaced, its identity is gone, or nobody has asked for it for some hours, so
//! that a password does not stay in memory. It holds no content, but its digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use azure_core::credentials::TokenCredential;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::principal::Principal;
use crate::model::{AdapterError, CredentialOf};

/// A SHA-256 of all that a credential is made of.
pub(super) type Content = [u8; 32];

/// What a credential is made of.
pub(super) fn content(principal: &Principal, authority: &str) -> Content {
    let mut digest = Sha256::new();
    let [kind, proof, place] = principal.proof.parts();
    let tenant = principal.tenant.as_bytes();
    let client = principal.client.as_bytes();
    for part in [authority.as_bytes(), kind, tenant, client, proof, place] {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// Whose credential, and at which server of Entra ID.
type Asked = (CredentialOf, String);

/// How long a credential is kept for who does not ask again. Whoever uses one asks every hour.
const KEPT: SignedDuration = SignedDuration::from_hours(3);

/// The credentials that are in use.
#[derive(Default)]
pub(super) struct Cache(Mutex<Held>);

#[derive(Default)]
struct Held {
    made: BTreeMap<Content, Arc<dyn TokenCredential>>,
    newest: BTreeMap<Asked, (Content, Timestamp)>,
}

impl Held {
    /// Drops what is the newest content of nobody.
    fn prune(&mut self) {
        let newest = &self.newest;
        self.made
            .retain(|content, _| newest.values().any(|(newest, _)| newest == content));
    }
}

impl Cache {
    /// The credential of this content, which is made if there is none. An error is not kept.
    pub(super) fn get(
        &self,
        asked: Asked,
        content: Content,
        now: Timestamp,
        make: impl FnOnce() -> Result<Arc<dyn TokenCredential>, AdapterError>,
    ) -> Result<Arc<dyn TokenCredential>, AdapterError> {
        let mut held = self.0.lock();
        let held = &mut *held;
        let before = held.newest.insert(asked, (content, now));
        let count = held.newest.len();
        held.newest
            .retain(|_, (_, at)| now.duration_since(*at) < KEPT);
        let is_changed = before.is_some_and(|(before, _)| before != content);
        if is_changed || held.newest.len() < count {
            held.prune();
        }
        if let Some(made) = held.made.get(&content) {
            return Ok(Arc::clone(made));
        }
        let made = make()?;
        held.made.insert(content, Arc::clone(&made));
        Ok(made)
    }

    /// Drops the credentials of an identity that is gone.
    pub(super) fn forget(&self, of: &CredentialOf) {
        let mut held = self.0.lock();
        held.newest.retain(|(whose, _), _| whose != of);
        held.prune();
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let held = self.0.lock();
        held.made.len()
    }
}
