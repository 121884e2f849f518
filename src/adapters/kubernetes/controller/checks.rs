//! Questions whether credentials work, asked beside everything else: Entra ID may take its time, and no write waits for it.
//!
//! In: credentials that somebody needs. Out: the answers. A credential is tried once at a time, however many need it, and
//! one that does not work rests before it is tried again. It does not know who needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::backoff::backoff;
use crate::model::{AdapterError, CredentialRequest, Credentials, ErrorClass};

/// How many are tried at once.
const AT_ONCE: usize = 32;

/// Whether a credential works.
pub(super) type Checked = (CredentialRequest, Result<(), AdapterError>);

/// The questions that are open, and the credentials that did not work.
pub(super) struct CredentialChecks {
    credentials: Arc<dyn Credentials>,
    /// How long Entra ID may take to answer.
    patience: Duration,
    turns: Arc<Semaphore>,
    open: BTreeSet<CredentialRequest>,
    answers: FuturesUnordered<BoxFuture<'static, Checked>>,
    /// How often each failed in a row, and when to try it again.
    failed: BTreeMap<CredentialRequest, (u32, Timestamp)>,
}

impl CredentialChecks {
    /// No question yet.
    pub(super) fn new(credentials: Arc<dyn Credentials>, patience: Duration) -> Self {
        Self {
            credentials,
            patience,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            open: BTreeSet::new(),
            answers: FuturesUnordered::new(),
            failed: BTreeMap::new(),
        }
    }

    /// Tries a credential, unless that is being done; if it rests, the time until which it does.
    pub(super) fn ask(&mut self, request: CredentialRequest, now: Timestamp) -> Option<Timestamp> {
        let rests = self.failed.get(&request).map(|(_, until)| *until);
        if rests.is_some_and(|until| until > now) {
            return rests;
        }
        if self.open.insert(request.clone()) {
            let (turns, patience) = (Arc::clone(&self.turns), self.patience);
            let credentials = Arc::clone(&self.credentials);
            let answer = async move {
                let _turn = turns.acquire_owned().await;
                let answer = tokio::time::timeout(patience, credentials.check(&request)).await;
                (request, answer.unwrap_or_else(|_| Err(silent())))
            };
            self.answers.push(answer.boxed());
        }
        None
    }

    /// The next answer; `None` if no question is open.
    pub(super) async fn next(&mut self) -> Option<Checked> {
        self.answers.next().await
    }

    /// Takes note of an answer: a credential that does not work rests.
    pub(super) fn answered(&mut self, (request, answer): &Checked, now: Timestamp) {
        self.open.remove(request);
        let before = self.failed.remove(request);
        let Err(error) = answer else { return };
        let failures = before.map_or(0, |(failures, _)| failures) + 1;
        let until = now.checked_add(backoff(error.class(), failures));
        let until = until.unwrap_or(now);
        self.failed.insert(request.clone(), (failures, until));
    }

    /// Takes back the open questions.
    pub(super) fn stop(&mut self) {
        self.open.clear();
        self.answers.clear();
    }
}

fn silent() -> AdapterError {
    AdapterError::new(ErrorClass::Transient, "Entra ID does not answer")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::time::Instant;

    use super::*;
    use crate::model::{AsoSecretRequest, CredentialOf, SecretContent};

    const PATIENCE: Duration = Duration::from_secs(20);

    /// An Entra ID that has one answer, or none. It counts how often it is asked.
    struct Entra(Option<Result<(), AdapterError>>, AtomicUsize);

    impl Credentials for Entra {
        fn check(&self, _: &CredentialRequest) -> BoxFuture<'static, Result<(), AdapterError>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            match self.0.clone() {
                Some(answer) => std::future::ready(answer).boxed(),
                None => std::future::pending().boxed(),
            }
        }

        fn aso_secret(
            &self,
            _: &AsoSecretRequest,
        ) -> BoxFuture<'static, Result<SecretContent, AdapterError>> {
            std::future::pending().boxed()
        }
    }

    fn checks(answer: Option<Result<(), AdapterError>>) -> (Arc<Entra>, CredentialChecks) {
        let entra = Arc::new(Entra(answer, AtomicUsize::default()));
        let credentials = Arc::clone(&entra) as Arc<dyn Credentials>;
        (entra, CredentialChecks::new(credentials, PATIENCE))
    }

    fn request(version: usize) -> CredentialRequest {
        CredentialRequest {
            of: CredentialOf::Default,
            environment: String::new(),
            version: version.to_string(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number")
    }

    #[tokio::test]
    async fn issue_15_a_credential_that_many_use_is_tried_once_at_a_time() {
        let (entra, mut checks) = checks(Some(Ok(())));
        for _ in 0..600 {
            assert_eq!(checks.ask(request(0), at(0)), None);
        }
        let answer = checks.next().await.expect("one");
        checks.answered(&answer, at(0));
        assert!(checks.next().await.is_none());
        assert_eq!(entra.1.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn one_that_does_not_work_rests_and_longer_each_time() {
        let denied = AdapterError::new(ErrorClass::Denied, "no");
        let (_, mut checks) = checks(Some(Err(denied)));
        for (second, rests) in [(0, None), (29, Some(30)), (30, None), (89, Some(90))] {
            assert_eq!(checks.ask(request(0), at(second)), rests.map(at));
            if let Some(answer) = checks.next().await {
                checks.answered(&answer, at(second));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn issue_15_a_token_that_does_not_come_is_not_waited_for_long() {
        let (_, mut checks) = checks(None);
        let start = Instant::now();
        for version in 0..=AT_ONCE {
            checks.ask(request(version), at(0));
        }
        let mut waited = Vec::new();
        while let Some((_, answer)) = checks.next().await {
            let error = answer.expect_err("there is none");
            assert_eq!(error.to_string(), "Entra ID does not answer");
            waited.push(start.elapsed().as_secs());
        }
        assert_eq!((waited[0], waited[AT_ONCE]), (20, 40));
    }
}
