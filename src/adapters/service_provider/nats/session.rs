//! Questions and messages over one connection.
//!
//! In: a client that is connected. Out: an answer, or why none will come: the connection broke, the server
//! refuses it, or the time is over. The server handles what one connection sends in order, so that its answer
//! to a later question proves that it has what was sent before.

use std::time::Duration;

use async_nats::client::{Client, Request, RequestErrorKind};
use async_nats::connection;
use tokio::sync::watch;
use tokio::time::timeout;

use super::error::Error;
use super::link::{Link, State, is_about_credentials};
use super::message::Message;

/// The time that the server is given for an answer.
const STEP: Duration = Duration::from_secs(5);
/// The time that a refusal may take through the tasks of this process after the answer that followed it. Should
/// it take longer, the next message of the subject is refused.
const LATE: Duration = Duration::from_millis(5);

/// One connection, as long as it lasts.
#[derive(Clone)]
pub(super) struct Session<'a> {
    client: &'a Client,
    state: watch::Receiver<State>,
    /// The number of the connection.
    pub(super) number: u64,
}

/// The outcome of a question.
#[derive(Debug)]
pub(super) enum Reply {
    /// The payload of the answer.
    Answer(Vec<u8>),
    /// The server has the message, and nobody listens to its subject.
    Nobody,
}

impl<'a> Session<'a> {
    /// The connection that there is now; `servers` is where errors say it leads.
    pub(super) fn open(client: &'a Client, link: &Link, servers: &str) -> Result<Self, Error> {
        link.observe(client.connection_state() == connection::State::Connected);
        let state = link.state();
        let number = usable(&state.borrow(), servers)?;
        Ok(Self {
            client,
            state,
            number,
        })
    }

    /// Returns true if the server itself has JetStream.
    pub(super) fn has_jetstream(&self) -> bool {
        self.client.server_info().jetstream
    }

    /// Sends a message and waits for the answer of whoever stores it.
    pub(super) async fn submit(&self, message: &Message<'_>) -> Result<Reply, Error> {
        self.check_size(message)?;
        let request = Request::new().headers(message.headers());
        let request = request.payload(message.payload.to_vec().into());
        self.ask(message.subject, request, message.subject).await
    }

    /// Asks the server something about the subject of a message.
    pub(super) async fn inquire(
        &self,
        question: &str,
        body: Vec<u8>,
        about: &str,
    ) -> Result<Reply, Error> {
        let request = Request::new().payload(body.into());
        self.ask(question, request, about).await
    }

    /// Sends a message that nobody acknowledges, and waits until the server has it.
    pub(super) async fn send(&self, message: &Message<'_>) -> Result<(), Error> {
        self.check_size(message)?;
        let subject = message.subject.to_owned();
        let payload = message.payload.to_vec().into();
        let sent = self
            .client
            .publish_with_headers(subject, message.headers(), payload);
        match timeout(STEP, sent).await {
            Err(_) => return Err(silent(message.subject)),
            Ok(Err(_)) => return Err(broken(message.subject)),
            Ok(Ok(())) => {}
        }
        self.settle(message.subject).await
    }

    /// Waits until the server has handled what was sent before. It answers a question to a subject that nobody
    /// else knows at once: that nobody listens, or that the user may not ask.
    pub(super) async fn settle(&self, subject: &str) -> Result<(), Error> {
        let nobody = self.client.new_inbox();
        match self.ask(&nobody, Request::new(), subject).await {
            Err(Error::Refused { subject, .. }) if subject == nobody => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        match timeout(LATE, self.end(&[subject])).await {
            Ok(error @ Error::Refused { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    async fn ask(&self, subject: &str, request: Request, about: &str) -> Result<Reply, Error> {
        // An inbox for each question: the one that the client shares forgets no question without answer.
        let inbox = self.client.new_inbox();
        let request = request.inbox(inbox.clone()).timeout(None);
        let asked = self.client.send_request(subject.to_owned(), request);
        let subjects = [about, subject, &inbox];
        let answer = tokio::select! {
            biased;
            answer = timeout(STEP, asked) => answer.map_err(|_| silent(about))?,
            error = self.end(&subjects) => return Err(error),
        };
        match answer {
            Ok(message) => Ok(Reply::Answer(message.payload.to_vec())),
            Err(error) if error.kind() == RequestErrorKind::NoResponders => Ok(Reply::Nobody),
            Err(_) => Err(broken(about)),
        }
    }

    /// Waits until no answer can come, for a connection that broke or one of the subjects that is refused.
    async fn end(&self, subjects: &[&str]) -> Error {
        let about = subjects.first().copied().unwrap_or_default();
        let reason = |state: &State| {
            let is_other = !state.is_up || state.number != self.number;
            let broken = is_other.then(|| broken(about));
            broken.or_else(|| state.refused(subjects))
        };
        let mut state = self.state.clone();
        match state.wait_for(|state| reason(state).is_some()).await {
            Ok(state) => reason(&state).unwrap_or_else(|| broken(about)),
            Err(_) => broken(about),
        }
    }

    fn check_size(&self, message: &Message<'_>) -> Result<(), Error> {
        let (size, limit) = (message.size(), self.client.max_payload());
        if size <= limit {
            return Ok(());
        }
        Err(Error::TooLarge {
            subject: message.subject.to_owned(),
            size,
            limit,
        })
    }
}

/// The number of a connection that can be used.
fn usable(state: &State, servers: &str) -> Result<u64, Error> {
    if state.is_closed {
        return Err(Error::Closed);
    }
    if state.is_up {
        return Ok(state.number);
    }
    let (servers, cause) = (servers.to_owned(), state.cause().to_owned());
    if is_about_credentials(&cause) {
        return Err(Error::Unauthorized { servers, cause });
    }
    Err(Error::Disconnected { servers, cause })
}

fn silent(subject: &str) -> Error {
    Error::Silent {
        subject: subject.to_owned(),
        seconds: STEP.as_secs(),
    }
}

fn broken(subject: &str) -> Error {
    Error::Broken {
        subject: subject.to_owned(),
    }
}
