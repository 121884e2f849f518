//! The port, and what is behind each path of it.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{get, post};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};
use tokio_util::task::AbortOnDropHandle;

use super::forge::Forge;
use super::metrics::Metrics;
use super::webhook::Webhooks;
use crate::model::ErrorClass;

/// How long a client may be silent before its connection is closed.
const SILENCE: Duration = Duration::from_secs(30);
/// How many connections there may be; the next ones wait.
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
    /// If that is no address, or of another machine or process.
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
        let listener = Bounded {
            listener: self.listener,
            free: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
        };
        let server = axum::serve(listener, router);
        AbortOnDropHandle::new(tokio::spawn(async move { drop(server.await) }))
    }
}

/// Health and metrics, and webhooks if there is a secret for them.
pub fn router(metrics: Arc<Metrics>, webhooks: Option<Arc<Webhooks>>) -> Router {
    let own = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(text))
        .with_state(metrics);
    let Some(webhooks) = webhooks else {
        return own;
    };
    Forge::ALL.into_iter().fold(own, |router, forge| {
        let webhooks = Arc::clone(&webhooks);
        let deliver = async move |request: Request| webhooks.deliver(forge, request).await;
        router.route(&format!("/webhook/{}", forge.name()), post(deliver))
    })
}

async fn ready(State(metrics): State<Arc<Metrics>>) -> (StatusCode, &'static str) {
    match metrics.is_ready() {
        true => (StatusCode::OK, "ok\n"),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the repository was not fetched yet\n",
        ),
    }
}

async fn text(
    State(metrics): State<Arc<Metrics>>,
) -> ([(http::HeaderName, HeaderValue); 1], String) {
    let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(CONTENT_TYPE, format)], metrics.text())
}

/// A limited number of connections, each of which is closed when its client falls silent.
struct Bounded {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl axum::serve::Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let permit = Arc::clone(&self.free).acquire_owned().await.ok();
        let (stream, address) = axum::serve::Listener::accept(&mut self.listener).await;
        let connection = Connection {
            stream,
            silence: Box::pin(tokio::time::sleep(SILENCE)),
            _permit: permit,
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

struct Connection {
    stream: TcpStream,
    silence: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            let next = Instant::now() + SILENCE;
            self.silence.as_mut().reset(next);
            return read;
        }
        match self.silence.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
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
        assert_eq!(start.elapsed().as_secs(), SILENCE.as_secs());
    }
}
