//! The events of instances. Pure.
//!
//! In: statuses as they are observed, what exists, what came of earlier commands, and the time, as [`Event`]s. Out:
//! [`Command`]s: messages to deliver, and a record to keep for the next process. It does not know who delivers them, where
//! the record is kept, or how a status comes about. [`cloud_event()`] turns a message into what goes over the wire.
//!
//! Of each instance only its newest state waits. It is published when it differs from the state that was last delivered, after
//! a moment without changes, and again until it arrives. One message of an instance is under way at a time, so that they
//! arrive in order. Nothing is published before everything that exists and the record of the process before are known.
//!
//! The record says of an instance that its last delivered state is unknown before a message of it is published. So a process
//! that is killed at any time leaves either the state that was delivered, or word to publish it again.

mod census;
mod cloud_event;
mod command;
mod event;
mod lane;
mod ledger;
mod publisher;
mod settings;
#[cfg(test)]
mod tests;

pub use cloud_event::{CloudEvent, InvalidName, Origin, ProviderName, Subject, cloud_event};
pub use command::{Command, Message, Warning};
pub use event::{Arrival, Event, Observation, Record};
pub use publisher::Publisher;
pub use settings::Settings;
