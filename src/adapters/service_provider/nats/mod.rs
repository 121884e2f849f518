//! Messages over NATS.
//!
//! In: a subject, an id and a payload. Out: the server has it, or the stream that captures the subject has
//! stored it; otherwise an error, and the caller publishes again with the same id. Nothing waits here for a
//! connection: an error comes at once without one, and within about 15 seconds with one. A caller that
//! publishes the messages of a subject one after the other keeps their order. This module does not know what
//! the messages mean.
//!
//! The user needs the right to publish to the subjects and to subscribe to `_INBOX.>`. The right to publish to
//! `$JS.API.STREAM.NAMES` tells subjects with a stream from others: without it, a subject that acknowledges
//! nothing within 5 seconds counts as one without a stream for the next 30. The right to publish to `_INBOX.>`
//! spares the server a line in its log for each message without a stream.

mod captures;
mod error;
mod jetstream;
mod link;
mod message;
mod session;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_nats::client::Client;
use tokio::sync::{RwLock, watch};
use tokio::time::timeout;

pub use error::Error;
pub use link::Connection;
pub use settings::{Credentials, Settings};

use captures::{Capture, Captures};
use jetstream::{Ack, STREAM_NAMES};
use link::Link;
use message::Message;
use session::{Reply, Session};
use settings::Target;

/// The time for the messages on their way to end, and then for the client.
const CLOSE: Duration = Duration::from_secs(5);

/// The proof that a message arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// A stream stored it.
    Stored {
        /// The name of the stream.
        stream: String,
        /// The stream had a message with this id already, and dropped this one.
        is_duplicate: bool,
    },
    /// The server has it, and sent it to those who listen, if there are any.
    Sent,
}

impl From<Ack> for Delivered {
    fn from(ack: Ack) -> Self {
        Self::Stored {
            stream: ack.stream,
            is_duplicate: ack.is_duplicate,
        }
    }
}

/// Publishes messages over a connection that it makes again whenever it breaks.
pub struct Messenger {
    client: Client,
    link: Arc<Link>,
    /// The addresses, as errors show them.
    servers: String,
    captures: Captures,
    /// Those who publish hold it for reading.
    on_their_way: RwLock<()>,
}

impl Messenger {
    /// Returns a messenger at once, which begins to connect. It needs a runtime with time and I/O, and with TLS
    /// the process's provider of cryptography.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub async fn start(settings: &Settings) -> Result<Self, Error> {
        let target = Target::new(settings)?;
        let link = Arc::new(Link::new());
        let options = settings::options(settings, &target, &link)?;
        let servers = target.shown();
        let client = options.connect(target.servers).await;
        let client = client.map_err(|error| Error::Setting {
            cause: error.to_string(),
        })?;
        Ok(Self {
            client,
            link,
            servers,
            captures: Captures::default(),
            on_their_way: RwLock::default(),
        })
    }

    /// Watches the connection.
    #[must_use]
    pub fn connection(&self) -> watch::Receiver<Connection> {
        self.link.shown()
    }

    /// Publishes a message. A stream recognises `event_id` and stores a message that is published again once.
    ///
    /// # Errors
    /// The message did not arrive, or may not have: [`Error::class`] says what to do.
    pub async fn publish(
        &self,
        subject: &str,
        event_id: &str,
        payload: &[u8],
    ) -> Result<Delivered, Error> {
        let message = Message::new(subject, event_id, payload)?;
        let _on_its_way = self.on_their_way.try_read().map_err(|_| Error::Closed)?;
        let session = Session::open(&self.client, &self.link, &self.servers)?;
        match self.capture(&session, subject).await? {
            Capture::Stream => self.store(&session, &message).await,
            Capture::Nothing => {
                session.send(&message).await?;
                Ok(Delivered::Sent)
            }
            Capture::Unknown => self.attempt(&session, &message).await,
        }
    }

    /// Ends the connection after the messages on their way, within 10 seconds. Later ones are refused.
    pub async fn close(&self) {
        self.link.close();
        let _all_arrived = timeout(CLOSE, self.on_their_way.write()).await;
        let mut state = self.link.state();
        if !state.borrow().is_up || self.client.drain().await.is_err() {
            return;
        }
        let _ended = timeout(CLOSE, state.wait_for(|state| state.has_ended)).await;
    }

    /// Returns how messages of the subject are delivered, as it was lately or is now.
    async fn capture(&self, session: &Session<'_>, subject: &str) -> Result<Capture, Error> {
        if let Some(capture) = self.captures.get(subject, session.number) {
            return Ok(capture);
        }
        let body = jetstream::names_request(subject);
        let capture = match session.inquire(STREAM_NAMES, body, subject).await {
            Ok(Reply::Answer(names)) if jetstream::is_captured(subject, &names)? => Capture::Stream,
            // JetStream elsewhere in the cluster would answer; its own has no leader.
            Ok(Reply::Nobody) if session.has_jetstream() => {
                return Err(unavailable(subject, "it does not answer"));
            }
            Ok(_) => Capture::Nothing,
            Err(Error::Refused { subject, .. }) if subject == STREAM_NAMES => {
                return Ok(Capture::Unknown);
            }
            Err(error) => return Err(error),
        };
        self.captures.put(subject, session.number, capture);
        Ok(capture)
    }

    /// Publishes to a stream.
    async fn store(
        &self,
        session: &Session<'_>,
        message: &Message<'_>,
    ) -> Result<Delivered, Error> {
        let subject = message.subject;
        let reply = session.submit(message).await;
        if !matches!(reply, Ok(Reply::Answer(_))) {
            // The stream may be gone.
            self.captures.forget(subject);
        }
        match reply? {
            Reply::Answer(answer) => match jetstream::read_ack(subject, &answer)? {
                Some(ack) => Ok(ack.into()),
                None => Err(unavailable(
                    subject,
                    "something else than its stream answered",
                )),
            },
            Reply::Nobody => match self.capture(session, subject).await? {
                Capture::Stream => Err(unavailable(subject, "its stream has no leader")),
                Capture::Nothing | Capture::Unknown => Ok(Delivered::Sent),
            },
        }
    }

    /// Publishes to a stream if there is one: the acknowledgement tells it.
    async fn attempt(
        &self,
        session: &Session<'_>,
        message: &Message<'_>,
    ) -> Result<Delivered, Error> {
        let subject = message.subject;
        match session.submit(message).await {
            Ok(Reply::Answer(answer)) => {
                let ack = jetstream::read_ack(subject, &answer)?;
                Ok(ack.map_or(Delivered::Sent, Delivered::from))
            }
            Ok(Reply::Nobody) => Ok(Delivered::Sent),
            Err(Error::Silent { .. }) => {
                self.captures.put(subject, session.number, Capture::Nothing);
                session.settle(subject).await?;
                Ok(Delivered::Sent)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Messenger {
    fn drop(&mut self) {
        self.link.close();
    }
}

fn unavailable(subject: &str, cause: &str) -> Error {
    Error::Unavailable {
        subject: subject.to_owned(),
        cause: cause.to_owned(),
    }
}
