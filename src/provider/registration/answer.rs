//! The meaning of an answer of the registry.
//!
//! In: a status, a header and a body. Out: a verdict, a remedy, and a text that is safe to log. It does not know which
//! request was answered.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// The most characters of a text by others that are repeated.
const MOST_REPEATED: usize = 200;
/// The most characters that are looked at for them.
const MOST_READ: usize = 4096;

/// Reads the header `Retry-After`, which has seconds or a date.
#[must_use]
pub fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTimeParser::new().parse_timestamp(header).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

/// An answer of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The wait that the registry asks for; see [`retry_after`].
    pub retry_after: Option<Duration>,
    /// The body, or its beginning.
    pub body: String,
}

/// The meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The registry has the registration.
    Accepted,
    /// The same request may succeed later.
    Passing,
    /// The same request fails until somebody acts.
    Refused,
}

impl Answer {
    /// Returns the meaning. An unknown code means what its class means, and one without a class is a server's fault.
    pub(super) const fn verdict(&self) -> Verdict {
        match self.status {
            200..=299 => Verdict::Accepted,
            408 | 425 | 429 => Verdict::Passing,
            300..=499 => Verdict::Refused,
            _ => Verdict::Passing,
        }
    }

    /// Returns what to do about a refusal.
    pub(super) const fn advice(&self) -> &'static str {
        match self.status {
            300..=399 => "point DCM_REGISTRATION_URL at the address that the registry redirects to",
            401 | 403 => "let the registry, or what stands before it, admit this provider",
            404 | 405 | 410 => "check that DCM_REGISTRATION_URL leads to the API of the registry",
            409 => {
                "choose another SP_NAME, or remove the provider that has the name or serves clusters already"
            }
            413 | 431 => "let what stands before the registry admit larger requests",
            _ => "check SP_NAME, SP_ENDPOINT, SP_REGION and SP_ZONE against what the registry says",
        }
    }
}

/// Returns the beginning of a text by others, without control characters: at most 200 characters.
pub(super) fn excerpt(text: &str) -> String {
    let mut kept = text.chars().take(MOST_READ).filter(|c| !c.is_control());
    let excerpt: String = kept.by_ref().take(MOST_REPEATED).collect();
    match kept.next() {
        Some(_) => format!("{excerpt}…"),
        None => excerpt,
    }
}
