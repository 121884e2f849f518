//! Messages as CloudEvents 1.0 in structured JSON.
//!
//! In: a message, the provider that sends it, and the subject it goes to. Out: the bytes of an event, and its id. It does not know
//! how they are sent.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::command::Message;
use crate::model::hex;
use crate::provider::status::Vocabulary;

/// The longest name of a provider: subjects are short.
const LONGEST_NAME: usize = 128;

/// The name of a provider, which is one token of a NATS subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderName(String);

/// A name that no provider can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the provider name {name:?} is not a NATS token, since it is part of the subjects of events; use 1 to {LONGEST_NAME} letters, digits, \
     `-` and `_` ([A-Za-z0-9_-]+)"
)]
pub struct InvalidName {
    /// The beginning of the name.
    pub name: String,
}

impl ProviderName {
    /// Returns the name if it is a NATS token.
    ///
    /// # Errors
    ///
    /// It is empty, longer than 128 characters, or has others than `[A-Za-z0-9_-]`.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_usual) {
            Ok(Self(name.to_owned()))
        } else {
            let name = name.chars().take(LONGEST_NAME).collect();
            Err(InvalidName { name })
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The source of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The provider.
    pub provider: ProviderName,
    /// A number that no other process of the provider has, such as the time of its start in milliseconds: each counts its
    /// messages from one.
    pub epoch: u64,
    /// The words for states.
    pub vocabulary: Vocabulary,
}

/// A subject that events go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// `dcm.cluster`, which DCM reads.
    Consumer,
    /// `dcm.providers.NAME.cluster.instances.ID.status`, of the proposal.
    Proposal,
}

impl Subject {
    /// All subjects, in the order of delivery.
    pub const ALL: [Self; 2] = [Self::Consumer, Self::Proposal];
}

/// An event on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudEvent {
    /// The id, a UUID. It is the same whenever the same message goes to the same subject.
    pub id: String,
    /// The NATS subject.
    pub subject: String,
    /// The JSON document.
    pub body: Vec<u8>,
}

#[derive(Serialize)]
struct Envelope<'a> {
    specversion: &'a str,
    id: &'a str,
    source: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    subject: &'a str,
    time: String,
    datacontenttype: &'a str,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    id: &'a str,
    status: &'a str,
    message: &'a str,
}

/// Returns the event that brings `message` to `subject`.
#[must_use]
pub fn cloud_event(origin: &Origin, subject: Subject, message: &Message) -> CloudEvent {
    let name = origin.provider.as_str();
    let instance = message.instance.as_str();
    let (subject, source, kind) = match subject {
        Subject::Consumer => (
            "dcm.cluster".to_owned(),
            format!("dcm/providers/{name}"),
            "dcm.status.cluster".to_owned(),
        ),
        Subject::Proposal => (
            format!("dcm.providers.{name}.cluster.instances.{instance}.status"),
            name.to_owned(),
            format!("dcm.providers.{name}.status.update"),
        ),
    };
    let id = id(origin, &subject, message);
    let envelope = Envelope {
        specversion: "1.0",
        id: &id,
        source: &source,
        kind: &kind,
        subject: &subject,
        time: message.time.to_string(),
        datacontenttype: "application/json",
        data: Data {
            id: instance,
            status: origin.vocabulary.word(message.state),
            message: &message.message,
        },
    };
    // Strings alone are always JSON.
    let body = serde_json::to_vec(&envelope).unwrap_or_default();
    CloudEvent { id, subject, body }
}

/// The id. One stream may hold several subjects and drops what has an id that it knows, so the subject is part of it.
fn id(origin: &Origin, subject: &str, message: &Message) -> String {
    let mut digest = Sha256::new();
    for part in [origin.provider.as_str(), subject, &message.instance] {
        digest.update(part);
        digest.update([0]);
    }
    digest.update(origin.epoch.to_be_bytes());
    digest.update(message.number.to_be_bytes());
    digest.update(message.state.name());
    let digest = digest.finalize();
    let mut bytes = [0; 16];
    bytes
        .iter_mut()
        .zip(digest)
        .for_each(|(to, from)| *to = from);
    // A UUID of version 8, which leaves its other bits to whoever makes it.
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let parts = [
        &bytes[..4],
        &bytes[4..6],
        &bytes[6..8],
        &bytes[8..10],
        &bytes[10..],
    ];
    parts.map(hex).join("-")
}
