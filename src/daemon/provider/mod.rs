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
mod state;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use kube::Client;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::adapters::http::{self, Server};
use crate::adapters::kubernetes::{Holder, Hub, Target};
use crate::adapters::service_provider::{Limits, router};
use crate::api::fleet::WriteMode;
use crate::model::{AdapterError, ErrorClass, OwnPullRequests};
use crate::plan::ApplySet;
use crate::provider::health::Health;
use crate::provider::version::Matrix;
use crate::settings::{ProviderConfig, SyncConfig};
use clusters::Provider;
use git::Branches;
use hub::HubView;
use kubeconfigs::Kubeconfigs;
use pace::Turn;
use probing::{Prober, enabled};
use reports::Reports;
use reviews::Reviews;
use secrets::ProviderSecrets;
use state::Sources;
use write::{
    CommitWriter, Definitions, DirectWriter, MANAGER, ProposalWriter, Pusher, Queue, Writer,
};

use super::jobs::Origin;
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

/// The parts of a daemon that its service provider needs.
pub(super) struct Parts<'a> {
    pub(super) config: &'a Arc<SyncConfig>,
    /// What the daemon follows.
    pub(super) origin: &'a Origin,
    pub(super) target: &'a Target,
    pub(super) holder: Option<watch::Receiver<Holder>>,
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

    /// What it is, for people.
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
        let settings = config.settings;
        let client = &parts.target.account;
        let turn = Turn(parts.holder.clone());
        let hub = Hub::new(client, MANAGER);
        let mut tasks = Vec::new();
        let branch = config.branch.as_deref();
        let branches =
            branch.map(|branch| Branches::of(parts.origin, parts.config, branch).map(Arc::new));
        let branches = branches.transpose()?;
        tasks.extend(
            branches
                .as_ref()
                .map(|branches| branches.follow(turn.clone())),
        );
        let pushed = Arc::new(Notify::new());
        let reviews = pulls.as_ref().zip(branches.as_ref());
        let reviews = reviews.map(|(pulls, branches)| {
            let reviews = Reviews {
                branches: Arc::clone(branches),
                pulls: Arc::clone(pulls),
                settings: settings.clone(),
                config: Arc::clone(parts.config),
                turn: turn.clone(),
                pushed: Arc::clone(&pushed),
            };
            reviews.follow()
        });
        let (proposals, reviewing) = reviews.unzip();
        tasks.extend(reviewing);
        let sources = Sources {
            settings: settings.clone(),
            hub: HubView::follow(client, &settings),
            revision: branches.as_ref().map(|branches| branches.newest()),
            proposals,
            clock: Arc::clone(&parts.target.clock),
        };
        let (state, following) = sources.follow();
        tasks.push(following);
        let begun = Instant::now();
        let health = Health::new(env!("CARGO_PKG_VERSION").to_owned(), enabled(&settings));
        let health = Arc::new(Mutex::new(health));
        let prober = Prober {
            hub: hub.clone(),
            settings: settings.clone(),
            matrix: matrix.clone(),
            state: state.clone(),
            health: Arc::clone(&health),
            begun,
        };
        let (capabilities, probing) = prober.run();
        tasks.push(probing);
        let writer: Box<dyn Writer> = match branches {
            Some(branches) => {
                let definitions = Definitions {
                    settings: settings.clone(),
                    config: Arc::clone(parts.config),
                    pusher: Pusher {
                        branches,
                        signer: secrets.signer.clone(),
                        client: client.clone(),
                        set: ApplySet::new(&*parts.config.fleet, &*parts.config.namespace),
                    },
                    state: state.clone(),
                    clock: Arc::clone(&parts.target.clock),
                    queue: Queue::new(turn.clone()),
                    hub: hub.clone(),
                };
                match pulls {
                    Some(pulls) => Box::new(ProposalWriter {
                        definitions,
                        pulls,
                        pushed,
                    }),
                    None => Box::new(CommitWriter(definitions)),
                }
            }
            None => {
                let writer = Arc::new(DirectWriter {
                    settings: settings.clone(),
                    config: Arc::clone(parts.config),
                    hub: hub.clone(),
                    state: state.clone(),
                    queue: Queue::new(turn.clone()),
                });
                let keep = Arc::clone(&writer).keep_whole(turn.clone());
                tasks.push(AbortOnDropHandle::new(tokio::spawn(keep.in_current_span())));
                Box::new(writer)
            }
        };
        let reporting = reports.start(
            &settings,
            &turn,
            &parts.target.clock,
            &hub,
            &state,
            &capabilities,
        );
        tasks.extend(reporting.registering);
        tasks.extend(managed::clean(&hub, &settings, state.clone(), turn.clone()));
        let (keeping, has_pull_secret) =
            secrets::keep_pull_secret(&secrets, &hub, &settings, turn.clone());
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
            clock: Arc::clone(&parts.target.clock),
            begun,
            settings,
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
