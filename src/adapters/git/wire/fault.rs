//! What can go wrong on the way to a repository, before its address is known.

use std::time::Duration;

use super::text::line;
use crate::adapters::git::Error;

/// What went wrong.
#[derive(Debug)]
pub(super) enum Fault {
    /// The answer ended before it was complete.
    Cut,
    /// The connection failed.
    Connection(String),
    /// The objects that it sent are unusable.
    Pack(String),
    /// Nothing arrived for too long.
    Idle,
    /// The answer was not complete after this long.
    Slow(Duration),
    /// The certificate of the server cannot be verified.
    Certificate(String),
    /// The server asks for a client certificate.
    NoCertificate,
    /// The server says no.
    Server(String),
    /// The answer is not git's protocol.
    Malformed(String),
    /// The answer is larger than this many bytes.
    TooLarge(u64),
    /// It is known already what it means.
    Known(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Known(error)
    }
}

impl Fault {
    /// An answer that begins with `bytes` where a packet should be.
    pub(super) fn malformed(bytes: &[u8]) -> Self {
        let start = &bytes[..bytes.len().min(40)];
        Self::Malformed(format!("it answered {:?}", line(start)))
    }

    /// What it means for the repository at `url`.
    pub(super) fn at(self, url: &str) -> Error {
        let url = url.to_owned();
        let unreachable = |cause| Error::Unreachable {
            url: url.clone(),
            cause,
        };
        match self {
            Self::Known(error) => error,
            Self::Cut => unreachable("the connection ended in the middle of an answer".to_owned()),
            Self::Connection(cause) => unreachable(cause),
            Self::Pack(cause) => Error::Pack { url, cause },
            Self::Idle => unreachable("it stopped answering".to_owned()),
            Self::Slow(total) => unreachable(format!(
                "its answer was not complete after {} s",
                total.as_secs_f64()
            )),
            Self::NoCertificate => Error::Unauthenticated {
                url,
                help:
                    "the server asks for a client certificate; provide it and its key as tls.crt \
                       and tls.key"
                        .to_owned(),
            },
            Self::Certificate(cause) => Error::Certificate { url, cause },
            Self::Server(message) => answered(url, message),
            Self::Malformed(cause) => Error::NotGit { url, cause },
            Self::TooLarge(limit) => Error::TooLarge { url, limit },
        }
    }
}

/// The words of git's own servers, and of the large forges.
fn answered(url: String, message: String) -> Error {
    let has = |words: &str| message.to_lowercase().contains(words);
    if has("not our ref") {
        return Error::Vanished {
            url,
            cause: message,
        };
    }
    let absent = [
        "not found",
        "does not exist",
        "does not appear to be a git repository",
        "no such repository",
        "could not be found",
    ];
    if absent.into_iter().any(has) {
        return Error::Absent {
            url,
            cause: message,
        };
    }
    let denied = [
        "access denied",
        "permission denied",
        "not allowed",
        "forbidden",
        "unauthorized",
    ];
    if denied.into_iter().any(has) {
        return Error::Forbidden { url, help: message };
    }
    Error::Unreachable {
        url,
        cause: message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ErrorClass;

    #[test]
    fn the_words_of_a_server_have_a_class() {
        for (message, class) in [
            ("upload-pack: not our ref 0123", ErrorClass::Conflict),
            ("Repository not found.", ErrorClass::Gone),
            (
                "'/x' does not appear to be a git repository",
                ErrorClass::Gone,
            ),
            (
                "access denied or repository not exported: /x",
                ErrorClass::Denied,
            ),
            ("internal error", ErrorClass::Transient),
        ] {
            let error = Fault::Server(message.to_owned()).at("https://h/r");
            assert_eq!(error.class(), class, "{error}");
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
