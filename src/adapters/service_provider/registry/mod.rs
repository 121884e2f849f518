//! Requests to the registry of DCM.
//!
//! In: an address and a body of JSON. Out: the status of the answer, when to come again, and the beginning of
//! its text; or why there was no answer. A redirect is an answer and is not followed, so that the token goes
//! nowhere else. This module does not know what is registered, nor when to repeat it.

mod error;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Certificate, Client, Response, Url};

pub use error::Error;

use crate::model::cut::head;
use crate::model::words::said;

/// The longest request, with its answer.
const TOTAL: Duration = Duration::from_secs(30);
/// The longest attempt to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// The part of an answer that is read, in bytes: it is for people.
const LARGEST: usize = 64 << 10;
const AGENT: &str = concat!("capstan/", env!("CARGO_PKG_VERSION"));

/// The settings of the client.
#[derive(Clone, Default)]
pub struct Settings {
    /// A file of PEM certificates that are trusted besides the system's. It is read once.
    pub authorities: Option<PathBuf>,
    /// A bearer token.
    pub token: Option<String>,
    /// The longest request, with its answer; 30 seconds by default.
    pub patience: Option<Duration>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("authorities", &self.authorities)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// The answer of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// The time for which the registry wants to be left alone.
    pub retry_after: Option<Duration>,
    /// The first 64 KiB of the text, or less if the rest did not come in time.
    pub body: String,
}

/// A client of the registry.
#[derive(Clone, Debug)]
pub struct Registry {
    client: Client,
    patience: Duration,
}

impl Registry {
    /// A client that follows no redirect and reads no environment. The process must have a provider of
    /// cryptography.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let patience = settings.patience.unwrap_or(TOTAL);
        let mut builder = Client::builder()
            .user_agent(AGENT)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .connect_timeout(CONNECT)
            .timeout(patience)
            .default_headers(headers(settings.token.as_deref())?);
        if let Some(path) = &settings.authorities {
            builder = builder.tls_certs_merge(authorities(path)?);
        }
        let client = builder.build().map_err(|error| Error::Setting {
            cause: format!("no HTTPS client can be made: {}", deepest(&error)),
        })?;
        Ok(Self { client, patience })
    }

    /// Sends JSON with POST and returns the answer, whatever its status.
    ///
    /// # Errors
    /// There was no answer, or the address cannot be used.
    pub async fn post(&self, url: &str, body: &[u8], now: Timestamp) -> Result<Reply, Error> {
        let url = address(url)?;
        let request = self.client.post(url.clone()).body(body.to_vec());
        let response = request.send().await;
        let response = response.map_err(|error| self.fault(&url, &error))?;
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers(), now);
        Ok(Reply {
            status,
            retry_after,
            body: beginning(response).await,
        })
    }

    fn fault(&self, url: &Url, error: &reqwest::Error) -> Error {
        let url = shown(url);
        let cause = deepest(error);
        if error.is_connect() || error.is_builder() {
            return Error::Unreachable { url, cause };
        }
        if error.is_timeout() {
            let seconds = self.patience.as_secs();
            return Error::Late { url, seconds };
        }
        Error::Broken { url, cause }
    }
}

/// The headers of each request.
fn headers(token: Option<&str>) -> Result<HeaderMap, Error> {
    let json = HeaderValue::from_static("application/json");
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, json);
    let accepted = HeaderValue::from_static("application/json, application/problem+json");
    headers.insert(ACCEPT, accepted);
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut value = value.map_err(|_| unusable("the token has invalid characters"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn authorities(path: &Path) -> Result<Vec<Certificate>, Error> {
    let wrong = |cause: &str| {
        let path = path.display();
        unusable(&format!(
            "the file of certificate authorities {path}: {cause}"
        ))
    };
    let pem = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
    match Certificate::from_pem_bundle(&pem) {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(wrong("it is not a list of PEM certificates")),
    }
}

/// The address of a request. One with a user and a password would be sent as another credential.
fn address(text: &str) -> Result<Url, Error> {
    let wrong = || unusable("the address is not http://HOST or https://HOST with a path");
    let url = Url::parse(text).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unusable(
            "the address has a user or a password; use a token",
        ));
    }
    Ok(url)
}

/// The address, as errors show it.
fn shown(url: &Url) -> String {
    let path = url.path();
    said(&format!("{}{path}", url.origin().ascii_serialization()))
}

/// The beginning of the text. The status has been read, so that an answer which breaks off is one.
async fn beginning(mut response: Response) -> String {
    let mut text = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = LARGEST - text.len();
        text.extend(chunk.iter().take(room));
        if text.len() == LARGEST {
            break;
        }
    }
    // Bytes that are not UTF-8 become longer.
    head(&String::from_utf8_lossy(&text), LARGEST).to_owned()
}

/// Seconds or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    let date = parser.parse_timestamp(value).ok()?;
    let left = Duration::try_from(date.duration_since(now)).unwrap_or_default();
    // A second more: the header counts whole seconds.
    Some(left + Duration::from_secs(1))
}

/// The first cause: the others name the URL.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    said(&cause.to_string())
}

fn unusable(cause: &str) -> Error {
    Error::Setting {
        cause: cause.to_owned(),
    }
}
