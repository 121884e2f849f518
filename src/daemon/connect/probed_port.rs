//! The port of a process that follows no fleet of its own: health, readiness and metrics, and the webhooks of Fleet objects.
//!
//! In: an address, and a process that can be asked how it is. Out: an open port. It does not know what the process does.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use crate::adapters::http::{FleetWebhooks, Probed, Server, fleets_router, probes};
use crate::model::AdapterError;

/// A port that is open.
pub struct ProbedPort(Server);

impl ProbedPort {
    /// Opens the port at `address`: `host:port`, or `:port` on all addresses.
    ///
    /// # Errors
    /// If the address is not valid, not of this machine, or in use.
    pub async fn open(address: &str) -> Result<Self, AdapterError> {
        let server = Server::bind(address).await;
        let server = server.map_err(|error| AdapterError::new(error.class(), error.to_string()))?;
        Ok(Self(server))
    }

    /// The port for people, with what is served there.
    #[must_use]
    pub fn shown(&self, what: &str) -> String {
        let address = self.0.address();
        let address = address.map_or_else(|_| String::new(), |at| format!(" on http://{at}"));
        format!("{what}{address}")
    }

    /// Answers about this process until the handle is dropped.
    pub(in crate::daemon) fn serve(self, process: impl Probed) -> AbortOnDropHandle<()> {
        self.0.serve(probes(Arc::new(process)))
    }

    /// The same, and takes the webhooks of these fleets.
    pub(in crate::daemon) fn serve_fleets(
        self,
        process: impl Probed,
        fleets: &Arc<FleetWebhooks>,
    ) -> AbortOnDropHandle<()> {
        self.0.serve(fleets_router(Arc::new(process), fleets))
    }
}
