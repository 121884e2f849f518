//! The state of the connection, as its events tell it.
//!
//! In: the events of the client, and the outcome of its attempts. Out: whether the connection is up, why it
//! is not, and what the server refused on it. Those who wait for an answer learn that none will come.

use std::collections::VecDeque;
use std::time::Duration;

use async_nats::{Event, Server, ServerError};
use tokio::sync::watch;
use tokio::time::Instant;

use super::error::Error;
use crate::model::words::said;

/// The time that a refusal counts. After it the server is asked again: the user may have got the right.
const REFUSED: Duration = Duration::from_secs(30);
/// The most refusals that are kept.
const MOST: usize = 1_024;

/// The connection to NATS, for those who show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// There is one.
    Up,
    /// There is none, and it is tried again and again.
    Down {
        /// The outcome of the last attempt.
        cause: String,
    },
}

/// The words with which the server refused something.
struct Refusal {
    words: String,
    at: Instant,
}

/// The state of the connection.
#[derive(Default)]
pub(super) struct State {
    /// The number of connections so far: an answer to what was sent over another never comes.
    pub(super) number: u64,
    pub(super) is_up: bool,
    /// Nothing more is to be sent.
    pub(super) is_closed: bool,
    /// The client has ended.
    pub(super) has_ended: bool,
    cause: Option<String>,
    refusals: VecDeque<Refusal>,
}

impl State {
    /// The last attempt's outcome.
    pub(super) fn cause(&self) -> &str {
        self.cause
            .as_deref()
            .unwrap_or("the first attempt has not ended yet")
    }

    /// The words with which the server refused this subject lately.
    fn refusal(&self, subject: &str) -> Option<&str> {
        let name = format!("\"{subject}\"");
        let mut refusals = self.refusals.iter();
        let is_it =
            |refusal: &&Refusal| refusal.words.contains(&name) && refusal.at.elapsed() < REFUSED;
        Some(&refusals.find(is_it)?.words)
    }

    /// The error for the first of the subjects that was refused.
    pub(super) fn refused(&self, subjects: &[&str]) -> Option<Error> {
        let refused = |subject: &&str| {
            Some(Error::Refused {
                subject: (*subject).to_owned(),
                cause: self.refusal(subject)?.to_owned(),
            })
        };
        subjects.iter().find_map(refused)
    }

    fn connected(&mut self) {
        if !self.is_up {
            self.is_up = true;
            self.number += 1;
            self.cause = None;
            self.refusals.clear();
        }
    }

    fn disconnected(&mut self) {
        self.is_up = false;
        let cause = "the connection broke".to_owned();
        self.cause.get_or_insert(cause);
    }

    fn server_error(&mut self, error: &ServerError) {
        let words = match error {
            ServerError::Other(words) => said(words),
            other => said(&other.to_string()),
        };
        if !words.to_lowercase().contains("permissions violation") {
            self.cause = Some(words);
            return;
        }
        if self.refusals.len() >= MOST {
            self.refusals.pop_front();
        }
        let at = Instant::now();
        self.refusals.push_back(Refusal { words, at });
    }
}

/// The state, which many watch.
pub(super) struct Link {
    state: watch::Sender<State>,
    shown: watch::Sender<Connection>,
}

impl Link {
    pub(super) fn new() -> Self {
        let state = State::default();
        let shown = show(&state);
        Self {
            state: watch::Sender::new(state),
            shown: watch::Sender::new(shown),
        }
    }

    pub(super) fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    pub(super) fn shown(&self) -> watch::Receiver<Connection> {
        self.shown.subscribe()
    }

    pub(super) fn event(&self, event: &Event) {
        match event {
            Event::Connected => self.change(State::connected),
            Event::Disconnected => self.change(State::disconnected),
            Event::ServerError(error) => self.change(|state| state.server_error(error)),
            Event::Closed => self.change(|state| state.has_ended = true),
            _ => {}
        }
    }

    /// Takes note of what the last attempt came to; a refusal of the credentials counts most.
    pub(super) fn attempted(&self, servers: &[Server]) {
        let outcomes = || {
            servers
                .iter()
                .filter_map(|server| server.last_error.as_deref())
        };
        let refused = outcomes().find(|outcome| is_about_credentials(outcome));
        if let Some(cause) = refused.or_else(|| outcomes().next_back()) {
            let cause = said(cause);
            self.change(|state| state.cause = Some(cause));
        }
    }

    /// Events are lost when there are very many; the client itself knows better.
    pub(super) fn observe(&self, is_up: bool) {
        let was_up = self.state.borrow().is_up;
        if is_up && !was_up {
            self.change(State::connected);
        } else if was_up && !is_up {
            self.change(State::disconnected);
        }
    }

    pub(super) fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        self.state.send_modify(change);
        let shown = show(&self.state.borrow());
        self.shown.send_if_modified(|before| {
            let is_other = *before != shown;
            *before = shown;
            is_other
        });
    }
}

fn show(state: &State) -> Connection {
    if state.is_up {
        return Connection::Up;
    }
    Connection::Down {
        cause: state.cause().to_owned(),
    }
}

/// Returns true if the server did not let the user in, or no longer does.
pub(super) fn is_about_credentials(cause: &str) -> bool {
    let cause = cause.to_lowercase();
    let words = [
        "authorization",
        "authentication expired",
        "signing nonce",
        "revoked",
    ];
    words.iter().any(|word| cause.contains(word))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const WORDS: &str = "Permissions Violation for Publish to \"dcm.cluster\"";

    fn refuse(link: &Link, words: &str) {
        link.event(&Event::ServerError(ServerError::Other(words.to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_counts_for_its_subject_for_30_seconds_of_one_connection() {
        let link = Link::new();
        link.event(&Event::Connected);
        refuse(&link, WORDS);
        let state = link.state();
        let refused = |subject: &str| state.borrow().refused(&[subject]);
        let error = Error::Refused {
            subject: "dcm.cluster".to_owned(),
            cause: WORDS.to_owned(),
        };
        assert_eq!(refused("dcm.cluster"), Some(error));
        assert_eq!(refused("dcm.cluster.x"), None);
        assert_eq!(refused("dcm"), None);
        tokio::time::advance(REFUSED).await;
        assert_eq!(refused("dcm.cluster"), None);
        refuse(&link, WORDS);
        assert!(refused("dcm.cluster").is_some());
        link.event(&Event::Disconnected);
        link.event(&Event::Connected);
        assert_eq!(refused("dcm.cluster"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_1024_refusals_of_bounded_length_are_kept() {
        let link = Link::new();
        for n in 0..5_000 {
            refuse(&link, &format!("{WORDS} {n} {}", "x".repeat(10_000)));
        }
        let state = link.state();
        let state = state.borrow();
        assert_eq!(state.refusals.len(), MOST);
        assert!(state.refusals[0].words.contains(" 3976 "));
        assert!(state.refusals[0].words.chars().count() <= 1_000);
    }

    #[tokio::test]
    async fn every_connection_has_a_number_whether_its_event_or_the_client_tells_it() {
        let link = Link::new();
        let number = || link.state().borrow().number;
        link.event(&Event::Connected);
        link.observe(true);
        link.event(&Event::Connected);
        assert_eq!(number(), 1);
        link.observe(false);
        link.event(&Event::Disconnected);
        link.observe(true);
        link.event(&Event::Connected);
        assert_eq!(number(), 2);
    }

    #[tokio::test]
    async fn what_is_shown_says_why_and_changes_only_when_it_differs() {
        let link = Link::new();
        let mut shown = link.shown();
        let cause = "the first attempt has not ended yet".to_owned();
        assert_eq!(*shown.borrow_and_update(), Connection::Down { cause });
        link.event(&Event::Connected);
        assert_eq!(*shown.borrow_and_update(), Connection::Up);
        refuse(&link, WORDS);
        assert!(!shown.has_changed().unwrap());
        refuse(&link, "User Authentication Expired");
        link.event(&Event::Disconnected);
        let cause = "User Authentication Expired".to_owned();
        assert_eq!(*shown.borrow_and_update(), Connection::Down { cause });
        assert!(is_about_credentials("User Authentication Expired"));
        assert!(is_about_credentials(
            "authorization violation: nats: authorization violation"
        ));
        assert!(!is_about_credentials(
            "IO error: Connection refused (os error 111)"
        ));
    }
}
