//! The publisher of all instances.
//!
//! In: events, one at a time, each with the time since the start of the process. Out: commands. Its parts hold the state; it
//! decides what one part tells another. It holds one lane for each instance that exists or whose deletion is to be told, and
//! looks at all of them at each event. It does not know the process that it runs in.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::census::{Census, Changes, is_instance_id};
use super::command::{Command, Message};
use super::event::{Arrival, Event, Observation, Record};
use super::lane::{Lane, Target};
use super::ledger::Ledger;
use super::settings::Settings;
use crate::provider::status::State;

/// How long messages wait for a record that cannot be written. Then they go without: consumers wait for them, and only a
/// process that is killed before the record is written would not know of them.
const MOST_UNRECORDED: Duration = Duration::from_secs(10);

/// How far the publisher is.
#[derive(Debug)]
enum Phase {
    /// It waits for the first list and for the record of the process before.
    Starting {
        /// The time of the list.
        listed: Option<Timestamp>,
        recorded: Option<Record>,
    },
    Running,
    /// The process is about to end.
    Closing,
}

/// See the module.
#[derive(Debug)]
pub struct Publisher {
    settings: Settings,
    phase: Phase,
    census: Census,
    lanes: BTreeMap<String, Lane>,
    ledger: Ledger,
    /// The instances of the messages under way, by number.
    under_way: BTreeMap<u64, String>,
    /// The number of the next new message.
    next: u64,
    is_connected: bool,
    /// The earliest time at which it is going to be woken.
    alarm: Option<Duration>,
}

impl Publisher {
    /// A publisher that waits for what exists, for the record of the process before, and for a connection.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            phase: Phase::Starting {
                listed: None,
                recorded: None,
            },
            census: Census::default(),
            lanes: BTreeMap::new(),
            ledger: Ledger::new(Record::new()),
            under_way: BTreeMap::new(),
            next: 1,
            is_connected: false,
            alarm: None,
        }
    }

    /// Takes in what happened at `now` since the start of the process, and returns what is to be done, in order.
    pub fn on(&mut self, event: Event, now: Duration) -> Vec<Command> {
        let mut commands = Vec::new();
        match event {
            Event::Observed(seen) => {
                let time = seen.time;
                let changes = self.census.observe(seen);
                self.changed(changes, time, now, &mut commands);
            }
            Event::Gone { object, time } => {
                let changes = self.census.forget(&object);
                self.changed(changes, time, now, &mut commands);
            }
            Event::Listed { observations, time } => {
                let changes = self.census.replace(observations);
                self.listed(time);
                self.changed(changes, time, now, &mut commands);
            }
            Event::RecordRead(record) => self.record_read(record),
            Event::RecordWritten => self.record_written(now),
            Event::RecordFailed => self.ledger.failed(now),
            Event::Connected => self.connected(now),
            Event::Disconnected => self.is_connected = false,
            Event::Delivered(number) => self.ended(number, Lane::arrived),
            Event::Undelivered { number, arrival } => {
                let may_have_arrived = arrival == Arrival::Unknown;
                self.ended(number, |lane| lane.failed(may_have_arrived, now));
            }
            Event::Woken => {}
            Event::Closing => self.close(now),
        }
        self.begin(now);
        self.advance(now, &mut commands);
        commands
    }

    /// Returns true if the process may end after [`Event::Closing`]: nothing is under way, and what is not told is recorded or
    /// cannot be.
    #[must_use]
    pub fn is_done(&self, now: Duration) -> bool {
        let is_due = |lane: &Lane| lane.due().is_some_and(|due| due <= now);
        let can_tell = self.is_connected && self.lanes.values().any(is_due);
        self.is_closing() && self.under_way.is_empty() && !can_tell && self.ledger.is_at_rest()
    }

    const fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing)
    }

    /// Other objects exist, or have another status, from `time` on.
    fn changed(
        &mut self,
        changes: Changes,
        time: Timestamp,
        now: Duration,
        commands: &mut Vec<Command>,
    ) {
        commands.extend(changes.warnings.into_iter().map(Command::Warn));
        if matches!(self.phase, Phase::Running) {
            for instance in changes.instances {
                self.aim(&instance, time, now);
            }
        }
    }

    const fn listed(&mut self, time: Timestamp) {
        if let Phase::Starting { listed, .. } = &mut self.phase {
            *listed = Some(time);
        }
    }

    fn record_written(&mut self, now: Duration) {
        self.ledger.written(now);
        if self.is_closing() {
            self.ledger.hurry(now);
        }
    }

    fn close(&mut self, now: Duration) {
        self.phase = Phase::Closing;
        self.ledger.hurry(now);
        for lane in self.lanes.values_mut() {
            lane.hurry(now);
        }
    }

    fn record_read(&mut self, mut record: Record) {
        if let Phase::Starting { recorded, .. } = &mut self.phase {
            record.retain(|instance, _| is_instance_id(instance));
            *recorded = Some(record);
        }
    }

    /// Makes a lane for everything that exists or was told about, once both are known.
    fn begin(&mut self, now: Duration) {
        let Phase::Starting { listed, recorded } = &mut self.phase else {
            return;
        };
        let (Some(time), Some(record)) = (*listed, recorded.take_if(|_| listed.is_some())) else {
            return;
        };
        self.phase = Phase::Running;
        let known = record.keys().chain(self.census.instances());
        let known: Vec<String> = known.cloned().collect();
        self.ledger = Ledger::new(record.clone());
        for instance in known {
            let told = record.get(&instance).copied().flatten();
            let target = target(self.census.current(&instance), time);
            let lane = Lane::new(told, target, &self.settings, now);
            self.lanes.insert(instance.clone(), lane);
            self.note(&instance);
        }
    }

    /// Takes in what is to be told of an instance from `time` on.
    fn aim(&mut self, instance: &str, time: Timestamp, now: Duration) {
        let target = target(self.census.current(instance), time);
        match self.lanes.get_mut(instance) {
            Some(lane) => lane.aim(target, &self.settings, now),
            None => {
                let lane = Lane::new(None, target, &self.settings, now);
                self.lanes.insert(instance.to_owned(), lane);
            }
        }
        self.note(instance);
    }

    /// Puts into the record what the lane of an instance says, and forgets the lane if it is over.
    fn note(&mut self, instance: &str) {
        let Some(lane) = self.lanes.get(instance) else {
            return;
        };
        if lane.is_over() {
            self.lanes.remove(instance);
            self.ledger.remove(instance);
        } else {
            self.ledger.set(instance, lane.recorded());
        }
    }

    fn connected(&mut self, now: Duration) {
        self.is_connected = true;
        for lane in self.lanes.values_mut() {
            lane.retry(now);
        }
    }

    /// A message is not under way any more.
    fn ended(&mut self, number: u64, outcome: impl FnOnce(&mut Lane)) {
        let Some(instance) = self.under_way.remove(&number) else {
            return;
        };
        if let Some(lane) = self.lanes.get_mut(&instance) {
            outcome(lane);
        }
        self.note(&instance);
    }

    /// Begins what is due, and sees to it that what is due later is begun then.
    fn advance(&mut self, now: Duration, commands: &mut Vec<Command>) {
        commands.extend(self.ledger.begin(now).map(Command::Record));
        if self.is_connected {
            for instance in self.sendable(now) {
                commands.extend(self.send(&instance).map(Command::Publish));
            }
        }
        commands.extend(self.arm(now).map(Command::WakeAt));
    }

    /// The instances of which a message can go now, the one that waits longest first, and no more than may be under way.
    fn sendable(&self, now: Duration) -> Vec<String> {
        let due = |(instance, lane): (&String, &Lane)| {
            let due = self.sendable_at(instance, lane)?;
            (due <= now).then(|| (due, instance.clone()))
        };
        let mut due: Vec<_> = self.lanes.iter().filter_map(due).collect();
        due.sort();
        let limit = self.settings.in_flight.max(1);
        let free = limit.saturating_sub(self.under_way.len());
        due.into_iter()
            .take(free)
            .map(|(_, instance)| instance)
            .collect()
    }

    /// When a message of an instance can go, as far as the record is written now.
    fn sendable_at(&self, instance: &str, lane: &Lane) -> Option<Duration> {
        let due = lane.due()?;
        let is_last_chance = self.is_closing() && self.ledger.is_failing();
        if is_last_chance || self.ledger.covers(instance) {
            return Some(due);
        }
        let since = self.ledger.tried_since()?;
        Some(due.max(since.saturating_add(MOST_UNRECORDED)))
    }

    fn send(&mut self, instance: &str) -> Option<Message> {
        let lane = self.lanes.get_mut(instance)?;
        let number = lane.send(self.next);
        self.next = self.next.max(number.saturating_add(1));
        self.under_way.insert(number, instance.to_owned());
        let Target {
            state,
            message,
            time,
        } = lane.target().clone();
        Some(Message {
            number,
            instance: instance.to_owned(),
            state,
            message,
            time,
        })
    }

    /// Returns the time at which it is to be woken, unless that is going to happen or takes another event.
    fn arm(&mut self, now: Duration) -> Option<Duration> {
        let lanes = self.lanes.iter().filter(|_| self.is_connected);
        let lanes = lanes.filter_map(|(instance, lane)| self.sendable_at(instance, lane));
        let next = lanes
            .chain(self.ledger.due())
            .filter(|at| *at > now)
            .min()?;
        if self.alarm.is_some_and(|at| now < at && at <= next) {
            return None;
        }
        self.alarm = Some(next);
        Some(next)
    }
}

/// What is to be told of an instance that this object stands for, or none.
fn target(current: Option<&Observation>, time: Timestamp) -> Target {
    match current {
        Some(seen) => Target {
            state: seen.status.state,
            message: seen.status.message.clone(),
            time: seen.time,
        },
        None => Target {
            state: State::Deleted,
            message: String::new(),
            time,
        },
    }
}
