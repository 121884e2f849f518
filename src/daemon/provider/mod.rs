//! The service provider of a process: its port, what it follows, and what it writes.
//!
//! In: settings, a hub, and the repository that the daemon follows. Out: a server that runs until it is dropped. It does not know what is in
//! a request, or how a cluster comes up.
//!
//! ```text
//!  hub, branch ─► state ─► snapshots ─┬─► clusters ◄── requests
//!                                     └─► messages, registration
//!                          clusters ─► write ─► branch or hub
//! ```

mod clusters;
mod git;
mod hub;
mod kinds;
mod kubeconfigs;
mod managed;
mod messages;
#[cfg(feature = "nats")]
mod over_nats;
mod pace;
mod probing;
mod registering;
mod reports;
mod reviews;
mod secrets;
mod starting;
mod state;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use kube::Client;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::adapters::http::{self, Server};
use crate::adapters::service_provider::{Limits, router};
use crate::api::fleet::WriteMode;
use crate::model::{AdapterError, ErrorClass, OwnPullRequests};
use crate::provider::version::Matrix;
use crate::settings::{ProviderConfig, SyncConfig};
use clusters::Provider;
use kubeconfigs::Kubeconfigs;
use reports::Reports;
use secrets::ProviderSecrets;
pub(super) use starting::Parts;
use starting::Starting;

use super::{ForgePorts, own_pull_requests};

/// The port of a service provider that does not answer yet.
pub struct ProviderEndpoint {
    server: Server,
    secrets: ProviderSecrets,
    config: ProviderConfig,
    matrix: Matrix,
    reports: Reports,
    /// The forge, if requests become pull requests.
    pulls: Option<Arc<dyn OwnPullRequests>>,
}

/// A service provider that runs.
pub(super) struct ServingProvider {
    _tasks: Vec<AbortOnDropHandle<()>>,
    messages: Option<AbortOnDropHandle<()>>,
    stop: CancellationToken,
}

impl ServingProvider {
    /// Ends, once the status messages that are due were delivered, or cannot be.
    pub(super) async fn close(self) {
        self.stop.cancel();
        if let Some(messages) = self.messages {
            messages::finish(messages).await;
        }
    }
}

impl ProviderEndpoint {
    /// Opens the port that the settings name; `None` if they name none.
    ///
    /// # Errors
    /// If the port cannot be opened, a secret is missing or not valid, or no pull requests can be opened and requests become some.
    pub async fn open(
        config: &SyncConfig,
        client: &Client,
        forge: Option<&ForgePorts>,
    ) -> Result<Option<Self>, AdapterError> {
        let Some(own) = &config.provider else {
            return Ok(None);
        };
        let secrets = ProviderSecrets::read(own, config, client).await?;
        let invalid = |message: String| AdapterError::new(ErrorClass::Invalid, message);
        let listed = &own.settings.kubernetes_versions;
        let matrix = if listed.is_empty() {
            Matrix::default()
        } else {
            let entries = listed
                .iter()
                .map(|(one, other)| (one.as_str(), other.as_str()));
            let matrix = Matrix::new(entries);
            matrix.map_err(|error| {
                invalid(format!("spec.serviceProvider.kubernetesVersions: {error}"))
            })?
        };
        let pulls = match own.settings.write_mode {
            WriteMode::PullRequest => Some(own_pull_requests(config, forge)?),
            WriteMode::Direct | WriteMode::Commit => None,
        };
        if secrets.tokens.is_none() {
            tracing::warn!(
                "everybody who reaches the service provider's API may create, read and delete clusters (spec.serviceProvider.allowUnauthenticated)"
            );
        }
        let reports = Reports::open(&own.settings, &secrets).await?;
        let server = Server::bind(&own.address).await;
        let server = server
            .map_err(|error: http::Error| AdapterError::new(error.class(), error.to_string()))?;
        Ok(Some(Self {
            server,
            secrets,
            config: own.clone(),
            matrix,
            reports,
            pulls,
        }))
    }

    /// A description for people.
    #[must_use]
    pub fn shown(&self) -> String {
        let scheme = if self.secrets.tls.is_some() {
            "https"
        } else {
            "http"
        };
        let address = self
            .server
            .address()
            .map(|address| format!(" on {scheme}://{address}"));
        format!("the service provider's API{}", address.unwrap_or_default())
    }

    /// Answers from now on.
    ///
    /// # Errors
    /// If it writes to git, and what is followed is no repository.
    pub(super) fn serve(
        self,
        parts: &Parts<'_>,
    ) -> Result<ServingProvider, crate::adapters::git::Error> {
        let Self {
            server,
            secrets,
            config,
            matrix,
            reports,
            pulls,
        } = self;
        let settings = &config.settings;
        let mut starting = Starting::new(parts, settings);
        let branches = starting.branches(config.branch.as_deref())?;
        let pulls = pulls.map(|pulls| (pulls, Arc::new(Notify::new())));
        let proposals = starting.proposals(branches.as_ref(), pulls.as_ref());
        let state = starting.state(branches.as_ref(), proposals);
        let begun = Instant::now();
        let (capabilities, health) = starting.probe(&matrix, &state, begun);
        let writer = match branches {
            Some(branches) => starting.git_writer(branches, pulls, &secrets, &state),
            None => starting.direct_writer(&state),
        };
        let Starting {
            hub,
            turn,
            mut tasks,
            ..
        } = starting;
        let clock = Arc::clone(&parts.target.clock);
        let reporting = reports.start(settings, &turn, &clock, &hub, &state, &capabilities);
        tasks.extend(reporting.registering);
        tasks.extend(managed::clean(&hub, settings, state.clone(), turn.clone()));
        let (keeping, has_pull_secret) =
            secrets::keep_pull_secret(&secrets, &hub, settings, turn.clone());
        tasks.extend(keeping);
        let limits = Limits {
            rate: settings.requests_per_second,
            ..Limits::default()
        };
        let provider = Provider {
            matrix,
            state,
            capabilities,
            kubeconfigs: Arc::new(Kubeconfigs::new(hub)),
            writer,
            turn,
            has_pull_secret,
            health,
            clock,
            begun,
            settings: config.settings,
        };
        let router = router(Arc::new(provider), secrets.tokens, limits);
        tasks.push(match secrets.tls {
            Some(tls) => server.serve_tls(router, tls),
            None => server.serve(router),
        });
        Ok(ServingProvider {
            _tasks: tasks,
            messages: reporting.messages,
            stop: reporting.stop,
        })
    }
}
