//! Questions about keys in vaults, asked beside everything else: a vault may take its time, and nothing else waits for it.
//!
//! In: keys that somebody needs. Out: the answers. A key is asked for once at a time, and one that could not be had rests
//! before it is asked for again. It does not know how a vault is reached, or who needs the key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use jiff::Timestamp;

use super::backoff::backoff;
use crate::model::{AdapterError, ErrorClass, KeyError, KeyRequest, KeyVaults};

/// What a vault answered about a key.
pub(super) type Answer = (KeyRequest, Result<String, KeyError>);

/// The questions that are open, and the keys that could not be had.
pub(super) struct KeyQuestions {
    vaults: Arc<dyn KeyVaults>,
    /// How long a vault may take to answer.
    patience: Duration,
    open: BTreeSet<KeyRequest>,
    answers: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// How often each key failed in a row, and when to ask again.
    failed: BTreeMap<KeyRequest, (u32, Timestamp)>,
}

impl KeyQuestions {
    /// No question yet.
    pub(super) fn new(vaults: Arc<dyn KeyVaults>, patience: Duration) -> Self {
        Self {
            vaults,
            patience,
            open: BTreeSet::new(),
            answers: FuturesUnordered::new(),
            failed: BTreeMap::new(),
        }
    }

    /// Asks for a key, unless that is being done; if it rests, the time until which it does.
    pub(super) fn ask(&mut self, request: KeyRequest, now: Timestamp) -> Option<Timestamp> {
        let rests = self.failed.get(&request).map(|(_, until)| *until);
        if rests.is_some_and(|until| until > now) {
            return rests;
        }
        if self.open.insert(request.clone()) {
            let answer = tokio::time::timeout(self.patience, self.vaults.ensure(&request));
            let answer = async {
                let answer = answer.await.unwrap_or_else(|_| Err(silent(&request)));
                (request, answer)
            };
            self.answers.push(answer.boxed());
        }
        None
    }

    /// The next answer; `None` if no question is open.
    pub(super) async fn next(&mut self) -> Option<Answer> {
        self.answers.next().await
    }

    /// Takes note of an answer: a key that could not be had rests.
    pub(super) fn answered(&mut self, (request, answer): &Answer, now: Timestamp) {
        self.open.remove(request);
        let before = self.failed.remove(request);
        let Err(error) = answer else { return };
        let failures = before.map_or(0, |(failures, _)| failures) + 1;
        let pause = backoff(error.error.class(), failures);
        let pause = pause.max(error.retry_after.unwrap_or_default());
        let until = now.checked_add(pause).unwrap_or(now);
        self.failed.insert(request.clone(), (failures, until));
    }

    /// Takes back the open questions.
    pub(super) fn stop(&mut self) {
        self.open.clear();
        self.answers.clear();
    }
}

/// The vault did not answer in time.
fn silent(request: &KeyRequest) -> KeyError {
    let message = format!("the vault '{}' does not answer", request.vault);
    AdapterError::new(ErrorClass::Transient, message).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{KeyFault, ObjectId};

    const PATIENCE: Duration = Duration::from_secs(60);

    /// A vault that has one answer.
    struct Vault(Result<String, KeyError>);

    impl KeyVaults for Vault {
        fn ensure(&self, _: &KeyRequest) -> BoxFuture<'static, Result<String, KeyError>> {
            std::future::ready(self.0.clone()).boxed()
        }
    }

    fn request() -> KeyRequest {
        KeyRequest {
            vault: "kv".to_owned(),
            key: "etcd".to_owned(),
            identity: ObjectId::new("", "AzureClusterIdentity", "ns", "i"),
            namespace: "ns".to_owned(),
            environment: String::new(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number")
    }

    /// Asks at a time, and takes in the answer; how long the key rests, if it does.
    async fn ask(questions: &mut KeyQuestions, second: i64) -> Option<Timestamp> {
        let rests = questions.ask(request(), at(second));
        if let Some(answer) = questions.next().await {
            questions.answered(&answer, at(second));
        }
        rests
    }

    #[tokio::test]
    async fn a_key_that_could_not_be_had_rests_and_longer_each_time() {
        let error = AdapterError::new(ErrorClass::Denied, "no");
        let vault = Vault(Err(KeyError::new(KeyFault::AccessDenied, error)));
        let mut questions = KeyQuestions::new(Arc::new(vault), PATIENCE);
        for (second, rests) in [(0, None), (29, Some(30)), (30, None), (89, Some(90))] {
            let found = ask(&mut questions, second).await;
            assert_eq!(found, rests.map(at), "{second}");
        }
    }

    #[tokio::test]
    async fn a_vault_that_wants_to_be_left_alone_is() {
        let mut error = KeyError::from(AdapterError::new(ErrorClass::Transient, "throttled"));
        error.retry_after = Some(Duration::from_secs(17));
        let mut questions = KeyQuestions::new(Arc::new(Vault(Err(error))), PATIENCE);
        assert_eq!(ask(&mut questions, 0).await, None);
        assert_eq!(ask(&mut questions, 16).await, Some(at(17)));
    }

    #[tokio::test]
    async fn a_key_is_asked_for_once_at_a_time() {
        let mut questions = KeyQuestions::new(Arc::new(Vault(Ok("v1".to_owned()))), PATIENCE);
        assert_eq!(questions.ask(request(), at(0)), None);
        assert_eq!(questions.ask(request(), at(0)), None);
        assert!(questions.next().await.is_some());
        assert!(questions.next().await.is_none());
        questions.ask(request(), at(0));
        assert!(questions.next().await.is_none(), "it is open still");
        questions.stop();
        questions.ask(request(), at(0));
        assert!(questions.next().await.is_some());
    }
}
