//! Connections with TLS.
//!
//! In: connections, which have limits of their own. Out: those whose client and server agree. It does not know: which
//! certificate is shown.

use std::io;
use std::sync::Arc;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A connection, if its client and server agreed in time.
type Opened<L> = Option<(TlsStream<<L as Listener>::Io>, <L as Listener>::Addr)>;

/// A listener whose connections are encrypted.
pub(super) struct Tls<L: Listener> {
    listener: L,
    acceptor: TlsAcceptor,
    /// A client that is slow holds up no others.
    opening: JoinSet<Opened<L>>,
}

impl<L: Listener> Tls<L> {
    pub(super) fn new(listener: L, config: rustls::ServerConfig) -> Self {
        Self {
            listener,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            opening: JoinSet::new(),
        }
    }
}

impl<L> Listener for Tls<L>
where
    L: Listener,
    L::Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    L::Addr: Send + 'static,
{
    type Io = TlsStream<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            tokio::select! {
                biased;
                Some(opened) = self.opening.join_next() => {
                    if let Ok(Some(connection)) = opened {
                        return connection;
                    }
                }
                (stream, address) = self.listener.accept() => {
                    let acceptor = self.acceptor.clone();
                    self.opening.spawn(async move {
                        Some((acceptor.accept(stream).await.ok()?, address))
                    });
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
