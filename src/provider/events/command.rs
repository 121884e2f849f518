//! What the publisher wants done.
//!
//! In: nothing. Out: the commands of [`super::Publisher::on`].

use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;

use super::event::Record;
use crate::provider::status::State;

/// A message about an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The number of the message in this process. A message that is published again keeps it.
    pub number: u64,
    /// The id of the instance.
    pub instance: String,
    /// The state of the instance.
    pub state: State,
    /// The reason for the state; empty if there is none.
    pub message: String,
    /// The time at which the state was observed.
    pub time: Timestamp,
}

/// An action for the adapters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Deliver this message, and say what came of it, whatever that is.
    Publish(Message),
    /// Write this record, and say what came of it. It takes the place of every earlier one.
    Record(Record),
    /// Say [`super::Event::Woken`] at this time. The earliest one counts; another one at any time does no harm.
    WakeAt(Duration),
    /// Log this.
    Warn(Warning),
}

/// A fault of an object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Warning {
    /// The object does not say which instance it is.
    #[error(
        "{object} has no instance id of 1 to 63 letters, digits, `-` and `_`, so no events are published for it; correct the \
         label `dcm-instance-id` or remove the label `managed-by`"
    )]
    UnusableId {
        /// The name of the object.
        object: String,
    },
    /// Two objects say that they are the same instance.
    #[error(
        "{used} and {ignored} have the same instance id {instance}, so events are published for {used} only; delete one of them \
         or give it another id"
    )]
    SharedId {
        /// The id of both.
        instance: String,
        /// The object that counts, which is the first by name.
        used: String,
        /// The object that does not.
        ignored: String,
    },
}
