//! Questions to other systems, asked beside everything else: these may take their time, and nothing else waits for them.
//!
//! In: questions that somebody has. Out: the answers. A question is asked once at a time, however many have it, and one that
//! failed rests before it is asked again. It does not know what is asked, or who wants to know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use jiff::Timestamp;
use tokio::sync::Semaphore;

/// A question and its answer.
pub(super) type Answer<Q, A, E> = (Q, Result<A, E>);

/// Asks a question.
type Ask<Q, A, E> = Arc<dyn Fn(&Q) -> BoxFuture<'static, Result<A, E>> + Send + Sync>;

/// The manner of asking questions of one kind.
pub(super) struct Manner<Q, A, E> {
    pub(super) ask: Ask<Q, A, E>,
    /// The number of questions asked at once.
    pub(super) at_once: usize,
    /// The time that an answer may take, and the error if it takes longer.
    pub(super) patience: (Duration, fn(&Q) -> E),
    /// The rest after so many failures in a row.
    pub(super) pause: fn(&E, u32) -> Duration,
}

/// The open questions, and those that failed.
pub(super) struct Questions<Q, A, E> {
    manner: Manner<Q, A, E>,
    turns: Arc<Semaphore>,
    open: BTreeSet<Q>,
    answers: FuturesUnordered<BoxFuture<'static, Answer<Q, A, E>>>,
    /// The failures in a row of each, and the time to ask it again.
    failed: BTreeMap<Q, (u32, Timestamp)>,
}

impl<Q, A, E> Questions<Q, A, E>
where
    Q: Clone + Ord + Send + Sync + 'static,
    A: Send + 'static,
    E: Send + 'static,
{
    /// No question yet.
    pub(super) fn new(manner: Manner<Q, A, E>) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(manner.at_once)),
            manner,
            open: BTreeSet::new(),
            answers: FuturesUnordered::new(),
            failed: BTreeMap::new(),
        }
    }

    /// Asks a question, unless it is open; if it rests, the time until which it does.
    pub(super) fn ask(&mut self, question: Q, now: Timestamp) -> Option<Timestamp> {
        let rests = self.failed.get(&question).map(|(_, until)| *until);
        if rests.is_some_and(|until| until > now) {
            return rests;
        }
        if self.open.insert(question.clone()) {
            let (ask, turns) = (Arc::clone(&self.manner.ask), Arc::clone(&self.turns));
            let (patience, silent) = self.manner.patience;
            let answer = async move {
                let _turn = turns.acquire_owned().await;
                let answer = tokio::time::timeout(patience, ask(&question)).await;
                let answer = answer.unwrap_or_else(|_| Err(silent(&question)));
                (question, answer)
            };
            self.answers.push(answer.boxed());
        }
        None
    }

    /// The next answer; `None` if no question is open.
    pub(super) async fn next(&mut self) -> Option<Answer<Q, A, E>> {
        self.answers.next().await
    }

    /// Takes note of an answer: a question that failed rests.
    pub(super) fn answered(&mut self, (question, answer): &Answer<Q, A, E>, now: Timestamp) {
        self.open.remove(question);
        let before = self.failed.remove(question);
        let Err(error) = answer else { return };
        let failures = before.map_or(0, |(failures, _)| failures) + 1;
        let until = now.checked_add((self.manner.pause)(error, failures));
        let until = until.unwrap_or(now);
        self.failed.insert(question.clone(), (failures, until));
    }

    /// Takes back the open questions.
    pub(super) fn stop(&mut self) {
        self.open.clear();
        self.answers.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::time::Instant;

    use super::*;

    const AT_ONCE: usize = 3;

    /// Questions that get this answer, or none, and how often one was asked.
    fn questions(
        answer: Option<Result<(), &'static str>>,
    ) -> (Arc<AtomicUsize>, Questions<usize, (), &'static str>) {
        let asked = Arc::new(AtomicUsize::default());
        let count = Arc::clone(&asked);
        let ask = move |_: &usize| {
            count.fetch_add(1, Ordering::Relaxed);
            match answer {
                Some(answer) => std::future::ready(answer).boxed(),
                None => std::future::pending().boxed(),
            }
        };
        let questions = Questions::new(Manner {
            ask: Arc::new(ask),
            at_once: AT_ONCE,
            patience: (Duration::from_secs(20), |_| "silent"),
            pause: |_, failures| Duration::from_secs(30) * failures,
        });
        (asked, questions)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number")
    }

    #[tokio::test]
    async fn one_that_failed_rests_and_longer_each_time() {
        let (_, mut questions) = questions(Some(Err("no")));
        for (second, rests) in [(0, None), (29, Some(30)), (30, None), (89, Some(90))] {
            assert_eq!(questions.ask(0, at(second)), rests.map(at), "{second}");
            if let Some(answer) = questions.next().await {
                questions.answered(&answer, at(second));
            }
        }
    }

    #[tokio::test]
    async fn issue_15_one_that_many_have_is_asked_once_at_a_time() {
        let (asked, mut questions) = questions(Some(Ok(())));
        for _ in 0..600 {
            assert_eq!(questions.ask(0, at(0)), None);
        }
        let answer = questions.next().await.expect("one");
        assert!(questions.next().await.is_none());
        questions.ask(0, at(0));
        assert!(questions.next().await.is_none(), "it is open still");
        questions.answered(&answer, at(0));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        questions.ask(0, at(0));
        questions.stop();
        questions.ask(0, at(0));
        assert!(questions.next().await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn issue_15_an_answer_that_does_not_come_is_not_waited_for_long() {
        let (_, mut questions) = questions(None);
        let start = Instant::now();
        for question in 0..=AT_ONCE {
            questions.ask(question, at(0));
        }
        let mut waited = Vec::new();
        while let Some((_, answer)) = questions.next().await {
            assert_eq!(answer, Err("silent"));
            waited.push(start.elapsed().as_secs());
        }
        assert_eq!(waited, [20, 20, 20, 40]);
    }
}
