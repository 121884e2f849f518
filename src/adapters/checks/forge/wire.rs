//! Requests to a forge and answers of it, as values, and the port that carries them.

use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response};
use reqwest::Url;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fault::Fault;

/// What a forge is asked, without the credential and what every request carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// GET asks; every other method changes something.
    pub method: Method,
    /// Where.
    pub url: Url,
    /// JSON.
    pub body: Option<Value>,
    /// The type of the body, if it is not `application/json`.
    pub content_type: Option<&'static str>,
    /// Whether all else goes on without the permission for it.
    pub is_aside: bool,
    /// The permission that it needs, for the message when that is missing.
    pub needs: Option<&'static str>,
}

impl Call {
    /// Asks for something.
    #[must_use]
    pub const fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            body: None,
            content_type: None,
            is_aside: false,
            needs: None,
        }
    }

    /// Sends JSON.
    #[must_use]
    pub const fn send(method: Method, url: Url, body: Value) -> Self {
        Self {
            method,
            url,
            body: Some(body),
            content_type: None,
            is_aside: false,
            needs: None,
        }
    }

    /// Makes it one without whose permission all else goes on.
    #[must_use]
    pub fn aside(self) -> Self {
        Self {
            is_aside: true,
            ..self
        }
    }

    /// Names the permission that it needs.
    #[must_use]
    pub fn needing(self, permission: &'static str) -> Self {
        Self {
            needs: Some(permission),
            ..self
        }
    }

    /// Whether it may change something.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.method != Method::GET
    }
}

/// What a forge answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as it came.
    pub body: Vec<u8>,
}

impl Answer {
    /// A header as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body as JSON; null if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as a value.
    ///
    /// # Errors
    /// When it is another one.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The body as a value, where any other is refused.
    ///
    /// # Errors
    /// [`Fault::Refused`] when it is another one.
    pub(in crate::adapters::checks) fn parsed<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        let refused = |cause| Fault::Refused(format!("cannot read its answer: {cause}"));
        self.read().map_err(refused)
    }
}

impl From<Response<Vec<u8>>> for Answer {
    fn from(response: Response<Vec<u8>>) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The request never reached the server.
    #[error("{0}")]
    Unsent(String),
    /// Nobody knows whether the server carried it out.
    #[error("{0}")]
    Unclear(String),
    /// The server answered more than is read.
    #[error("its answer is larger than {0} bytes")]
    TooLarge(usize),
}

/// Carries a request to a server. It follows no redirect, sends nothing of its own that is secret, and
/// bounds the time and the size of an answer.
pub trait Transport: Send + Sync {
    /// Sends one request.
    fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> BoxFuture<'_, Result<Response<Vec<u8>>, TransportError>>;
}
