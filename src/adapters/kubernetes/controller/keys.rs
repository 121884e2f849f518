//! Questions about keys in vaults.
//!
//! In: the vaults. Out: how they are asked. It does not know how a vault is reached, or who needs the key.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::backoff::backoff;
use super::questions::{Answer, Manner, Questions};
use crate::model::{AdapterError, ErrorClass, KeyError, KeyRequest, KeyVaults};

/// Keys that somebody needs.
pub(super) type KeyQuestions = Questions<KeyRequest, String, KeyError>;

/// The answer of a vault about a key.
pub(super) type KeyAnswer = Answer<KeyRequest, String, KeyError>;

/// Asks `vaults`, each of which may take so long to answer.
pub(super) fn questions(vaults: Arc<dyn KeyVaults>, patience: Duration) -> KeyQuestions {
    Questions::new(Manner {
        ask: Arc::new(move |request| vaults.ensure(request)),
        at_once: Semaphore::MAX_PERMITS,
        patience: (patience, silent),
        pause,
    })
}

/// A vault may want to be left alone for longer.
fn pause(error: &KeyError, failures: u32) -> Duration {
    let pause = backoff(error.error.class(), failures);
    pause.max(error.retry_after.unwrap_or_default())
}

/// The vault did not answer in time.
fn silent(request: &KeyRequest) -> KeyError {
    let message = format!("the vault '{}' does not answer", request.vault);
    AdapterError::new(ErrorClass::Transient, message).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vault_that_wants_to_be_left_alone_is() {
        let mut error = KeyError::from(AdapterError::new(ErrorClass::Transient, "throttled"));
        assert_eq!(pause(&error, 2), Duration::from_secs(2));
        error.retry_after = Some(Duration::from_secs(17));
        assert_eq!(pause(&error, 2), Duration::from_secs(17));
    }
}
