//! The memory of which subjects a stream captures.
//!
//! In: what JetStream answered about a subject on a connection. Out: the same, for a while. A new connection
//! may lead to another server, so that it knows nothing yet.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The time that an answer counts: a stream that is created later is noticed after this time.
const FRESH: Duration = Duration::from_secs(30);
/// The most subjects that are remembered: there is one for every instance.
const MOST: usize = 4_096;

/// The way of the messages of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capture {
    /// A stream stores its messages and acknowledges them.
    Stream,
    /// Messages go to those who listen, and nobody acknowledges them.
    Nothing,
    /// The user may not ask.
    Unknown,
}

struct Answer {
    capture: Capture,
    connection: u64,
    at: Instant,
}

impl Answer {
    fn counts(&self, connection: u64) -> bool {
        self.connection == connection && self.at.elapsed() < FRESH
    }
}

/// The answers of the last 30 seconds.
#[derive(Default)]
pub(super) struct Captures(Mutex<HashMap<String, Answer>>);

impl Captures {
    pub(super) fn get(&self, subject: &str, connection: u64) -> Option<Capture> {
        let answers = self.0.lock();
        let answer = answers.get(subject)?;
        answer.counts(connection).then_some(answer.capture)
    }

    pub(super) fn put(&self, subject: &str, connection: u64, capture: Capture) {
        let mut answers = self.0.lock();
        if answers.len() >= MOST {
            answers.retain(|_, answer| answer.counts(connection));
        }
        if answers.len() >= MOST {
            answers.clear();
        }
        let at = Instant::now();
        let answer = Answer {
            capture,
            connection,
            at,
        };
        answers.insert(subject.to_owned(), answer);
    }

    pub(super) fn forget(&self, subject: &str) {
        self.0.lock().remove(subject);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_for_30_seconds_of_one_connection() {
        let captures = Captures::default();
        captures.put("a", 1, Capture::Nothing);
        assert_eq!(captures.get("a", 1), Some(Capture::Nothing));
        assert_eq!(captures.get("a", 2), None);
        assert_eq!(captures.get("b", 1), None);
        tokio::time::advance(Duration::from_secs(29)).await;
        assert_eq!(captures.get("a", 1), Some(Capture::Nothing));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(captures.get("a", 1), None);
        captures.put("a", 1, Capture::Stream);
        captures.forget("a");
        assert_eq!(captures.get("a", 1), None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_4096_subjects_are_remembered() {
        let captures = Captures::default();
        for n in 0..10_000 {
            captures.put(&n.to_string(), 1, Capture::Stream);
            assert!(captures.0.lock().len() <= MOST);
        }
        assert_eq!(captures.get("9999", 1), Some(Capture::Stream));
    }
}
