//! The way of one instance: what is to be told of it, what is under way, and what was told.
//!
//! In: the newest status, what came of messages, and the time. Out: when the next message is due, and what it says. It holds
//! one status, however many it saw. It does not know other instances.

use std::time::Duration;

use jiff::Timestamp;

use super::settings::{Settings, backoff};
use crate::provider::status::State;

/// The message that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) state: State,
    pub(super) message: String,
    /// The time at which the state was observed.
    pub(super) time: Timestamp,
}

/// A message by its number, and the state it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    number: u64,
    state: State,
}

/// The time in which the state changes. It lasts until a message goes or the state has been the same for long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    opened: Duration,
    closes: Duration,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Lane {
    target: Target,
    /// The state that was delivered last; `None` if nothing was, or nobody knows what.
    told: Option<State>,
    window: Option<Window>,
    under_way: Option<Sent>,
    /// The message that was not delivered, for the case that its state is told again.
    failed: Option<Sent>,
    failures: u32,
    /// The earliest time of the next message.
    held_until: Duration,
}

impl Lane {
    /// The way of an instance of which this was told.
    pub(super) fn new(
        told: Option<State>,
        target: Target,
        settings: &Settings,
        now: Duration,
    ) -> Self {
        let mut lane = Self {
            target,
            told,
            window: None,
            under_way: None,
            failed: None,
            failures: 0,
            held_until: Duration::ZERO,
        };
        lane.hold_back(false, settings, now);
        lane
    }

    /// Takes in the newest status. Other words for the same state go with the message that is due, if any.
    pub(super) fn aim(&mut self, target: Target, settings: &Settings, now: Duration) {
        if self.target.state == target.state {
            self.target.message = target.message;
            return;
        }
        let is_waiting = self.differs();
        self.target = target;
        self.hold_back(is_waiting, settings, now);
    }

    /// Waits until the state has been the same for a while. Changes follow each other if a state `is_waiting` or there was no
    /// such time between them.
    fn hold_back(&mut self, is_waiting: bool, settings: &Settings, now: Duration) {
        let open = self
            .window
            .filter(|window| is_waiting || now <= window.closes);
        let opened = open.map_or(now, |window| window.opened);
        let quiet = now.saturating_add(settings.debounce);
        let most = opened.saturating_add(settings.most_wait);
        self.window = Some(Window {
            opened,
            closes: quiet.min(most),
        });
    }

    /// The target is not what is told once the message under way has arrived.
    fn differs(&self) -> bool {
        let expected = self.under_way.map(|sent| sent.state).or(self.told);
        expected != Some(self.target.state)
    }

    /// The time at which the next message is due; `None` if none is, or one is under way.
    pub(super) fn due(&self) -> Option<Duration> {
        let is_wanted = self.under_way.is_none() && self.differs();
        let closes = self.window.map_or(Duration::ZERO, |window| window.closes);
        is_wanted.then(|| closes.max(self.held_until))
    }

    /// Sends the target off. A state that was not delivered is told again under its number, so that the other side can tell
    /// that it is the same message; `next` is the number of another one. Returns the number.
    pub(super) fn send(&mut self, next: u64) -> u64 {
        let state = self.target.state;
        let again = self.failed.take().filter(|failed| failed.state == state);
        let sent = again.unwrap_or(Sent {
            number: next,
            state,
        });
        self.under_way = Some(sent);
        self.window = None;
        sent.number
    }

    /// The message under way arrived.
    pub(super) fn arrived(&mut self) {
        if let Some(sent) = self.under_way.take() {
            self.told = Some(sent.state);
            self.failures = 0;
        }
    }

    /// The message under way was not delivered. What was told before counts no more if it may have arrived.
    pub(super) fn failed(&mut self, may_have_arrived: bool, now: Duration) {
        self.failed = self.under_way.take();
        if may_have_arrived {
            self.told = None;
        }
        self.failures = self.failures.saturating_add(1);
        self.held_until = now.saturating_add(backoff(self.failures));
        self.window.get_or_insert(Window {
            opened: now,
            closes: now,
        });
    }

    /// Does not wait any longer after failures.
    pub(super) fn retry(&mut self, now: Duration) {
        self.held_until = self.held_until.min(now);
    }

    /// Does not wait any longer at all.
    pub(super) fn hurry(&mut self, now: Duration) {
        self.retry(now);
        if let Some(window) = &mut self.window {
            window.closes = window.closes.min(now);
        }
    }

    /// What the next process is to know: the state that was told, or that something else may have been.
    pub(super) fn recorded(&self) -> Option<State> {
        let is_at_rest = self.under_way.is_none() && !self.differs();
        self.told.filter(|_| is_at_rest)
    }

    /// It is told to be deleted, and nothing follows.
    pub(super) fn is_over(&self) -> bool {
        self.recorded() == Some(State::Deleted)
    }

    pub(super) const fn target(&self) -> &Target {
        &self.target
    }
}
