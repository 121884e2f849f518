//! A front between our controllers and the server: it counts their writes, and may cut them off after one.

#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body as Answer;
use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use kube_sim::Server;
use tower::Service as _;

/// Leads to the server until so many writes were carried out. Events are not counted.
#[derive(Clone)]
pub(super) struct Front {
    server: Server,
    written: Arc<AtomicUsize>,
    last: Arc<AtomicUsize>,
}

impl Front {
    /// Lets everything through.
    pub(super) fn before(server: &Server) -> Self {
        Self {
            server: server.clone(),
            written: Arc::default(),
            last: Arc::new(AtomicUsize::new(usize::MAX)),
        }
    }

    /// Answers nothing any more once so many writes were carried out in all; the last one is not answered either.
    pub(super) fn die_after(&self, writes: usize) {
        self.last.store(writes, Ordering::Relaxed);
    }

    /// Returns true once it answers nothing any more.
    pub(super) fn is_dead(&self) -> bool {
        self.written() >= self.last.load(Ordering::Relaxed)
    }

    /// The number of writes that were carried out.
    pub(super) fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }

    pub(super) fn client(&self) -> Client {
        let front = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| front.clone().pass(request));
        Client::new(service, "default")
    }

    async fn pass(self, request: Request<Body>) -> Result<Response<Answer>, Infallible> {
        if self.is_dead() {
            return Ok(silence());
        }
        let is_write = request.method() != Method::GET && !request.uri().path().contains("/events");
        let answer = self.server.router().call(request).await;
        if is_write {
            self.written.fetch_add(1, Ordering::Relaxed);
        }
        if is_write && self.is_dead() {
            return Ok(silence());
        }
        answer
    }
}

fn silence() -> Response<Answer> {
    let mut answer = Response::new(Answer::empty());
    *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    answer
}
