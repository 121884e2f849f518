//! Errors of Azure Resource Manager.
//!
//! In: an answer that is no success, or none. Out: what is in the way, with the words that HyperShift has for it, and what a
//! person can do. A code of Azure is always repeated; its explanation only where it says what is wrong with the request: that
//! of a busy or broken server has numbers that change each time.

use std::time::Duration;

use azure_core::Error;
use azure_core::http::RawResponse;
use azure_core::http::headers::{HeaderName, Headers};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

use crate::model::{AzureError, AzureFault, ObjectId};

/// The longest time to leave Azure alone, whatever it asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The longest explanation that is repeated, in characters.
const LONGEST_TEXT: usize = 300;

/// The longest code that is repeated, in characters.
const LONGEST_CODE: usize = 80;

/// A request, as its errors describe it.
pub(super) struct Task {
    /// The request and its resource, after "cannot".
    pub(super) request: String,
    /// The permission that it takes.
    pub(super) permission: &'static str,
    /// The AzureClusterIdentity that asks.
    pub(super) identity: ObjectId,
}

impl Task {
    /// The error of an answer that is no success. `token` is never repeated.
    pub(super) fn refused(&self, answer: &RawResponse, token: &str, now: Timestamp) -> AzureError {
        let status = u16::from(answer.status());
        let said = Explanation::read(answer, token);
        let request = &self.request;
        match status {
            429 => AzureError {
                retry_after: retry_after(answer.headers(), now),
                ..AzureError::new(
                    AzureFault::Throttled,
                    format!(
                        "Azure API rate limit exceeded, retrying: cannot {request}{}",
                        said.code_after(": ")
                    ),
                )
            },
            403 => {
                let ObjectId {
                    namespace, name, ..
                } = &self.identity;
                let message = format!(
                    "Azure API permission denied, check service principal permissions: AzureClusterIdentity {namespace}/{name} cannot {request}{}{}; it takes the permission {}",
                    said.code_after(": "),
                    said.text,
                    self.permission
                );
                AzureError::new(AzureFault::Denied, message)
            }
            409 => {
                let message = format!(
                    "Azure resource conflict, retrying: cannot {request}{}{}",
                    said.code_after(": "),
                    said.text
                );
                AzureError::new(AzureFault::Conflict, message)
            }
            _ => {
                let text = match status {
                    400..500 if status != 408 => said.text.as_str(),
                    _ => "",
                };
                let code = said.code_after(": ");
                let message =
                    format!("Azure API error (HTTP {status}){code}: cannot {request}{text}");
                AzureError::new(AzureFault::Other, message)
            }
        }
    }

    /// The error of a request without an answer.
    pub(super) fn unanswered(&self, error: &Error) -> AzureError {
        let whole = error as &(dyn std::error::Error + 'static);
        let causes = std::iter::successors(Some(whole), |here| here.source());
        let why = causes.last().map(ToString::to_string).unwrap_or_default();
        self.unexpected(&why)
    }

    /// The error of an answer that is not understood.
    pub(super) fn unexpected(&self, why: &str) -> AzureError {
        let why: String = why.chars().take(LONGEST_TEXT).collect();
        let message = format!("Unexpected error: cannot {}: {why}", self.request);
        AzureError::new(AzureFault::Other, message)
    }
}

/// Azure's reasons.
struct Explanation {
    code: String,
    /// Its first sentence, after a colon; or nothing.
    text: String,
}

impl Explanation {
    fn read(answer: &RawResponse, token: &str) -> Self {
        let body: Value = serde_json::from_slice(answer.body().as_ref()).unwrap_or_default();
        let of = |name: &str| {
            let nested = body.pointer(&format!("/error/{name}"));
            let found = nested.or_else(|| body.get(name)).and_then(Value::as_str);
            without(token, found.unwrap_or_default())
        };
        let is_part = |c: &char| c.is_ascii_alphanumeric() || ['.', '_', '-'].contains(c);
        let code = of("code");
        let code = code.chars().take_while(is_part).take(LONGEST_CODE);
        let text = of("message");
        let line = text.trim().lines().next().unwrap_or_default();
        let sentence = line.split(". ").next().unwrap_or_default();
        let sentence: String = sentence.chars().take(LONGEST_TEXT).collect();
        let sentence = sentence.trim_end_matches(['.', ' ']);
        Self {
            code: code.collect(),
            text: match sentence {
                "" => String::new(),
                sentence => format!(": {sentence}"),
            },
        }
    }

    /// The code behind `mark`; nothing without a code.
    fn code_after(&self, mark: &str) -> String {
        match self.code.as_str() {
            "" => String::new(),
            code => format!("{mark}{code}"),
        }
    }
}

/// The text without the token, which a server may echo.
fn without(token: &str, text: &str) -> String {
    if token.is_empty() {
        return text.to_owned();
    }
    text.replace(token, "***")
}

/// The time for which Azure wants to be left alone: positive seconds, or a time to come (RFC 9110 §10.2.3).
fn retry_after(headers: &Headers, now: Timestamp) -> Option<Duration> {
    let after = headers.get_optional_str(&HeaderName::from_static("retry-after"))?;
    let after = after.trim();
    let date = || {
        let date = rfc2822::DateTimeParser::new().parse_timestamp(after).ok()?;
        Duration::try_from(date.duration_since(now)).ok()
    };
    let wait = match after.parse().ok().map(Duration::from_secs) {
        Some(seconds) => Some(seconds),
        None => date(),
    };
    wait.filter(|wait| !wait.is_zero())
        .map(|wait| wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn azure_is_left_alone_for_an_hour_at_most_and_only_until_a_time_to_come() {
        let now = Timestamp::from_second(1_000).unwrap();
        let wait = |text: &'static str| {
            let mut headers = Headers::default();
            headers.insert("retry-after", text);
            retry_after(&headers, now).map(|wait| wait.as_secs())
        };
        for (text, seconds) in [
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("3600", Some(3600)),
            ("86400", Some(3600)),
            ("18446744073709551615", Some(3600)),
            ("0", None),
            ("-5", None),
            ("1.5", None),
            ("", None),
            ("soon", None),
            ("99999999999999999999999", None),
            ("Thu, 01 Jan 1970 00:18:40 GMT", Some(120)),
            ("Thu, 01 Jan 1970 00:16:40 GMT", None),
            ("Thu, 01 Jan 1970 00:00:00 GMT", None),
            ("Fri, 01 Jan 2100 00:00:00 GMT", Some(3600)),
            ("Thu, 99 Jan 1970 00:18:40 GMT", None),
        ] {
            assert_eq!(wait(text), seconds, "{text}");
        }
        assert_eq!(retry_after(&Headers::default(), now), None);
    }
}
