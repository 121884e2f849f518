//! Servers behind TLS on loopback, each with a certificate of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A port that answers nothing yet.
pub(crate) struct Port {
    /// Where it is.
    pub(crate) address: SocketAddr,
    /// The certificate that it is recognised by, in PEM.
    pub(crate) authority: Vec<u8>,
    runtime: Runtime,
    tls: Tls,
}

impl Port {
    /// For clients with a certificate of `clients`, else for all.
    pub(crate) fn open(clients: Option<&rustls::RootCertStore>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let identity = rcgen::generate_simple_self_signed(names).expect("made");
        let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
        let builder = rustls::ServerConfig::builder();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(roots) => {
                let verifier =
                    rustls::server::WebPkiClientVerifier::builder(Arc::new(roots.clone()));
                builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
            }
        };
        let tls = builder
            .with_single_cert(vec![identity.cert.der().clone()], PrivateKeyDer::Pkcs8(key))
            .expect("a certificate");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a port");
        Self {
            address: listener.local_addr().expect("bound"),
            authority: identity.cert.pem().into_bytes(),
            runtime,
            tls: Tls {
                listener,
                acceptor: TlsAcceptor::from(Arc::new(tls)),
            },
        }
    }

    /// Answers by `router` until the result is dropped.
    pub(crate) fn serve(self, router: Router) -> Runtime {
        let serving = axum::serve(self.tls, router);
        self.runtime.spawn(async move { drop(serving.await) });
        self.runtime
    }
}

struct Tls {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = axum::serve::Listener::accept(&mut self.listener).await;
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
