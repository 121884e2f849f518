//! A publisher, what it is told, and what it wants done.

#![allow(clippy::unwrap_used)]

mod census;
mod closing;
mod debounce;
mod delivery;
mod instances;
mod random;
mod record;
mod start;
mod wire;

use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::provider::status::State::{self, *};
use crate::provider::status::Status;

/// A point in time, in milliseconds since the start.
const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The wall time then.
fn wall(now: Duration) -> Timestamp {
    let start: Timestamp = "2026-11-29T09:00:00Z".parse().unwrap();
    start + now
}

fn status(state: State, message: &str) -> Status {
    Status {
        state,
        message: message.to_owned(),
    }
}

/// An object and the instance of the same name.
fn seen(name: &str, state: State) -> Observation {
    Observation {
        object: name.to_owned(),
        instance: name.to_owned(),
        status: status(state, ""),
        time: wall(ms(0)),
    }
}

fn record(entries: &[(&str, Option<State>)]) -> Record {
    let entries = entries.iter();
    entries
        .map(|(instance, state)| ((*instance).to_owned(), *state))
        .collect()
}

/// A publisher whose record is written as soon as it wants that, unless a test does so itself.
struct Rig {
    publisher: Publisher,
    /// What was published and not answered yet.
    sent: Vec<Message>,
    warnings: Vec<Warning>,
    /// What is kept of the record.
    kept: Record,
    writes: usize,
    alarm: Option<Duration>,
    is_writing_by_hand: bool,
}

impl Rig {
    /// A publisher that knows nothing.
    fn cold(settings: Settings) -> Self {
        Self {
            publisher: Publisher::new(settings),
            sent: Vec::new(),
            warnings: Vec::new(),
            kept: Record::new(),
            writes: 0,
            alarm: None,
            is_writing_by_hand: false,
        }
    }

    /// A connected publisher that found nothing at its start.
    fn new() -> Self {
        Self::with(&[], &[])
    }

    /// A connected publisher that found these objects and this record at its start.
    fn with(objects: &[Observation], kept: &[(&str, Option<State>)]) -> Self {
        Self::starting(Settings::default(), objects, kept)
    }

    fn starting(
        settings: Settings,
        objects: &[Observation],
        kept: &[(&str, Option<State>)],
    ) -> Self {
        let mut rig = Self::cold(settings);
        rig.kept = record(kept);
        rig.on(Event::Connected, 0);
        rig.list(objects, 0);
        rig.on(Event::RecordRead(record(kept)), 0);
        rig
    }

    fn on(&mut self, event: Event, milliseconds: u64) {
        let now = ms(milliseconds);
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for command in self.publisher.on(event, now) {
                match command {
                    Command::Publish(message) => self.sent.push(message),
                    Command::Record(record) => {
                        self.writes += 1;
                        if !self.is_writing_by_hand {
                            self.kept = record;
                            events.push(Event::RecordWritten);
                        }
                    }
                    Command::WakeAt(at) => {
                        assert!(at > now, "it would be woken for ever");
                        self.alarm = Some(at);
                    }
                    Command::Warn(warning) => self.warnings.push(warning),
                }
            }
        }
    }

    fn list(&mut self, objects: &[Observation], milliseconds: u64) {
        let listed = Event::Listed {
            observations: objects.to_vec(),
            time: wall(ms(milliseconds)),
        };
        self.on(listed, milliseconds);
    }

    fn see(&mut self, name: &str, state: State, milliseconds: u64) {
        self.tell(name, state, "", milliseconds);
    }

    fn tell(&mut self, name: &str, state: State, message: &str, milliseconds: u64) {
        let observation = Observation {
            status: status(state, message),
            time: wall(ms(milliseconds)),
            ..seen(name, state)
        };
        self.on(Event::Observed(observation), milliseconds);
    }

    fn lose(&mut self, name: &str, milliseconds: u64) {
        let gone = Event::Gone {
            object: name.to_owned(),
            time: wall(ms(milliseconds)),
        };
        self.on(gone, milliseconds);
    }

    /// Wakes it whenever it wants that, up to a time.
    fn wake(&mut self, until: u64) {
        while let Some(at) = self.alarm.take_if(|at| *at <= ms(until)) {
            self.on(Event::Woken, u64::try_from(at.as_millis()).unwrap());
        }
        self.on(Event::Woken, until);
    }

    /// The instances and states that were published up to a time, delivered at once.
    fn delivered(&mut self, until: u64) -> Vec<(String, State)> {
        self.messages(until)
            .into_iter()
            .map(|message| (message.instance, message.state))
            .collect()
    }

    fn messages(&mut self, until: u64) -> Vec<Message> {
        let mut all = Vec::new();
        self.wake(until);
        while !self.sent.is_empty() {
            for message in std::mem::take(&mut self.sent) {
                self.on(Event::Delivered(message.number), until);
                all.push(message);
            }
        }
        all
    }

    /// The states of one instance that were published up to a time, delivered at once.
    fn states(&mut self, until: u64) -> Vec<State> {
        let delivered = self.delivered(until);
        delivered.into_iter().map(|(_, state)| state).collect()
    }

    fn fail(&mut self, arrival: Arrival, milliseconds: u64) {
        let message = self.sent.pop().unwrap();
        let number = message.number;
        self.on(Event::Undelivered { number, arrival }, milliseconds);
    }
}
