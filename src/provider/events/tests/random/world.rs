//! A hub, a broker and a process around a publisher.
//!
//! In: what happens. Out: what arrived at the consumer, and what should not have been.

use std::collections::{BTreeMap, BTreeSet};

use super::super::*;
use super::hub::{Hub, IDS};

const LIMIT: usize = 2;
/// How long a message waits for a record that cannot be written.
const UNRECORDED: Duration = Duration::from_secs(10);

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Arrives,
    IsRefused,
    /// It does not arrive, and nobody knows.
    IsLost,
    ArrivesUnconfirmed,
}

/// What arrived at the consumer.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) state: State,
    /// The publisher or the record may not know what had arrived before it.
    pub(super) is_uncertain: bool,
}

pub(super) struct World {
    publisher: Publisher,
    now: Duration,
    alarm: Option<Duration>,
    pub(super) hub: Hub,
    is_watching: bool,
    is_connected: bool,
    under_way: Vec<Message>,
    writing: Option<Record>,
    pub(super) kept: Record,
    /// The last write failed.
    is_write_failing: bool,
    /// Since when no record could be written.
    unwritten_since: Option<Duration>,
    /// The process is about to end.
    is_stopping: bool,
    pub(super) arrived: BTreeMap<String, Vec<Told>>,
    /// The instances of which the publisher cannot know what arrived.
    uncertain: BTreeSet<String>,
    /// The instances that the publisher saw exist since it last told that they are deleted.
    seen: BTreeSet<String>,
    /// The messages that such an instance is deleted, again perhaps: nothing else may have been told in between.
    again: BTreeSet<u64>,
    /// The instances that were told of without a record, since none could be written.
    unrecorded: BTreeSet<String>,
    pub(super) kills: usize,
    pub(super) faults: Vec<String>,
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            publisher: Publisher::new(Settings::default()),
            now: Duration::ZERO,
            alarm: None,
            hub: Hub::default(),
            is_watching: true,
            is_connected: true,
            under_way: Vec::new(),
            writing: None,
            kept: Record::new(),
            is_write_failing: false,
            unwritten_since: None,
            is_stopping: false,
            arrived: BTreeMap::new(),
            uncertain: BTreeSet::new(),
            seen: BTreeSet::new(),
            again: BTreeSet::new(),
            unrecorded: BTreeSet::new(),
            kills: 0,
            faults: Vec::new(),
        };
        world.start(0);
        world
    }

    /// Another process begins, and reads record and list in some order.
    fn start(&mut self, which: u8) {
        self.publisher = Publisher::new(Settings {
            in_flight: LIMIT,
            ..Settings::default()
        });
        self.alarm = None;
        self.under_way.clear();
        self.again.clear();
        self.writing = None;
        self.is_write_failing = false;
        self.unwritten_since = None;
        self.is_stopping = false;
        self.is_watching = true;
        let record = Event::RecordRead(self.kept.clone());
        if which.is_multiple_of(2) {
            self.tell(record.clone());
        }
        if self.is_connected {
            self.tell(Event::Connected);
        }
        self.list();
        self.tell(record);
    }

    fn tell(&mut self, event: Event) {
        let observations = match &event {
            Event::Observed(observation) => std::slice::from_ref(observation),
            Event::Listed { observations, .. } => observations,
            _ => &[],
        };
        let instances = observations.iter().map(|one| one.instance.clone());
        self.seen.extend(instances);
        for command in self.publisher.on(event, self.now) {
            match command {
                Command::Publish(message) => self.send(message),
                Command::Record(record) => {
                    if self.writing.replace(record).is_some() {
                        self.faults.push("two writes at a time".into());
                    }
                    self.unwritten_since.get_or_insert(self.now);
                }
                Command::WakeAt(at) if at <= self.now => {
                    self.faults.push("an alarm in the past".into());
                }
                Command::WakeAt(at) => {
                    self.alarm = Some(self.alarm.map_or(at, |alarm| alarm.min(at)));
                }
                Command::Warn(_) => {}
            }
        }
    }

    fn send(&mut self, message: Message) {
        let instance = &message.instance;
        if self
            .under_way
            .iter()
            .any(|other| other.instance == *instance)
        {
            self.faults
                .push(format!("two messages of {instance} at a time"));
        }
        if message.state == Deleted && self.seen.remove(instance) {
            self.again.insert(message.number);
        }
        let is_open = |record: &Record| record.get(instance) == Some(&None);
        let is_covered = is_open(&self.kept) && self.writing.as_ref().is_none_or(is_open);
        let since = self.unwritten_since;
        let is_late = since.is_some_and(|since| self.now >= since + UNRECORDED);
        let is_last_chance = self.is_stopping && self.is_write_failing;
        if !is_covered && !is_late && !is_last_chance {
            self.faults
                .push(format!("{instance} is told without a record"));
        }
        if !is_covered {
            self.unrecorded.insert(instance.clone());
        }
        self.under_way.push(message);
        if self.under_way.len() > LIMIT || !self.is_connected {
            self.faults.push("too many messages".into());
        }
    }

    // What exists.

    pub(super) fn change(&mut self, which: u8) {
        let object = self.hub.change(which);
        self.happened(&object);
    }

    pub(super) fn reword(&mut self, which: u8) {
        let object = self.hub.reword(which);
        self.happened(&object);
    }

    pub(super) fn create(&mut self, which: u8) {
        let object = self.hub.create(which);
        self.happened(&object);
    }

    pub(super) fn delete(&mut self, which: u8) {
        let object = self.hub.delete(which);
        self.happened(&object);
    }

    /// The publisher hears of an object if it watches.
    fn happened(&mut self, object: &str) {
        if !self.is_watching {
            return;
        }
        let time = wall(self.now);
        let event = match self.hub.observation(object, time) {
            Some(observation) => Event::Observed(observation),
            None => Event::Gone {
                object: object.to_owned(),
                time,
            },
        };
        self.tell(event);
    }

    pub(super) fn list(&mut self) {
        let time = wall(self.now);
        let observations = self.hub.all(time);
        self.tell(Event::Listed { observations, time });
    }

    pub(super) fn toggle_watch(&mut self) {
        self.is_watching = !self.is_watching;
        if self.is_watching {
            self.list();
        }
    }

    // Messages and records.

    pub(super) fn end_delivery(&mut self, which: u8, kind: Kind) {
        if self.under_way.is_empty() {
            return;
        }
        let message = self
            .under_way
            .remove(usize::from(which) % self.under_way.len());
        let (number, instance) = (message.number, message.instance.clone());
        if matches!(kind, Kind::Arrives | Kind::ArrivesUnconfirmed) {
            self.arrive(&message);
        }
        let arrival = match kind {
            Kind::IsRefused => Arrival::Never,
            _ => Arrival::Unknown,
        };
        match kind {
            Kind::Arrives => {
                self.uncertain.remove(&instance);
                self.tell(Event::Delivered(number));
            }
            _ => {
                if arrival == Arrival::Unknown {
                    self.uncertain.insert(instance);
                }
                self.tell(Event::Undelivered { number, arrival });
            }
        }
    }

    fn arrive(&mut self, message: &Message) {
        let instance = &message.instance;
        let is_again = self.again.contains(&message.number);
        let is_uncertain = self.uncertain.contains(instance) || is_again;
        let told = self.arrived.entry(instance.clone()).or_default();
        let last = told.last();
        if last.is_some_and(|last| last.state == message.state) && !is_uncertain {
            self.faults
                .push(format!("{instance} is told {} twice", message.state));
        }
        told.push(Told {
            state: message.state,
            is_uncertain,
        });
        self.check_order(instance);
    }

    /// What arrived follows what happened, repetitions aside.
    fn check_order(&mut self, instance: &str) {
        let mut told: Vec<State> = self.arrived[instance].iter().map(|one| one.state).collect();
        told.dedup();
        let mut happened = self.hub.history[instance].iter();
        if !told
            .iter()
            .all(|state| happened.any(|other| other == state))
        {
            self.faults
                .push(format!("{instance}: {told:?} is not what happened"));
        }
    }

    pub(super) fn end_write(&mut self, is_carried_out: bool, is_known: bool) {
        let Some(record) = self.writing.take() else {
            return;
        };
        if is_carried_out {
            self.kept = record;
        }
        self.is_write_failing = !is_known;
        if is_known {
            self.unwritten_since = None;
            self.tell(Event::RecordWritten);
        } else {
            self.tell(Event::RecordFailed);
        }
    }

    pub(super) fn toggle_connection(&mut self) {
        self.is_connected = !self.is_connected;
        if self.is_connected {
            self.tell(Event::Connected);
            return;
        }
        self.tell(Event::Disconnected);
        while !self.under_way.is_empty() {
            self.end_delivery(0, Kind::IsLost);
        }
    }

    // Time and processes.

    pub(super) fn pass(&mut self, milliseconds: u64) {
        let end = self.now + ms(milliseconds);
        while let Some(at) = self.alarm.take_if(|at| *at <= end) {
            self.now = at;
            self.tell(Event::Woken);
        }
        self.now = end;
    }

    /// Returns true if the next process would know what was told of an instance, or that it does not know, whatever becomes of
    /// the write under way.
    fn is_recorded(&self, instance: &str) -> bool {
        let told = self.arrived.get(instance).and_then(|told| told.last());
        let mut under_way = self.under_way.iter();
        let is_under_way = under_way.any(|message| message.instance == instance);
        let is_right = |record: &Record| match (record.get(instance), told.map(|told| told.state)) {
            (Some(None), _) => true,
            _ if is_under_way => false,
            (None, None | Some(Deleted)) => true,
            (kept, told) => kept.copied() == Some(told),
        };
        is_right(&self.kept) && self.writing.as_ref().is_none_or(is_right)
    }

    /// The process is killed, and some of what is under way is carried out. What went without a record is beyond what the next
    /// process can know, so that nobody kills it then.
    pub(super) fn kill(&mut self, which: u8) {
        let unrecorded = std::mem::take(&mut self.unrecorded);
        let unrecorded = unrecorded.into_iter().filter(|id| !self.is_recorded(id));
        self.unrecorded = unrecorded.collect();
        if !self.unrecorded.is_empty() {
            return;
        }
        for instance in IDS {
            if !self.is_recorded(instance) {
                self.faults
                    .push(format!("the record is wrong about {instance}"));
            }
        }
        self.kills += 1;
        for (index, message) in std::mem::take(&mut self.under_way).into_iter().enumerate() {
            self.uncertain.insert(message.instance.clone());
            if (which >> index) & 1 == 1 {
                self.arrive(&message);
            }
        }
        if let Some(record) = self.writing.take().filter(|_| which & 4 == 4) {
            self.kept = record;
        }
        let unknown = self.kept.iter().filter(|(_, state)| state.is_none());
        self.uncertain
            .extend(unknown.map(|(instance, _)| instance.clone()));
        // An instance that was told to be deleted may be recorded still.
        let gone = self.kept.keys().filter(|id| self.hub.newest(id).is_none());
        let gone: Vec<String> = gone.cloned().collect();
        self.uncertain.extend(gone);
        self.start(which);
    }

    /// The process ends in order, as far as it can.
    pub(super) fn stop(&mut self, which: u8) {
        self.is_stopping = true;
        self.tell(Event::Closing);
        for _ in 0..100 {
            if self.publisher.is_done(self.now) {
                break;
            }
            self.end_delivery(which, Kind::Arrives);
            self.end_write(true, true);
        }
        if !self.publisher.is_done(self.now) {
            self.faults.push("it does not end".into());
        }
        let unknown = self.kept.iter().filter(|(_, state)| state.is_none());
        self.uncertain
            .extend(unknown.map(|(instance, _)| instance.clone()));
        self.start(which);
    }

    pub(super) fn come_to_rest(&mut self) {
        if !self.is_connected {
            self.toggle_connection();
        }
        self.is_watching = true;
        self.list();
        for _ in 0..400 {
            self.end_delivery(0, Kind::Arrives);
            self.end_write(true, true);
            self.pass(1_000);
        }
        if self.alarm.is_some() || !self.under_way.is_empty() || self.writing.is_some() {
            self.faults.push("it does not come to rest".into());
        }
    }
}
