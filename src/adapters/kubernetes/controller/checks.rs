//! Questions whether credentials work.
//!
//! In: whoever tries credentials. Out: how they are asked. It does not know who needs the credential.

use std::sync::Arc;
use std::time::Duration;

use super::backoff::backoff;
use super::questions::{Answer, Manner, Questions};
use crate::model::{AdapterError, CredentialRequest, Credentials, ErrorClass};

/// The number of credentials tried at once.
const AT_ONCE: usize = 32;

/// Credentials that somebody needs.
pub(super) type CredentialChecks = Questions<CredentialRequest, (), AdapterError>;

/// The answer about a credential.
pub(super) type CredentialAnswer = Answer<CredentialRequest, (), AdapterError>;

/// Tries `credentials`; Entra ID may take so long to answer.
pub(super) fn questions(credentials: Arc<dyn Credentials>, patience: Duration) -> CredentialChecks {
    Questions::new(Manner {
        ask: Arc::new(move |request| credentials.check(request)),
        at_once: AT_ONCE,
        patience: (patience, silent),
        pause: |error, failures| backoff(error.class(), failures),
    })
}

/// Entra ID did not answer in time.
fn silent(_: &CredentialRequest) -> AdapterError {
    AdapterError::new(ErrorClass::Transient, "Entra ID does not answer")
}
