//! The settings of a service provider that is installed.
//!
//! In: the Fleet document of `--fleet`, and the directories of its fleet. Out: the settings of its objects, or the reason why its
//! pods could not work. It does not know what the objects look like.

use std::net::IpAddr;

use anyhow::Context as _;
use serde_json::Value as Json;

use super::args::{Component, PodArgs, SetArgs};
use super::fleets::applied;
use crate::api::fleet::{Fleet, ServiceProvider};
use crate::cli::ui::Ui;
use crate::install::{PROBED_PORT, ProviderSettings};
use crate::model::RepositoryUrl;
use crate::settings::{self, Environment, ProviderEnvironment, SyncConfig};
use crate::yaml;

/// The settings of a service provider in a namespace.
pub(super) fn settings(
    args: &SetArgs,
    pods: &PodArgs,
    namespace: &str,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ProviderSettings> {
    let file = args.fleet.first().context("--fleet: no file is named")?;
    let (mut object, fleet) = settings::fleet(file).context("--fleet")?;
    let shown = file.display();
    let written = object["metadata"]["namespace"].as_str();
    anyhow::ensure!(
        written.is_none_or(|written| written == namespace),
        "--fleet {shown}: its namespace is not {namespace}; remove metadata.namespace, or use --namespace"
    );
    object["metadata"]["namespace"] = Json::from(namespace);
    let document = yaml::write(&[object]);
    let context = || format!("--fleet {shown}");
    let config = in_a_pod(&document, environment).with_context(context)?;
    check(&config, &fleet).with_context(context)?;
    let provider = config.provider.as_ref();
    let provider = provider
        .context("it has no spec.serviceProvider: add it, or use --component daemon")
        .with_context(context)?;
    check_secrets(&provider.settings).with_context(context)?;
    let port = port(&provider.address).with_context(context)?;
    if args.paths.is_empty() {
        ui.message("no directory of the fleet is named, so the roles have only what the service provider itself needs: name the directory if the fleet has other files");
    }
    let mut secrets: Vec<String> = fleet.secrets().map(str::to_owned).collect();
    secrets.sort();
    secrets.dedup();
    Ok(ProviderSettings {
        provider: provider.settings.clone(),
        document,
        port,
        applied: applied(args, ui)?,
        secrets,
        aro: args.aro.map_or(config.controllers.aro, Into::into),
        replicas: pods.replicas(Component::ServiceProvider),
    })
}

/// The settings that a document has in a pod, which has none of the variables of this process.
fn in_a_pod(document: &str, environment: &Environment) -> Result<SyncConfig, settings::Error> {
    let own = Environment {
        source_credential: None,
        checks_credential: None,
        provider: ProviderEnvironment::default(),
        ..environment.clone()
    };
    SyncConfig::document("the Fleet document", document.as_bytes(), &own)
}

/// Refuses what pods cannot do, or what needs rights of other accounts.
fn check(config: &SyncConfig, fleet: &Fleet) -> anyhow::Result<()> {
    anyhow::ensure!(
        config.follows_nothing
            || config.directory.is_none() && !RepositoryUrl::split(&config.url).is_local(),
        "the source of a service provider in a cluster is a repository on a server, such as https://host/path"
    );
    anyhow::ensure!(
        config.kubeconfig_secret.is_none(),
        "the hub is another cluster, where the user of the kubeconfig needs the rights: remove spec.cluster.kubeconfigSecretRef and spec.serviceProvider.hubKubeconfig, and install it on the hub; or print the roles without them, and bind them to that user there"
    );
    anyhow::ensure!(
        fleet.spec.service_account_name.is_none(),
        "spec.serviceAccountName is another account than the one that gets the rights: remove it"
    );
    anyhow::ensure!(
        config.admission.is_none(),
        "spec.serve.admission needs rights that a service provider has not: remove it, and use --component admission"
    );
    Ok(())
}

/// Refuses settings with which a pod does not start.
fn check_secrets(provider: &ServiceProvider) -> anyhow::Result<()> {
    let has_own = provider.secret_ref.is_some();
    anyhow::ensure!(
        has_own || provider.allow_unauthenticated,
        "spec.serviceProvider has no tokens: name a Secret with the key `tokens` in secretRef, or set allowUnauthenticated: true"
    );
    anyhow::ensure!(
        has_own || provider.pull_secret_ref.is_some(),
        "spec.serviceProvider has no pull secret: name a Secret with the key `.dockerconfigjson` in secretRef, or an existing pull secret in pullSecretRef"
    );
    Ok(())
}

/// The port of an address that a Service can reach.
fn port(address: &str) -> anyhow::Result<u16> {
    const FIELD: &str = "spec.serve.serviceProvider.address";
    let parts = address.rsplit_once(':');
    let parts = parts.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    let (host, port) =
        parts.with_context(|| format!("{FIELD}: {address:?} has no port: use :PORT"))?;
    let host = host.trim_matches(['[', ']']);
    let is_everywhere = host.is_empty()
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_unspecified());
    anyhow::ensure!(
        is_everywhere,
        "{FIELD}: a Service cannot reach {address} in a pod: use :{port}"
    );
    anyhow::ensure!(
        port != 0 && port != PROBED_PORT,
        "{FIELD}: the port is {port}, but 0 is any port and {PROBED_PORT} is that of health and metrics: use another one, such as :8443"
    );
    Ok(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_reaches_a_port_on_all_addresses_that_is_not_taken() {
        for address in [":8443", "0.0.0.0:8443", "[::]:8443"] {
            assert_eq!(port(address).ok(), Some(8443), "{address}");
        }
        for (address, help) in [
            ("127.0.0.1:8443", "use :8443"),
            ("localhost:8443", "use :8443"),
            ("[::1]:8443", "use :8443"),
            (":8080", "such as :8443"),
            (":0", "such as :8443"),
            ("8443", "use :PORT"),
            (":http", "use :PORT"),
        ] {
            let refused = port(address).err().map(|error| error.to_string());
            let refused = refused.unwrap_or_default();
            assert!(refused.contains(help), "{address}: {refused}");
        }
    }

    #[test]
    fn a_pod_that_would_not_start_is_refused() {
        let mut provider = ServiceProvider {
            allow_unauthenticated: true,
            ..ServiceProvider::default()
        };
        let refused = check_secrets(&provider)
            .err()
            .map(|error| error.to_string());
        assert!(refused.is_some_and(|why| why.contains("pullSecretRef")));
        provider.allow_unauthenticated = false;
        let refused = check_secrets(&provider)
            .err()
            .map(|error| error.to_string());
        assert!(refused.is_some_and(|why| why.contains("tokens")));
    }
}
