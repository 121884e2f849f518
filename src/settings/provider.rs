//! The settings of the service provider.
//!
//! In: a Fleet document. Out: the provider's settings with its address, or the reason why they cannot work. It does not know the secrets.

use std::path::PathBuf;
use std::time::Duration;

use super::credential::SourceCredential;
use super::provider_environment::{ProviderEnvironment, Secret};
use crate::api::fleet::{FleetMode, FleetSpec, SecretName, ServiceProvider, WriteMode};

/// The shortest time between two looks or registrations.
const LEAST: Duration = Duration::from_secs(1);

/// A service provider, and where it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderConfig {
    /// Its settings.
    pub settings: ServiceProvider,
    /// Its address: `host:port` or `:port`.
    pub address: String,
    /// The branch that it writes to, by its short name; `None` if it writes to the hub.
    pub branch: Option<String>,
    /// The place of its secrets.
    pub secrets: Option<SourceCredential>,
    /// The place of the key that signs its commits.
    pub signing_key: Option<SourceCredential>,
    /// The file with the pull secret of the clusters (`SP_PULL_SECRET_FILE`).
    pub pull_secret_file: Option<PathBuf>,
    /// The pull secret itself, in base64 (`SP_PULL_SECRET`).
    pub pull_secret: Option<Secret>,
    /// The Secret with the kubeconfig of the hub, by another name of the cluster's.
    pub(super) hub: Option<String>,
}

/// The provider of a document; `None` if it has none.
pub(super) fn config(
    spec: &FleetSpec,
    environment: &ProviderEnvironment,
) -> Result<Option<ProviderConfig>, String> {
    let mistaken = |message: &str| Err(message.to_owned());
    let server = spec.serve.service_provider.as_ref();
    let Some(written) = &spec.service_provider else {
        return match server {
            None => Ok(None),
            Some(_) => mistaken(
                "spec.serve.serviceProvider is the address of a service provider: add spec.serviceProvider, or remove it",
            ),
        };
    };
    let address = environment.address.clone();
    let Some(address) = address.or_else(|| Some(server?.address.clone())) else {
        return mistaken(
            "spec.serviceProvider has no address: set spec.serve.serviceProvider.address, or SP_SERVER_ADDRESS",
        );
    };
    let settings = environment.onto(written)?;
    let hub = settings
        .hub_kubeconfig
        .as_ref()
        .map(|secret| secret.name.clone());
    let cluster = spec.cluster.kubeconfig_secret_ref.as_ref();
    if hub
        .as_ref()
        .is_some_and(|hub| cluster.is_some_and(|cluster| cluster.name != *hub))
    {
        return mistaken(
            "spec.serviceProvider.hubKubeconfig and spec.cluster.kubeconfigSecretRef name two clusters: the hub is the cluster that the fleet is applied to, so remove one",
        );
    }
    if spec.mode == FleetMode::Check {
        return mistaken(
            "spec.mode: check writes nothing, and a service provider makes clusters: set mode: apply, or remove spec.serviceProvider",
        );
    }
    let resync = settings
        .messaging
        .as_ref()
        .map(|messaging| messaging.resync);
    let renewal = settings.registration.as_ref().map(|wanted| wanted.renewal);
    let periods = [resync, renewal];
    if periods.iter().flatten().any(|period| period.0 < LEAST) {
        return mistaken(
            "messaging.resync and registration.renewal of spec.serviceProvider are at least 1s",
        );
    }
    let mut branch = None;
    if settings.write_mode != WriteMode::Direct {
        branch = spec
            .source
            .git
            .as_ref()
            .and_then(|git| git.reference.branch.clone());
        if branch.is_none() {
            return mistaken(
                "spec.serviceProvider.writeMode writes to a branch: follow one with spec.source.git.ref.branch, or set writeMode: direct",
            );
        }
    }
    Ok(Some(ProviderConfig {
        branch,
        hub,
        secrets: place(settings.secret_ref.as_ref()),
        signing_key: place(settings.signing_key_secret_ref.as_ref()),
        pull_secret_file: environment.pull_secret_file.clone(),
        pull_secret: environment.pull_secret.clone(),
        settings,
        address,
    }))
}

fn place(secret: Option<&SecretName>) -> Option<SourceCredential> {
    secret.map(|secret| SourceCredential::Secret(secret.name.clone()))
}
