//! Strict fakes of forges, and the shared sender against a forge with one rule.
//!
//! A fake is a [`Server`]. [`Fake`] carries requests to it, keeps them, and loses requests or answers on demand.

#![allow(clippy::unwrap_used, clippy::panic)]

mod bitbucket;
mod bitbucket_insights;
mod comments;
mod gitea;
mod gitea_reviews;
mod gitlab;
mod opener;
mod pull_requests;
mod sender;
mod sending;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use super::{Client, Dialect, Scheme, Transport, TransportError};
pub(crate) use crate::adapters::checks::fake::{HEAD, Seen, Server, json, with};
use crate::model::{AdapterError, Check, CheckState, Clock, Later, Token, TokenSource};

/// What happens to a request on its way.
pub(crate) enum Mishap {
    /// It never arrives.
    Unsent,
    /// It is carried out, and the answer is lost.
    Lost,
    /// It is answered so, and not carried out.
    Instead(Response<Vec<u8>>),
}

/// Carries requests to a fake.
pub(crate) struct Fake<S> {
    pub(crate) server: Mutex<S>,
    pub(crate) seen: Mutex<Vec<Seen>>,
    mishaps: Mutex<VecDeque<Option<Mishap>>>,
}

impl<S: Server> Fake<S> {
    pub(crate) fn new(server: S) -> Arc<Self> {
        Arc::new(Self {
            server: Mutex::new(server),
            seen: Mutex::default(),
            mishaps: Mutex::default(),
        })
    }

    /// What happens to the next requests, one by one.
    pub(crate) fn next(&self, mishaps: impl IntoIterator<Item = Option<Mishap>>) {
        self.mishaps.lock().unwrap().extend(mishaps);
    }

    /// The request lines since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        seen.into_iter().map(|seen| seen.line).collect()
    }

    /// The requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl<S: Server> Transport for Fake<S> {
    fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> BoxFuture<'_, Result<Response<Vec<u8>>, TransportError>> {
        let (parts, body) = request.into_parts();
        let host = parts.uri.authority().unwrap().to_string();
        let seen = Seen::now(&parts.method, &parts.uri, host, parts.headers, &body);
        assert!(!seen.header("user-agent").is_empty(), "no User-Agent");
        self.seen.lock().unwrap().push(seen.clone());
        let mishap = self.mishaps.lock().unwrap().pop_front().flatten();
        let answer = || self.server.lock().unwrap().answer(&seen);
        let done = match mishap {
            None => Ok(answer()),
            Some(Mishap::Unsent) => Err(TransportError::Unsent("refused".to_owned())),
            Some(Mishap::Instead(response)) => Ok(response),
            Some(Mishap::Lost) => {
                answer();
                Err(TransportError::Unclear(
                    "it did not answer in time".to_owned(),
                ))
            }
        };
        std::future::ready(done).boxed()
    }
}

/// A clock that goes with tokio's.
pub(crate) struct Ticking(Instant);

impl Ticking {
    /// 2026-01-01T00:00:00Z.
    pub(crate) const EPOCH: i64 = 1_767_225_600;

    pub(crate) fn start() -> Arc<Self> {
        Arc::new(Self(Instant::now()))
    }
}

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(Self::EPOCH).unwrap() + self.0.elapsed()
    }

    fn real(&self, duration: Duration) -> Duration {
        duration
    }
}

/// Tokens in order: the next one once one was refused.
pub(crate) struct Tokens(Mutex<VecDeque<&'static str>>);

impl Tokens {
    pub(crate) fn of(tokens: &[&'static str]) -> Arc<Self> {
        Arc::new(Self(Mutex::new(tokens.iter().copied().collect())))
    }
}

impl TokenSource for Tokens {
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
        let token = Token::new(self.0.lock().unwrap()[0], None);
        std::future::ready(Ok(token)).boxed()
    }

    fn refused(&self, _: &Token) {
        let mut tokens = self.0.lock().unwrap();
        if tokens.len() > 1 {
            tokens.pop_front();
        }
    }
}

/// A client with one token.
pub(crate) fn client<S: Server>(fake: &Arc<Fake<S>>, scheme: Scheme, dialect: Dialect) -> Client {
    let tokens = Tokens::of(&["s3cret"]);
    Client::new(fake.clone(), tokens, scheme, dialect, Ticking::start())
}

/// The check, of another attempt.
pub(crate) fn again(check: Check, attempt: u32) -> Check {
    Check { attempt, ..check }
}

/// A check on [`HEAD`].
pub(crate) fn check(context: &str, state: CheckState, title: &str) -> Check {
    Check {
        summary: format!("## {title}\n"),
        target_url: Some("https://capstan.example/prod".to_owned()),
        input: Some("input".to_owned()),
        ..Check::new(context, HEAD, state, title)
    }
}
