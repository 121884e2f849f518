//! What the publisher is told.
//!
//! In: nothing. Out: the events of [`super::Publisher::on`].

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::provider::status::{State, Status};

/// The state that was last delivered of each instance that was told about and is not told to be deleted; `None` where that is
/// not known. It serializes as a JSON object of words and nulls.
pub type Record = BTreeMap<String, Option<State>>;

/// An object that stands for an instance, and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The name of the object, unique among all.
    pub object: String,
    /// The id of the instance; empty if the object does not say.
    pub instance: String,
    /// The status of the instance.
    pub status: Status,
    /// The time at which it was observed.
    pub time: Timestamp,
}

/// Whether a message whose delivery failed may have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It was not sent, or was refused.
    Never,
    /// It was sent, and nobody confirmed it.
    Unknown,
}

/// An event from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An object has this status now.
    Observed(Observation),
    /// The object of this name exists no more.
    Gone {
        /// The name of the object.
        object: String,
        /// The time at which that was observed.
        time: Timestamp,
    },
    /// These are all objects that exist.
    Listed {
        /// All objects.
        observations: Vec<Observation>,
        /// The time of the list.
        time: Timestamp,
    },
    /// This is what the process before recorded; empty if there is no record.
    RecordRead(Record),
    /// The record was written.
    RecordWritten,
    /// It is not known that the record was written.
    RecordFailed,
    /// Messages can be delivered from now on.
    Connected,
    /// Messages cannot be delivered. Those under way end as well, each with an event of its own.
    Disconnected,
    /// The message of this number arrived.
    Delivered(u64),
    /// The message of this number was not delivered.
    Undelivered {
        /// The number of the message.
        number: u64,
        /// Tells if it may have arrived.
        arrival: Arrival,
    },
    /// The time of [`super::Command::WakeAt`] has come.
    Woken,
    /// The process is about to end: what waits goes out at once.
    Closing,
}
