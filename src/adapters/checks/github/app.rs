//! The identity of a GitHub App: its key signs a token for itself, which is exchanged for one that may work
//! in a repository for an hour (forges.md §1c).
//!
//! In: the app's id, its private key and a repository. Out: a [`TokenSource`], for the API and, with the
//! user `x-access-token`, for git over HTTPS. It renews the token before it ends, by two clocks.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::dialect;
use crate::adapters::checks::forge::{Call, Client, Dialect, Fault, Repository, Scheme, Transport};
use crate::model::{AdapterError, Clock, ErrorClass, Token, TokenSource};

const HEADER: &str = r#"{"alg":"RS256","typ":"JWT"}"#;
/// How long before now the app's own token begins: clocks differ.
const EARLIER: SignedDuration = SignedDuration::from_secs(60);
/// How long it lasts. GitHub takes at most 10 minutes.
const LIFE: SignedDuration = SignedDuration::from_secs(540);

/// A GitHub App in one repository.
pub struct App {
    id: String,
    /// The number of its installation, if that is known.
    installation: Option<u64>,
    repository: Repository,
    client: Client,
    clock: Arc<dyn Clock>,
    /// One exchange at a time.
    exchange: tokio::sync::Mutex<()>,
    held: Mutex<Option<Held>>,
}

/// The token of an installation, and when it is renewed.
#[derive(Clone)]
struct Held {
    token: Token,
    due: Due,
}

/// When 80 % of a life have passed, by the wall clock, which may be set, or by the monotonic one, which may
/// stand still while a machine sleeps.
#[derive(Clone, Copy)]
struct Due {
    wall: Timestamp,
    monotonic: Instant,
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
}

#[derive(Deserialize)]
struct Issued {
    token: String,
    expires_at: Timestamp,
}

impl App {
    /// The app `id` (its number or its client id) with its private key in PEM, as GitHub gives it out
    /// (PKCS#1) or as PKCS#8.
    ///
    /// # Errors
    /// When it is not such a key.
    pub fn new(
        id: &str,
        pem: &str,
        repository: Repository,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, AdapterError> {
        let key = key(pem);
        let key = key.map_err(|cause| AdapterError::new(ErrorClass::Invalid, cause))?;
        let own = Arc::new(Own {
            id: id.trim().to_owned(),
            key,
            clock: Arc::clone(&clock),
            held: Mutex::default(),
        });
        // To exchange tokens creates no content.
        let dialect = Dialect {
            spacing: Duration::ZERO,
            ..dialect()
        };
        let client = Client::new(transport, own, Scheme::Bearer, dialect, Arc::clone(&clock));
        Ok(Self {
            id: id.trim().to_owned(),
            installation: None,
            repository,
            client,
            clock,
            exchange: tokio::sync::Mutex::default(),
            held: Mutex::default(),
        })
    }

    /// The same with the number of its installation; without one, GitHub is asked for it.
    #[must_use]
    pub fn installed_as(self, installation: Option<u64>) -> Self {
        Self {
            installation,
            ..self
        }
    }

    /// The app's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The repository it works in.
    #[must_use]
    pub const fn repository(&self) -> &Repository {
        &self.repository
    }

    fn current(&self) -> Option<Token> {
        let held = self.held.lock().clone()?;
        (!held.due.is_over(self.clock.now())).then_some(held.token)
    }

    async fn obtain(&self) -> Result<Token, Fault> {
        let _one = self.exchange.lock().await;
        if let Some(token) = self.current() {
            return Ok(token);
        }
        let installation = self.installation().await?;
        let parts = ["app", "installations", &installation, "access_tokens"];
        let url = self.repository.rooted(&parts);
        // Of all repositories of the installation, the token is for this one.
        let name = self.repository.id.path.last();
        let body = json!({"repositories": [name]});
        let exchange = Call::send(Method::POST, url, body);
        let answer = self.client.call(&exchange).await;
        let answer = answer.map_err(|fault| self.absent(fault))?;
        let issued: Issued = answer
            .read()
            .map_err(|cause| Fault::Busy(format!("its answer has no token: {cause}")))?;
        let token = Token::new(issued.token, Some(issued.expires_at));
        let due = Due::at(self.clock.now(), issued.expires_at);
        *self.held.lock() = Some(Held {
            token: token.clone(),
            due,
        });
        Ok(token)
    }

    /// The number of the app's installation that has the repository.
    async fn installation(&self) -> Result<String, Fault> {
        if let Some(number) = self.installation {
            return Ok(number.to_string());
        }
        let url = self.repository.url(&["installation"]);
        let answer = self.client.call(&Call::get(url)).await;
        let answer = answer.map_err(|fault| self.absent(fault))?;
        let found: Result<Installation, _> = answer.read();
        let found = found.map_err(|cause| Fault::Busy(cause.to_string()))?;
        Ok(found.id.to_string())
    }

    /// What it means that there is no such installation.
    fn absent(&self, fault: Fault) -> Fault {
        match (fault, self.installation) {
            (Fault::Absent(_), None) => Fault::Denied(format!(
                "it is not installed in {}; install it there",
                self.repository
            )),
            (Fault::Absent(_), Some(number)) => Fault::Denied(format!(
                "it has no installation {number}; correct or remove githubAppInstallationID"
            )),
            (fault, _) => fault,
        }
    }
}

impl TokenSource for App {
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
        if let Some(token) = self.current() {
            return std::future::ready(Ok(token)).boxed();
        }
        let obtained = self.obtain();
        let named = |fault: Fault| {
            let error = AdapterError::from(fault);
            AdapterError::new(error.class(), format!("GitHub App {}: {error}", self.id))
        };
        obtained.map(move |token| token.map_err(named)).boxed()
    }

    fn refused(&self, token: &Token) {
        self.held.lock().take_if(|held| held.token == *token);
    }
}

impl Due {
    fn at(now: Timestamp, end: Timestamp) -> Self {
        let life = Duration::try_from(end.duration_since(now)).unwrap_or_default();
        let part = life.mul_f64(0.8);
        Self {
            wall: now.saturating_add(part).unwrap_or(end),
            monotonic: Instant::now() + part,
        }
    }

    fn is_over(self, now: Timestamp) -> bool {
        now >= self.wall || Instant::now() >= self.monotonic
    }
}

/// The token by which the app speaks for itself.
struct Own {
    id: String,
    key: RsaKeyPair,
    clock: Arc<dyn Clock>,
    held: Mutex<Option<Held>>,
}

impl TokenSource for Own {
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
        std::future::ready(self.current()).boxed()
    }

    fn refused(&self, _: &Token) {
        *self.held.lock() = None;
    }
}

impl Own {
    fn current(&self) -> Result<Token, AdapterError> {
        let now = self.clock.now();
        let mut held = self.held.lock();
        if let Some(held) = held.as_ref().filter(|held| !held.due.is_over(now)) {
            return Ok(held.token.clone());
        }
        let (begin, end) = (now - EARLIER, now + LIFE);
        let text = unsigned(begin.as_second(), end.as_second(), &self.id);
        let mut signature = vec![0; self.key.public().modulus_len()];
        let random = SystemRandom::new();
        self.key
            .sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature)
            .map_err(|_| AdapterError::new(ErrorClass::Bug, "the key of the app cannot sign"))?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        let token = Token::new(format!("{text}.{signature}"), Some(end));
        *held = Some(Held {
            token: token.clone(),
            due: Due::at(now, end),
        });
        Ok(token)
    }
}

/// What is signed. The claims are integers: GitHub refuses fractions.
fn unsigned(begin: i64, end: i64, id: &str) -> String {
    let issuer = json!(id);
    let claims = format!(r#"{{"iat":{begin},"exp":{end},"iss":{issuer}}}"#);
    let [header, claims] = [HEADER, &claims].map(|part| URL_SAFE_NO_PAD.encode(part));
    format!("{header}.{claims}")
}

/// An RSA key in PEM, as PKCS#1 or PKCS#8.
fn key(pem: &str) -> Result<RsaKeyPair, String> {
    let wrong = "the private key of the GitHub App is not an RSA key in PEM form";
    let mut lines = pem.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let body: String = lines.take_while(|line| !line.starts_with('-')).collect();
    let read = match first {
        "-----BEGIN RSA PRIVATE KEY-----" => RsaKeyPair::from_der,
        "-----BEGIN PRIVATE KEY-----" => RsaKeyPair::from_pkcs8,
        "-----BEGIN ENCRYPTED PRIVATE KEY-----" => {
            return Err(format!("{wrong}: it has a passphrase"));
        }
        _ => return Err(wrong.to_owned()),
    };
    let der = STANDARD.decode(body).map_err(|_| wrong.to_owned())?;
    read(&der).map_err(|cause| format!("{wrong}: {cause}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const PKCS1: &str = include_str!("tests/app-key-pkcs1.pem");
    const PKCS8: &str = include_str!("tests/app-key-pkcs8.pem");

    /// Vector V15 of forges.md §8.
    #[test]
    fn the_token_is_that_of_the_vector() {
        assert_eq!(
            unsigned(1_767_225_540, 1_767_225_660, "12345"),
            "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpYXQiOjE3NjcyMjU1NDAsImV4cCI6MTc2NzIyNTY2MCwiaXNzIjoiMTIzNDUifQ"
        );
    }

    #[test]
    fn both_forms_of_a_key_are_the_same_key() {
        let [one, other] = [PKCS1, PKCS8].map(|pem| key(pem).unwrap());
        assert_eq!(one.public().as_ref(), other.public().as_ref());
        for (pem, words) in [
            ("hunter2", "not an RSA key in PEM form"),
            (
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----",
                "it has a passphrase",
            ),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----",
                "not an RSA key",
            ),
        ] {
            let message = key(pem).unwrap_err();
            assert!(message.contains(words), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn a_token_is_due_at_80_percent_of_its_life() {
        let now = Timestamp::UNIX_EPOCH;
        let due = Due::at(now, now + SignedDuration::from_hours(1));
        assert!(!due.is_over(now + SignedDuration::from_secs(2_879)));
        assert!(due.is_over(now + SignedDuration::from_secs(2_880)));
    }
}
