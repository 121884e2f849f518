//! Our controllers on a real cluster.
//!
//! In: a cluster, and which controllers run how. Out: controllers that take their turn. It does not know what they do.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use sha2::{Digest as _, Sha256};

use super::clock::wall_time;
use crate::adapters::azure::AzureKeys;
use crate::adapters::azure::credentials::{self, AzureCredentials, DefaultIdentity, Files};
use crate::adapters::kubernetes::controller::Connectors;
use crate::adapters::kubernetes::{
    KubeObjects, KubeWorkloads, Sharers, Sharing, Target, cluster_namespaces, examine_aso, share,
};
use crate::api::fleet::{Controllers, Mode};
use crate::model::Namespaces;
use crate::reconcile::preflight::Level;
use crate::reconcile::{self, Settings};
use crate::settings::{Azure, AzureIdentity, Environment};

/// Starts the controllers that `controllers` asks for; `None` if it asks for none. The HCP cluster is applied `settle`
/// after its last role assignment. `name` is what to call this process.
#[must_use]
pub fn controllers(
    target: &Target,
    controllers: Controllers,
    settle: Duration,
    name: &str,
    environment: &Environment,
) -> Option<Sharers> {
    if controllers.aro == Mode::Off {
        return None;
    }
    // Nothing waits for it.
    tokio::spawn(preflight(target.client.clone()));
    let sharing = Sharing {
        mode: controllers.aro,
        namespace: environment.namespace.clone(),
        identity: identity(name, environment),
    };
    let clock = Arc::clone(&target.clock);
    let all = reconcile::aro(Settings {
        settle,
        first_apply: controllers.first_apply,
        identity: uses_identity(&environment.azure),
    });
    let credentials = Arc::new(credentials(target, &environment.azure));
    let vaults = AzureKeys::new(Arc::clone(&credentials) as _, Arc::clone(&clock));
    let connectors = Connectors {
        workloads: Arc::new(KubeWorkloads::new(Arc::clone(&clock))),
        keys: Arc::new(vaults),
        credentials,
    };
    Some(share(&target.client, clock, all, connectors, sharing))
}

/// Says once what is there of Azure Service Operator, and what is wrong with it.
async fn preflight(client: Client) {
    let namespaces = cluster_namespaces(&client).await;
    let report = examine_aso(&client, namespaces).await;
    for title in report.titles() {
        tracing::info!("{title}");
    }
    for finding in &report.findings {
        match finding.level {
            Level::Note => tracing::info!("Azure Service Operator: {finding}"),
            _ => tracing::warn!("Azure Service Operator: {finding}"),
        }
    }
    if !report.is_fine() {
        for (name, value) in &report.settings {
            tracing::info!("Azure Service Operator needs: {name}: {value}");
        }
    }
}

/// The namespaces that use the identity of this process, if somebody asked for one. One that cannot be used is not the same as none: its clusters do
/// not turn to another credential.
fn uses_identity(azure: &Azure) -> Option<Namespaces> {
    let is_wanted = azure.identity.is_some() || azure.fault.is_some();
    is_wanted.then(|| azure.namespaces.clone())
}

/// The credentials of the identities in a cluster, and that of this process.
fn credentials(target: &Target, azure: &Azure) -> AzureCredentials {
    if let Some(fault) = &azure.fault {
        tracing::error!("the identity of the process cannot be used: {fault}");
    } else if let Some(identity) = &azure.identity {
        let (client, namespaces) = (&identity.client, azure.namespaces.to_string());
        tracing::info!(
            client,
            namespaces,
            "clusters without identityRef use the identity of the process"
        );
    }
    let settings = credentials::Settings {
        authority: azure.authority.clone(),
        files: Files {
            directory: azure.files.clone(),
            token: azure.token.clone(),
        },
        default: azure.identity.clone().map(default_identity),
        namespaces: azure.namespaces.clone(),
        bindings: azure.bindings.clone(),
        fault: azure.fault.clone(),
        ..credentials::Settings::default()
    };
    let objects = Arc::new(KubeObjects::new(target.client.clone()));
    AzureCredentials::new(objects, Arc::clone(&target.clock), settings)
}

fn default_identity(identity: AzureIdentity) -> DefaultIdentity {
    let AzureIdentity {
        kind,
        client,
        tenant,
        password,
        certificate,
        subscription,
    } = identity;
    DefaultIdentity {
        kind,
        client,
        tenant,
        password,
        certificate,
        subscription,
    }
}

/// A name that no other process has: which one it is, where it runs, and when it began.
fn identity(name: &str, environment: &Environment) -> String {
    let host = environment.host.as_deref().unwrap_or("capstan");
    let process = std::process::id();
    let began = format!("{host} {process} {}", wall_time().as_nanosecond());
    let digest = Sha256::digest(began);
    let digest: String = digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{host}_{name}_{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_15_a_faulty_identity_is_not_the_same_as_none() {
        assert_eq!(uses_identity(&Azure::default()), None);
        let faulty = Azure {
            fault: Some("CAPSTAN_AZURE_TENANT_ID is not set".to_owned()),
            ..Azure::default()
        };
        assert_eq!(uses_identity(&faulty), Some(Namespaces::All));
    }
}
