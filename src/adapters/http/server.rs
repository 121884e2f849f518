//! The port, and what is behind each path of it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::routing::{get, post};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};
use tokio_util::task::AbortOnDropHandle;

use super::fleets::FleetWebhooks;
use super::metrics::Metrics;
use super::sender::Sender;
use super::tls::Tls;
use super::webhook::Webhooks;
use crate::model::ErrorClass;

/// How long a request may take, from its first byte to its answer, and how long a connection may be idle.
const EXCHANGE: Duration = Duration::from_secs(30);
/// How many connections there may be. The next one takes the place of the oldest, so that whoever holds many
/// open keeps no probe of the kubelet out.
const MOST_CONNECTIONS: usize = 512;

/// The server cannot start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {cause}{}", help(cause))]
pub struct Error {
    address: String,
    cause: io::Error,
}

fn help(cause: &io::Error) -> &'static str {
    match cause.kind() {
        ErrorKind::AddrInUse => ". Stop the other process, or set another address",
        ErrorKind::InvalidInput => ". Write <host>:<port> or :<port>",
        _ => "",
    }
}

impl Error {
    /// What kind of error this is.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self.cause.kind() {
            ErrorKind::AddrInUse => ErrorClass::Conflict,
            ErrorKind::PermissionDenied => ErrorClass::Denied,
            _ => ErrorClass::Invalid,
        }
    }
}

/// A port that is open.
pub struct Server {
    listener: TcpListener,
}

impl Server {
    /// Opens the port at `address`: `host:port`, or `:port` on all addresses.
    ///
    /// # Errors
    /// If the address is not valid, not of this machine, or in use.
    pub async fn bind(address: &str) -> Result<Self, Error> {
        let listener = match address.strip_prefix(':') {
            Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
                // A machine without IPv6.
                Err(error) if error.kind() != ErrorKind::AddrInUse => {
                    TcpListener::bind(format!("0.0.0.0:{port}")).await
                }
                bound => bound,
            },
            None => TcpListener::bind(address).await,
        };
        let listener = listener.map_err(|cause| Error {
            address: address.to_owned(),
            cause,
        })?;
        Ok(Self { listener })
    }

    /// The address with the port that was chosen, if that was left to the system.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves `router` until the handle is dropped.
    pub fn serve(self, router: Router) -> AbortOnDropHandle<()> {
        self.serve_at_most(MOST_CONNECTIONS, router)
    }

    /// The same over TLS.
    pub fn serve_tls(self, router: Router, tls: rustls::ServerConfig) -> AbortOnDropHandle<()> {
        let listener = Tls::new(self.bounded(MOST_CONNECTIONS), tls);
        let server = axum::serve(listener, router);
        AbortOnDropHandle::new(tokio::spawn(async move { drop(server.await) }))
    }

    fn serve_at_most(self, most: usize, router: Router) -> AbortOnDropHandle<()> {
        let server = axum::serve(self.bounded(most), router);
        AbortOnDropHandle::new(tokio::spawn(async move { drop(server.await) }))
    }

    fn bounded(self, most: usize) -> Bounded {
        Bounded {
            listener: self.listener,
            most,
            open: VecDeque::new(),
        }
    }
}

/// A process that is asked how it is.
pub trait Probed: Send + Sync + 'static {
    /// Why it must be started again, if so.
    ///
    /// # Errors
    /// The reason, on one line.
    fn liveness(&self) -> Result<(), String> {
        Ok(())
    }

    /// Why it is not ready, if so.
    ///
    /// # Errors
    /// The reason, on one line.
    fn readiness(&self) -> Result<(), String>;

    /// Its metrics, as Prometheus reads them.
    fn metrics(&self) -> String;
}

impl Probed for Metrics {
    fn readiness(&self) -> Result<(), String> {
        match self.is_ready() {
            true => Ok(()),
            false => Err("the repository was not fetched yet".to_owned()),
        }
    }

    fn metrics(&self) -> String {
        self.text()
    }
}

/// Health and metrics of a process.
pub fn probes(process: Arc<dyn Probed>) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/metrics", get(text))
        .with_state(process)
}

/// Health and metrics, and webhooks if there is a secret for them.
pub fn router(metrics: Arc<Metrics>, webhooks: Option<Arc<Webhooks>>) -> Router {
    let own = probes(metrics);
    let Some(webhooks) = webhooks else {
        return own;
    };
    Sender::all().fold(own, |router, sender| {
        let webhooks = Arc::clone(&webhooks);
        let deliver = async move |request: Request| webhooks.deliver(sender, request).await;
        router.route(&format!("/webhook/{}", sender.name()), post(deliver))
    })
}

/// Health and metrics of a process, and the webhooks of its fleets, each at a path of its own.
pub fn fleets_router(process: Arc<dyn Probed>, fleets: &Arc<FleetWebhooks>) -> Router {
    Sender::all().fold(probes(process), |router, sender| {
        let fleets = Arc::clone(fleets);
        let deliver = async move |Path((namespace, name)): Path<(String, String)>,
                                  request: Request| {
            match fleets.get(&namespace, &name) {
                Ok(webhooks) => webhooks.deliver(sender, request).await,
                Err(status) => status,
            }
        };
        let path = format!("/webhook/{}/{{namespace}}/{{name}}", sender.name());
        router.route(&path, post(deliver))
    })
}

async fn alive(State(process): State<Arc<dyn Probed>>) -> (StatusCode, String) {
    answer(process.liveness())
}

async fn ready(State(process): State<Arc<dyn Probed>>) -> (StatusCode, String) {
    answer(process.readiness())
}

fn answer(probed: Result<(), String>) -> (StatusCode, String) {
    match probed {
        Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

async fn text(
    State(process): State<Arc<dyn Probed>>,
) -> ([(http::HeaderName, HeaderValue); 1], String) {
    let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(CONTENT_TYPE, format)], process.metrics())
}

/// A limited number of connections, each of which is closed when its client takes too long.
pub(super) struct Bounded {
    listener: TcpListener,
    most: usize,
    /// The connections, the oldest first. Each ends when its sender is dropped.
    open: VecDeque<oneshot::Sender<()>>,
}

impl axum::serve::Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = axum::serve::Listener::accept(&mut self.listener).await;
        self.open.retain(|connection| !connection.is_closed());
        if self.open.len() >= self.most {
            self.open.pop_front();
        }
        let (open, displaced) = oneshot::channel();
        self.open.push_back(open);
        let connection = Connection {
            stream,
            deadline: Box::pin(tokio::time::sleep(EXCHANGE)),
            displaced,
            is_answered: false,
            is_over: false,
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

pub(super) struct Connection {
    stream: TcpStream,
    deadline: Pin<Box<Sleep>>,
    displaced: oneshot::Receiver<()>,
    /// What is read next begins a request.
    is_answered: bool,
    is_over: bool,
}

impl Connection {
    /// Whether its time is up, or another connection needs its place.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        self.is_over = self.is_over
            || Pin::new(&mut self.displaced).poll(context).is_ready()
            || self.deadline.as_mut().poll(context).is_ready();
        self.is_over
    }

    fn restart(&mut self, is_answered: bool) {
        self.is_answered = is_answered;
        self.deadline.as_mut().reset(Instant::now() + EXCHANGE);
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_over(context) {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        // More bytes of the same request give it no more time.
        if read.is_ready() && self.is_answered {
            self.restart(false);
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_over(context) {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_ready() {
            self.restart(true);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn served() -> Router {
        router(Arc::new(Metrics::default()), None)
    }

    #[tokio::test]
    async fn an_address_in_use_is_named() {
        let server = Server::bind("127.0.0.1:0").await.expect("it is free");
        let address = server.address().expect("it is known").to_string();
        let again = Server::bind(&address).await.err().expect("it is in use");
        assert_eq!(again.class(), ErrorClass::Conflict);
        let message = again.to_string();
        let start = format!("cannot listen on {address}: Address already in use");
        assert!(message.starts_with(&start), "{message}");
        for wrong in ["8080", "", "nohost.invalid:1", "127.0.0.1:x"] {
            assert!(Server::bind(wrong).await.is_err(), "{wrong}");
        }
        assert!(Server::bind(":0").await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_cut_off_after_half_a_minute() {
        let server = Server::bind("127.0.0.1:0").await.expect("it is free");
        let address = server.address().expect("it is known");
        let _serving = server.serve(served());
        let mut client = TcpStream::connect(address).await.expect("connected");
        let start = Instant::now();
        let half = b"GET /healthz HTTP/1.1\r\n";
        client.write_all(half).await.expect("written");
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
        assert_eq!(answer, b"");
        assert_eq!(start.elapsed().as_secs(), EXCHANGE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_a_little_at_a_time_gets_no_more_time() {
        let server = Server::bind("127.0.0.1:0").await.expect("it is free");
        let address = server.address().expect("it is known");
        let _serving = server.serve(served());
        let client = TcpStream::connect(address).await.expect("connected");
        let start = Instant::now();
        let (mut answers, mut requests) = client.into_split();
        let _trickle = AbortOnDropHandle::new(tokio::spawn(async move {
            while requests.write_all(b"GET ").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
        }));
        let mut answer = Vec::new();
        let _ = answers.read_to_end(&mut answer).await;
        assert_eq!(start.elapsed().as_secs(), EXCHANGE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_its_answers_is_cut_off() {
        let server = Server::bind("127.0.0.1:0").await.expect("it is free");
        let address = server.address().expect("it is known");
        let _serving = server.serve(served());
        let mut client = TcpStream::connect(address).await.expect("connected");
        let request = b"GET /metrics HTTP/1.1\r\nhost: h\r\n\r\n".repeat(1000);
        let asking = async { while client.write_all(&request).await.is_ok() {} };
        let ended = tokio::time::timeout(EXCHANGE * 3, asking).await;
        ended.expect("it is cut off");
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_are_held_open_keep_no_probe_out() {
        let server = Server::bind("127.0.0.1:0").await.expect("it is free");
        let address = server.address().expect("it is known");
        let _serving = server.serve_at_most(2, served());
        let connect = async || TcpStream::connect(address).await.expect("connected");
        let (mut oldest, _newer) = (connect().await, connect().await);
        let start = Instant::now();
        let mut probe = connect().await;
        let request = b"GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
        probe.write_all(request).await.expect("written");
        let mut answer = String::new();
        probe.read_to_string(&mut answer).await.expect("read");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(oldest.read(&mut [0; 8]).await.ok(), Some(0));
        assert_eq!(start.elapsed().as_secs(), 0);
    }
}
