//! The machine that registers this provider and keeps it registered.
//!
//! In: events and the time. Out: commands. It does not know who carries them out, and waits for none of them: an answer that
//! never comes counts as a failure once the patience is over.

use std::time::Duration;

use super::answer::{Answer, Verdict};
use super::attempts::Attempts;
use super::command::{Command, Event};
use super::delivery::{Change, Delivery};
use super::payload::{Identity, payload};
use super::reports;
use crate::provider::capabilities::Capabilities;

/// The times between two questions to the hub or the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time from a registration to its renewal.
    pub renewal: Duration,
    /// The time from one look at the hub to the next.
    pub discovery: Duration,
    /// The time after which an answer is not waited for any more. It is longer than a request may take.
    pub patience: Duration,
    /// The seed of the random part of waits; replicas and providers have different ones.
    pub seed: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            renewal: Duration::from_secs(60),
            discovery: Duration::from_secs(300),
            patience: Duration::from_secs(45),
            seed: 0,
        }
    }
}

/// The registration of this provider over time.
///
/// Nothing is sent before this replica serves, nor while another one leads. A term of leadership begins as a new process
/// does: the hub is asked first, and refusals are forgotten.
#[derive(Debug)]
pub struct Registrar {
    identity: Identity,
    pace: Pace,
    is_serving: bool,
    is_leading: bool,
    discovery: Attempts,
    posts: Attempts,
    delivery: Delivery,
    /// The time of the last command to wake.
    alarm: Option<Duration>,
}

impl Registrar {
    /// Creates a machine that has registered nothing yet.
    #[must_use]
    pub const fn new(identity: Identity, pace: Pace) -> Self {
        Self {
            identity,
            pace,
            is_serving: false,
            is_leading: false,
            discovery: Attempts::new(pace.patience, pace.seed),
            posts: Attempts::new(pace.patience, !pace.seed),
            delivery: Delivery::new(),
            alarm: None,
        }
    }

    /// Takes an event at `now`, the time since the start, and returns what to do.
    #[must_use]
    pub fn on(&mut self, event: Event, now: Duration) -> Vec<Command> {
        let was_active = self.is_active();
        let mut commands = Vec::new();
        commands.extend(self.take(event, now));
        if self.is_active() && !was_active {
            self.delivery.forget();
            self.discovery.want(now);
        }
        commands.extend(self.expire(now));
        commands.extend(self.begin(now));
        commands.extend(self.arm());
        commands
    }

    const fn is_active(&self) -> bool {
        self.is_serving && self.is_leading
    }

    fn take(&mut self, event: Event, now: Duration) -> Option<Command> {
        match event {
            Event::ServingBegan => self.is_serving = true,
            Event::LeadershipGained => self.is_leading = true,
            Event::LeadershipLost => self.is_leading = false,
            Event::Discovered(capabilities) => self.discovered(&capabilities, now),
            Event::DiscoveryFailed(text) if self.discovery.is_under_way() => {
                return Some(self.undiscovered(&text, now));
            }
            Event::Answered { attempt, answer } if self.posts.is_current(attempt) => {
                return self.answered(&answer, now);
            }
            Event::Unanswered { attempt, text } if self.posts.is_current(attempt) => {
                return Some(self.unanswered(&text, now));
            }
            Event::Woken => self.alarm = None,
            // It comes too late: it has been counted as a failure.
            Event::DiscoveryFailed(_) | Event::Answered { .. } | Event::Unanswered { .. } => {}
        }
        None
    }

    fn discovered(&mut self, capabilities: &Capabilities, now: Duration) {
        self.discovery.succeeded(now);
        self.discovery.want(now.saturating_add(self.pace.discovery));
        self.delivery.want(payload(&self.identity, capabilities));
        if self.delivery.is_pending() {
            self.posts.want(now);
        }
    }

    fn undiscovered(&mut self, text: &str, now: Duration) -> Command {
        let wait = self.discovery.failed(now, None);
        reports::undiscovered(text, wait)
    }

    fn answered(&mut self, answer: &Answer, now: Duration) -> Option<Command> {
        match answer.verdict() {
            Verdict::Accepted => self.accepted(now),
            Verdict::Refused => self.refused(answer, now),
            Verdict::Passing => {
                let wait = self.posts.failed(now, answer.retry_after);
                Some(reports::passing(answer, wait))
            }
        }
    }

    fn accepted(&mut self, now: Duration) -> Option<Command> {
        let failures = self.posts.succeeded(now);
        let change = self.delivery.accepted();
        self.schedule(now);
        let is_news = change == Change::New || failures > 0;
        let registration = self.delivery.registration().filter(|_| is_news)?;
        Some(reports::registered(registration))
    }

    fn refused(&mut self, answer: &Answer, now: Duration) -> Option<Command> {
        self.posts.succeeded(now);
        let change = self.delivery.refused();
        self.schedule(now);
        let is_registered = self.delivery.registration().is_some();
        (change == Change::New).then(|| reports::refused(answer, is_registered))
    }

    fn unanswered(&mut self, text: &str, now: Duration) -> Command {
        let wait = self.posts.failed(now, None);
        reports::unanswered(text, wait)
    }

    /// Wants the next post after one that the registry decided about.
    fn schedule(&mut self, now: Duration) {
        if self.delivery.is_pending() {
            self.posts.want(now);
        } else if self.delivery.registration().is_some() {
            self.posts.want(now.saturating_add(self.pace.renewal));
        }
    }

    fn expire(&mut self, now: Duration) -> Vec<Command> {
        let text = format!("no answer within {} s", self.pace.patience.as_secs());
        let mut reports = Vec::new();
        if self.discovery.is_overdue(now) {
            reports.push(self.undiscovered(&text, now));
        }
        if self.posts.is_overdue(now) {
            reports.push(self.unanswered(&text, now));
        }
        reports
    }

    fn begin(&mut self, now: Duration) -> Vec<Command> {
        let mut commands = Vec::new();
        if !self.is_active() {
            return commands;
        }
        if self.discovery.begin(now).is_some() {
            commands.push(Command::Discover);
        }
        if let Some(payload) = self.delivery.next().cloned()
            && let Some(attempt) = self.posts.begin(now)
        {
            self.delivery.send(payload.clone());
            commands.push(Command::Post { attempt, payload });
        }
        commands
    }

    /// Wakes at the next time when there is something to do, unless that is arranged.
    fn arm(&mut self) -> Option<Command> {
        let at = self.next_time();
        if at == self.alarm {
            return None;
        }
        self.alarm = at;
        at.map(Command::WakeAt)
    }

    fn next_time(&self) -> Option<Duration> {
        if !self.is_active() {
            return None;
        }
        let has_post = self.posts.is_under_way() || self.delivery.next().is_some();
        let post = self.posts.alarm().filter(|_| has_post);
        self.discovery.alarm().into_iter().chain(post).min()
    }
}
