//! The admission webhook of a process: its port, its certificates, its answers.
//!
//! In: a cluster, and how changes are judged. Out: a server that runs until it is dropped. It does not know what the rules
//! are, nor who installs the webhook in the cluster.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use crate::adapters::admission::{ClusterReader, Keeper, Lifetimes, Names, Serving, Webhook};
use crate::adapters::http::{self, Server};
use crate::adapters::kubernetes::Target;
use crate::api::fleet::{self, FleetPolicy};

/// The webhook cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// The port cannot be opened.
    #[error(transparent)]
    Listen(#[from] http::Error),
    /// The system does not say which port it is.
    #[error(transparent)]
    Address(#[from] std::io::Error),
    /// There is no safe version of TLS.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// A running webhook.
pub struct AdmissionServer {
    address: SocketAddr,
    _server: AbortOnDropHandle<()>,
    _keeper: AbortOnDropHandle<()>,
}

impl AdmissionServer {
    /// Starts it: the port is open when this returns, and the certificate follows once the cluster answers.
    ///
    /// # Errors
    /// If the port cannot be opened, or TLS is not available.
    pub async fn start(
        target: &Target,
        settings: &fleet::Admission,
        policy: FleetPolicy,
        names: Names,
    ) -> Result<Self, AdmissionError> {
        let server = Server::bind(&settings.address).await?;
        let address = server.address()?;
        let serving = Arc::new(Serving::default());
        let failure = settings.failure_policy;
        let reader = Arc::new(ClusterReader(target.client.clone()));
        let webhook = Webhook::new(reader, policy, failure, Arc::clone(&serving));
        let tls = serving.tls()?;
        let keeper = Keeper::new(
            &target.client,
            names,
            failure,
            Lifetimes::default(),
            Arc::clone(&target.clock),
            serving,
        );
        Ok(Self {
            address,
            _server: server.serve_tls(webhook.router(), tls),
            _keeper: AbortOnDropHandle::new(tokio::spawn(keeper.run())),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}
