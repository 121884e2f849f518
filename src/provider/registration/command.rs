//! The events and the commands of a registrar.
//!
//! In: nothing. Out: types. They do not know what they bring about.

use std::time::Duration;

use serde_json::Value;

use super::answer::Answer;
use crate::provider::capabilities::Capabilities;

/// An event that a registrar is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// This replica serves requests: a request to itself was answered.
    ServingBegan,
    /// This replica alone may register from now on.
    LeadershipGained,
    /// Another replica may register.
    LeadershipLost,
    /// The hub was asked, or announced a change.
    Discovered(Capabilities),
    /// The hub could not be asked.
    DiscoveryFailed(String),
    /// The registry answered the request of this attempt.
    Answered {
        /// The attempt.
        attempt: u64,
        /// The answer.
        answer: Answer,
    },
    /// The request of this attempt got no answer.
    Unanswered {
        /// The attempt.
        attempt: u64,
        /// The error of the connection.
        text: String,
    },
    /// A time has come.
    Woken,
}

/// A command of a registrar. None waits for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Ask the hub what it offers. The answer is [`Event::Discovered`] or [`Event::DiscoveryFailed`].
    Discover,
    /// Post the payload to the registry, and give up after 30 seconds. Redirects are not followed. The answer is
    /// [`Event::Answered`] or [`Event::Unanswered`] with this attempt.
    Post {
        /// The number of the attempt.
        attempt: u64,
        /// The body.
        payload: Value,
    },
    /// Send [`Event::Woken`] at this time, which takes the place of all before it.
    WakeAt(Duration),
    /// Tell people.
    Report {
        /// The importance.
        level: Level,
        /// The text, one line.
        text: String,
    },
}

/// The importance of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// All is well.
    Info,
    /// It may pass.
    Warning,
    /// Somebody must act.
    Error,
}
