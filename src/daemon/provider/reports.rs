//! What the provider reports on its own: its registration, and status messages.
//!
//! In: settings and secrets. Out: tasks. It does not know when something is reported.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::messages::{Deliver, Messages, RecordFile};
use super::pace::Turn;
use super::registering::Registering;
use super::secrets::ProviderSecrets;
use super::state::Snapshot;
use crate::adapters::kubernetes::Hub;
use crate::adapters::service_provider::registry::{self, Registry};
use crate::api::fleet::{Messaging, Registration, ServiceProvider};
use crate::model::{AdapterError, Clock, ErrorClass};
use crate::provider::capabilities::Capabilities;
use crate::provider::events::{Origin, ProviderName, Settings};
use crate::provider::registration::{Identity, Pace, Registrar, clusters_endpoint, registry_url};

/// The ways to a DCM.
pub(super) struct Reports {
    registration: Option<(Registrar, Arc<Registry>, String)>,
    messenger: Option<Arc<dyn Deliver>>,
    origin: ProviderName,
}

/// The registration and the messages of a provider.
#[derive(Default)]
pub(super) struct Reporting {
    pub(super) registering: Option<AbortOnDropHandle<()>>,
    /// The publisher of status messages. It ends by itself after `stop` is cancelled.
    pub(super) messages: Option<AbortOnDropHandle<()>>,
    /// Cancelled at the end of the process.
    pub(super) stop: CancellationToken,
}

impl Reports {
    /// Opens what the settings name. Nothing is sent yet, and nothing is waited for.
    ///
    /// # Errors
    /// If a setting cannot be used.
    pub(super) async fn open(
        settings: &ServiceProvider,
        secrets: &ProviderSecrets,
    ) -> Result<Self, AdapterError> {
        let registration = settings.registration.as_ref();
        let registration = registration.map(|wanted| registrar(wanted, settings, secrets));
        let messenger = match &settings.messaging {
            Some(messaging) => Some(messenger(messaging, settings, secrets).await?),
            None => None,
        };
        Ok(Self {
            registration: registration.transpose()?,
            messenger,
            origin: ProviderName::new(&settings.name).map_err(|error| invalid("name", &error))?,
        })
    }

    /// Reports from now on, while this process may write.
    pub(super) fn start(
        self,
        settings: &ServiceProvider,
        turn: &Turn,
        clock: &Arc<dyn Clock>,
        hub: &Hub,
        state: &watch::Receiver<Arc<Snapshot>>,
        capabilities: &watch::Receiver<Option<Capabilities>>,
    ) -> Reporting {
        let mut reporting = Reporting::default();
        if let Some((registrar, registry, url)) = self.registration {
            let registering = Registering {
                registrar,
                registry,
                url,
                capabilities: capabilities.clone(),
                turn: turn.clone(),
            };
            reporting.registering = Some(registering.run());
        }
        let messaging = settings.messaging.as_ref();
        if let Some((messenger, messaging)) = self.messenger.zip(messaging) {
            let messages = Messages {
                origin: Origin {
                    provider: self.origin,
                    epoch: 0,
                    vocabulary: settings.status_vocabulary,
                },
                settings: Settings {
                    debounce: messaging.debounce.0,
                    ..Settings::default()
                },
                messenger,
                state: state.clone(),
                turn: turn.clone(),
                record: RecordFile {
                    hub: hub.clone(),
                    namespace: settings.namespace.clone(),
                    name: settings.delivered_record(),
                },
                resync: messaging.resync.0,
                clock: Arc::clone(clock),
                stop: reporting.stop.clone(),
            };
            reporting.messages = Some(messages.run());
        }
        reporting
    }
}

fn invalid(field: &str, error: &dyn std::fmt::Display) -> AdapterError {
    AdapterError::new(
        ErrorClass::Invalid,
        format!("spec.serviceProvider.{field}: {error}"),
    )
}

fn registrar(
    wanted: &Registration,
    settings: &ServiceProvider,
    secrets: &ProviderSecrets,
) -> Result<(Registrar, Arc<Registry>, String), AdapterError> {
    let url = registry_url(&wanted.url).map_err(|error| invalid("registration.url", &error))?;
    let endpoint = clusters_endpoint(&wanted.endpoint)
        .map_err(|error| invalid("registration.endpoint", &error))?;
    let identity = Identity {
        name: settings.name.clone(),
        display_name: settings.display_name.clone(),
        endpoint,
        region: wanted.region.clone(),
        zone: wanted.zone.clone(),
    };
    let pace = Pace {
        renewal: wanted.renewal.0,
        seed: u64::from(std::process::id()),
        ..Pace::default()
    };
    let client = Registry::new(&registry::Settings {
        token: secrets.registry_token.clone(),
        ..registry::Settings::default()
    });
    let client = client.map_err(|error| invalid("registration", &error))?;
    Ok((Registrar::new(identity, pace), Arc::new(client), url))
}

#[cfg(feature = "nats")]
async fn messenger(
    messaging: &Messaging,
    settings: &ServiceProvider,
    secrets: &ProviderSecrets,
) -> Result<Arc<dyn Deliver>, AdapterError> {
    use super::over_nats::OverNats;
    use crate::adapters::service_provider::nats;

    let connection = nats::Settings {
        servers: vec![messaging.url.clone()],
        credentials: secrets.nats.clone(),
        authorities: None,
        name: settings.name.clone(),
    };
    let messenger = nats::Messenger::start(&connection).await;
    let messenger = messenger.map_err(|error| invalid("messaging.url", &error))?;
    Ok(Arc::new(OverNats::new(messenger)))
}

#[cfg(not(feature = "nats"))]
async fn messenger(
    _: &Messaging,
    _: &ServiceProvider,
    _: &ProviderSecrets,
) -> Result<Arc<dyn Deliver>, AdapterError> {
    let why = "this build has no NATS: build Capstan with the feature `nats`, or remove it";
    Err(invalid("messaging", &why))
}
