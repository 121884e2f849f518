//! The errors of a messenger.
//!
//! No error holds a credential: addresses are shown without user and password, and the settings are named,
//! not repeated.

use crate::model::ErrorClass;

/// The error of a connection to NATS, or of a message that was to be published over it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A setting of the connection cannot be used.
    #[error("the settings of NATS cannot be used: {cause}")]
    Setting {
        /// The setting, and what is wrong with it.
        cause: String,
    },
    /// There is no connection; nothing was sent.
    #[error(
        "there is no connection to NATS at {servers}: {cause}; publish the message again later"
    )]
    Disconnected {
        /// The addresses, without credentials.
        servers: String,
        /// The outcome of the last attempt.
        cause: String,
    },
    /// The server lets nobody in with these credentials; nothing was sent.
    #[error(
        "NATS at {servers} refuses the credentials: {cause}; check the credentials file, the token, or \
         the user and password"
    )]
    Unauthorized {
        /// The addresses, without credentials.
        servers: String,
        /// The words of the server.
        cause: String,
    },
    /// The connection broke before the server acknowledged the message, which it may have.
    #[error(
        "the connection to NATS broke before {subject} was acknowledged; publish the message again with \
         the same id"
    )]
    Broken {
        /// The subject of the message.
        subject: String,
    },
    /// The server did not acknowledge the message in time; it may have it.
    #[error(
        "NATS did not acknowledge {subject} within {seconds} seconds; publish the message again with the \
         same id"
    )]
    Silent {
        /// The subject of the message, or what was asked about it.
        subject: String,
        /// The seconds that it was given.
        seconds: u64,
    },
    /// The user may not do this.
    #[error(
        "NATS refuses {subject}: {cause}; grant the user the right to publish to it and to subscribe to \
         _INBOX.>"
    )]
    Refused {
        /// The subject of the message or of the request.
        subject: String,
        /// The words of the server.
        cause: String,
    },
    /// The server takes no message of this size.
    #[error(
        "the message for {subject} has {size} bytes, and NATS takes {limit}; raise max_payload of the \
         server or send less"
    )]
    TooLarge {
        /// The subject of the message.
        subject: String,
        /// The size of its payload and headers.
        size: usize,
        /// The largest size that the server takes.
        limit: usize,
    },
    /// The subject or the id of a message cannot be sent.
    #[error("the message cannot be published: {cause}")]
    Message {
        /// The part of the message, and what is wrong with it.
        cause: String,
    },
    /// The stream refused the message.
    #[error("JetStream does not store the message for {subject}: {cause} (code {code})")]
    NotStored {
        /// The subject of the message.
        subject: String,
        /// The code of the answer, in the manner of HTTP.
        code: u16,
        /// The words of the server.
        cause: String,
    },
    /// JetStream is there, but does not work now.
    #[error("JetStream is not available for {subject}: {cause}; publish the message again later")]
    Unavailable {
        /// The subject of the message.
        subject: String,
        /// The part that is missing.
        cause: String,
    },
    /// The messenger was closed.
    #[error("the messenger is closed; publish before the daemon shuts down")]
    Closed,
}

impl Error {
    /// Returns what to do about it.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::Setting { .. } | Self::TooLarge { .. } | Self::Message { .. } => {
                ErrorClass::Invalid
            }
            Self::Unauthorized { .. } | Self::Refused { .. } => ErrorClass::Denied,
            Self::NotStored { code, .. } => of_code(*code),
            Self::Closed => ErrorClass::Gone,
            Self::Disconnected { .. }
            | Self::Broken { .. }
            | Self::Silent { .. }
            | Self::Unavailable { .. } => ErrorClass::Transient,
        }
    }
}

/// The codes that JetStream answers with; those of a full stream and of missing resources are 5xx.
const fn of_code(code: u16) -> ErrorClass {
    match code {
        401 | 403 => ErrorClass::Denied,
        400 => ErrorClass::Invalid,
        _ => ErrorClass::Transient,
    }
}
