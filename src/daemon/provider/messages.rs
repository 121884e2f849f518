//! Status messages: what the publisher decides, carried out.
//!
//! In: snapshots, and a connection to NATS. Out: messages, and the record of what was delivered, in a ConfigMap of the clusters' namespace. Only
//! the process that may write publishes. It does not know when a message is due.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::kinds::CONFIG_MAP;
use super::pace::{Turn, at};
use super::state::Snapshot;
use crate::adapters::kubernetes::Hub;
use crate::model::Clock;
use crate::provider::events::{
    Arrival, Command, Event, Message, Observation, Origin, Publisher, Record, Settings, Subject,
    cloud_event,
};

/// The key of the record in its ConfigMap.
const KEY: &str = "delivered";
/// The pause before a record that could not be read is read again.
const RETRY: Duration = Duration::from_secs(2);

/// The longest wait for messages at the end of the process.
const LAST: Duration = Duration::from_secs(5);

/// Whoever delivers messages.
pub(super) trait Deliver: Send + Sync + 'static {
    /// Delivers an event; an error says whether it may have arrived.
    fn deliver<'a>(
        &'a self,
        subject: &'a str,
        id: &'a str,
        body: &'a [u8],
    ) -> BoxFuture<'a, Result<(), Undelivered>>;

    /// True while there is a connection, and every change of that.
    fn is_up(&self) -> watch::Receiver<bool>;
}

/// An event that was not delivered.
pub(super) struct Undelivered {
    pub(super) arrival: Arrival,
    pub(super) why: String,
}

/// Publishes what snapshots say.
pub(super) struct Messages {
    pub(super) origin: Origin,
    pub(super) settings: Settings,
    pub(super) messenger: Arc<dyn Deliver>,
    pub(super) state: watch::Receiver<Arc<Snapshot>>,
    pub(super) turn: Turn,
    pub(super) record: RecordFile,
    pub(super) resync: Duration,
    pub(super) clock: Arc<dyn Clock>,
    /// Cancelled at the end of the process: what is known by then is still delivered.
    pub(super) stop: CancellationToken,
}

/// The ConfigMap with what was delivered.
#[derive(Clone)]
pub(super) struct RecordFile {
    pub(super) hub: Hub,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Messages {
    /// Publishes whenever this process may write, until the handle is dropped.
    pub(super) fn run(self) -> AbortOnDropHandle<()> {
        let run = async move {
            loop {
                tokio::select! {
                    biased;
                    () = self.stop.cancelled() => return,
                    is_known = self.turn.becomes(true) => if !is_known {
                        return;
                    },
                }
                tokio::select! {
                    biased;
                    is_known = self.turn.becomes(false) => if !is_known {
                        return;
                    },
                    () = self.publish() => return,
                }
            }
        };
        AbortOnDropHandle::new(tokio::spawn(run.in_current_span()))
    }

    /// Publishes until the process ends. A new publisher begins with what the last one recorded.
    async fn publish(&self) {
        // Each publisher counts its messages from one.
        let origin = Origin {
            epoch: epoch(self.clock.now()),
            ..self.origin.clone()
        };
        let (events, mut received) = mpsc::unbounded_channel();
        let mut publisher = Publisher::new(self.settings);
        let (mut state, mut up) = (self.state.clone(), self.messenger.is_up());
        state.mark_changed();
        up.mark_changed();
        let begun = Instant::now();
        let mut wake = None;
        let mut resync = begun + self.resync;
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(self.record.clone().read(events.clone()));
        let mut is_open = true;
        while is_open || !publisher.is_done(begun.elapsed()) {
            let event = tokio::select! {
                biased;
                () = self.stop.cancelled(), if is_open => {
                    is_open = false;
                    Event::Closing
                }
                Some(event) = received.recv() => event,
                Ok(()) = up.changed() => if *up.borrow_and_update() { Event::Connected } else { Event::Disconnected },
                Ok(()) = state.changed() => match self.listed(&state.borrow_and_update()) {
                    Some(event) => event,
                    None => continue,
                },
                () = at(Some(resync)) => {
                    resync = Instant::now() + self.resync;
                    match self.listed(&state.borrow()) {
                        Some(event) => event,
                        None => continue,
                    }
                }
                () = at(wake) => {
                    wake = None;
                    Event::Woken
                }
                Some(_) = tasks.join_next() => continue,
            };
            for command in publisher.on(event, begun.elapsed()) {
                match command {
                    Command::Publish(message) => {
                        drop(tasks.spawn(self.send(&origin, message, events.clone())))
                    }
                    Command::Record(record) => {
                        drop(tasks.spawn(self.record.clone().write(record, events.clone())))
                    }
                    Command::WakeAt(time) => wake = wake.into_iter().chain([begun + time]).min(),
                    Command::Warn(warning) => tracing::warn!(%warning, "status messages"),
                }
            }
        }
    }

    /// All instances of a snapshot that knows all.
    fn listed(&self, snapshot: &Snapshot) -> Option<Event> {
        if !snapshot.is_whole {
            return None;
        }
        let observations = snapshot.entries.iter().map(|entry| {
            let stored = &entry.instance.stored;
            Observation {
                // Not its name, which another instance may claim: of each instance there is one.
                object: stored.id.clone(),
                instance: stored.id.clone(),
                status: entry.status.clone(),
                time: snapshot.at,
            }
        });
        Some(Event::Listed {
            observations: observations.collect(),
            time: self.clock.now(),
        })
    }

    /// Sends a message to each subject, and says what came of it.
    fn send(
        &self,
        origin: &Origin,
        message: Message,
        events: mpsc::UnboundedSender<Event>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (messenger, origin) = (Arc::clone(&self.messenger), origin.clone());
        async move {
            let number = message.number;
            for subject in Subject::ALL {
                let event = cloud_event(&origin, subject, &message);
                if let Err(fault) = messenger
                    .deliver(&event.subject, &event.id, &event.body)
                    .await
                {
                    tracing::debug!(
                        subject = event.subject,
                        why = fault.why,
                        "a status message was not delivered"
                    );
                    let arrival = fault.arrival;
                    let _ = events.send(Event::Undelivered { number, arrival });
                    return;
                }
            }
            let _ = events.send(Event::Delivered(number));
        }
    }
}

impl RecordFile {
    /// Reads the record, as soon as the hub answers.
    pub(super) async fn read(self, events: mpsc::UnboundedSender<Event>) {
        loop {
            match self.hub.get(CONFIG_MAP, &self.namespace, &self.name).await {
                Ok(found) => {
                    let text = found.as_ref().and_then(|map| map["data"][KEY].as_str());
                    let record = text.map(serde_json::from_str::<Record>).transpose();
                    let record = record.unwrap_or_else(|error| {
                        tracing::warn!(%error, "the record of delivered status messages is not valid: all are sent again");
                        None
                    });
                    let _ = events.send(Event::RecordRead(record.unwrap_or_default()));
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "the record of delivered status messages cannot be read");
                }
            }
            at(Some(Instant::now() + RETRY)).await;
        }
    }

    async fn write(self, record: Record, events: mpsc::UnboundedSender<Event>) {
        let text = serde_json::to_string(&record).unwrap_or_default();
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": self.name, "namespace": self.namespace}, "data": {KEY: text},
        });
        let event = match self.hub.apply(CONFIG_MAP, &map).await {
            Ok(()) => Event::RecordWritten,
            Err(error) => {
                tracing::warn!(%error, "the record of delivered status messages cannot be written");
                Event::RecordFailed
            }
        };
        let _ = events.send(event);
    }
}

/// Waits until a publisher that is closing has delivered the newest statuses, 5 seconds at most.
pub(super) async fn finish(publisher: AbortOnDropHandle<()>) {
    tokio::select! {
        biased;
        _ = publisher => {}
        () = at(Some(Instant::now() + LAST)) => {
            tracing::warn!("status messages wait for the next process: they were not delivered in time");
        }
    }
}

/// The number that tells this process from earlier ones.
fn epoch(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or_default()
}
