//! Our controllers on a real cluster.
//!
//! In: a cluster, and which controllers run how. Out: controllers that take their turn. It does not know what they do.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use ring::pbkdf2;
use sha2::{Digest as _, Sha256};

use super::clock::wall_time;
use crate::adapters::azure::credentials::{self, AzureCredentials, DefaultIdentity, Files};
use crate::adapters::azure::{AzureKeys, AzureLinks};
use crate::adapters::kubernetes::controller::Connectors;
use crate::adapters::kubernetes::{
    Group, KubeObjects, KubeWorkloads, Sharers, Sharing, Target, aro_kinds, cluster_namespaces,
    examine_aso, examine_capi, share,
};
use crate::api::fleet::{Controllers, Mode};
use crate::api::kinds::PRIVATE_LINK;
use crate::model::{Namespaces, hex};
use crate::reconcile::controller::Controller;
use crate::reconcile::preflight::{Level, Report};
use crate::reconcile::private_link::{self, Management, Place, PlatformSettings};
use crate::reconcile::{self, ProcessIdentity, Settings};
use crate::settings::{Azure, AzureIdentity, Environment};

/// Starts the controllers that `controllers` asks for; `None` if it asks for none. The HCP cluster is applied `settle`
/// after its last role assignment. `name` is what to call this process. They see the objects of the namespaces `watched` alone.
#[must_use]
pub fn controllers(
    target: &Target,
    controllers: Controllers,
    settle: Duration,
    name: &str,
    environment: &Environment,
    watched: &Namespaces,
) -> Option<Sharers> {
    if controllers.aro == Mode::Off {
        return None;
    }
    // Nothing waits for it.
    tokio::spawn(preflight(target.client.clone(), watched.clone()));
    let all = reconcile::aro(Settings {
        settle,
        first_apply: controllers.first_apply,
        identity: uses_identity(&environment.azure),
    });
    let role = (Group::Aro, controllers.aro, name);
    Some(start(target, role, all, environment, watched))
}

/// Starts the controllers of private clusters that are not off; `management` is the place of the management side. `name` is
/// what to call this process.
#[must_use]
pub fn private_links(
    target: &Target,
    modes: &[(Group, Mode)],
    management: Option<&Management>,
    name: &str,
    environment: &Environment,
) -> Vec<Sharers> {
    let wanted: Vec<&(Group, Mode)> = modes
        .iter()
        .filter(|(_, mode)| *mode != Mode::Off)
        .collect();
    if wanted
        .iter()
        .any(|(group, _)| *group != Group::PrivateLinkObserver)
    {
        // Nothing waits for it.
        tokio::spawn(examine_links(target.client.clone()));
    }
    let started = wanted.into_iter().map(|(group, mode)| {
        let controller = match group {
            Group::PrivateLinkObserver => private_link::observer(*mode),
            Group::PrivateLinkEndpoint => private_link::endpoint(*mode),
            _ => private_link::platform(PlatformSettings {
                mode: *mode,
                namespace: environment.namespace.clone(),
                place: management.cloned().map_or(Place::Unknown, Place::At),
            }),
        };
        let role = (*group, *mode, name);
        start(
            target,
            role,
            vec![controller],
            environment,
            &Namespaces::All,
        )
    });
    started.collect()
}

/// Starts the controllers of one group.
fn start(
    target: &Target,
    (group, mode, name): (Group, Mode, &str),
    all: Vec<Controller>,
    environment: &Environment,
    watched: &Namespaces,
) -> Sharers {
    let sharing = Sharing {
        group,
        mode,
        namespace: environment.namespace.clone(),
        identity: identity(name, environment),
        watched: watched.clone(),
        near: match group {
            Group::PrivateLinkPlatform => private_link::near_platform(),
            _ => Vec::new(),
        },
    };
    let clock = Arc::clone(&target.clock);
    let credentials = Arc::new(credentials(target, &environment.azure, watched));
    let vaults = AzureKeys::new(Arc::clone(&credentials) as _, Arc::clone(&clock));
    let links = AzureLinks::new(Arc::clone(&credentials) as _, Arc::clone(&clock));
    let connectors = Connectors {
        workloads: Arc::new(KubeWorkloads::new(Arc::clone(&clock))),
        keys: Arc::new(vaults),
        credentials,
        links: Arc::new(links),
    };
    share(&target.client, clock, all, connectors, sharing)
}

/// Logs what is wrong with the variables of Azure: what is refused for it speaks only of the tenant.
pub fn report_fault(environment: &Environment) {
    if let Some(fault) = &environment.azure.fault {
        tracing::error!(
            "Capstan does not use an identity of its own, and refuses those that authenticate as Capstan: {fault}"
        );
    }
}

/// Says once what is there of Azure Service Operator and Cluster API, and what is wrong with them.
async fn preflight(client: Client, watched: Namespaces) {
    let namespaces = cluster_namespaces(&client, &watched).await;
    say(&examine_aso(&client, &aro_kinds(), namespaces, &watched).await);
    say(&examine_capi(&client).await);
}

/// Says once what is wrong with Azure Service Operator for private clusters.
async fn examine_links(client: Client) {
    let none = BTreeSet::new();
    say(&examine_aso(&client, PRIVATE_LINK, none, &Namespaces::All).await);
}

fn say(report: &Report) {
    let product = report.product;
    for title in report.titles() {
        tracing::info!("{title}");
    }
    for finding in &report.findings {
        match finding.level {
            Level::Note => tracing::info!("{product}: {finding}"),
            _ => tracing::warn!("{product}: {finding}"),
        }
    }
    if !report.is_fine() {
        for (name, value) in &report.settings {
            tracing::info!("{product} needs: {name}: {value}");
        }
    }
}

/// The identity of this process, if somebody asked for one. One that cannot be used is not the same as none: its clusters do
/// not turn to another credential.
fn uses_identity(azure: &Azure) -> Option<ProcessIdentity> {
    let is_wanted = azure.identity.is_some() || azure.fault.is_some();
    let identity = azure.identity.as_ref();
    is_wanted.then(|| ProcessIdentity {
        namespaces: azure.namespaces.clone(),
        version: identity.map(version).unwrap_or_default(),
        has_file: identity.is_some_and(|identity| identity.certificate.is_some()),
    })
}

/// What tells one identity of the process from another. It is an annotation of the Secrets of clusters, which more people and
/// tools see than their content, so that a password must not be guessed from it: each guess costs a hundred thousand
/// rounds, and so few bits are kept that many wrong guesses pass as well.
fn version(identity: &AzureIdentity) -> String {
    let AzureIdentity {
        kind,
        client,
        tenant,
        password,
        certificate,
        subscription,
    } = identity;
    // What is not a secret is hashed as it is.
    let open = format!("{kind:?} {client:?} {tenant:?} {certificate:?} {subscription:?}");
    let rounds = NonZeroU32::new(100_000).unwrap_or(NonZeroU32::MAX);
    let secret = password.as_deref().unwrap_or_default();
    let mut kept = [0; 4];
    let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
    pbkdf2::derive(
        algorithm,
        rounds,
        open.as_bytes(),
        secret.as_bytes(),
        &mut kept,
    );
    format!("process-{}", hex(&kept))
}

/// The credentials of the identities in a cluster, and that of this process.
fn credentials(target: &Target, azure: &Azure, watched: &Namespaces) -> AzureCredentials {
    if let Some(identity) = &azure.identity {
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
    let objects = KubeObjects::within(target.client.clone(), watched.clone());
    let objects = Arc::new(objects);
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
pub(in crate::daemon) fn identity(name: &str, environment: &Environment) -> String {
    let host = environment.host.as_deref().unwrap_or("capstan");
    let process = std::process::id();
    let began = format!("{host} {process} {}", wall_time().as_nanosecond());
    let digest = Sha256::digest(began);
    format!("{host}_{name}_{}", hex(&digest[..4]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::azure_cluster_identity::IdentityType;

    #[test]
    fn issue_15_a_faulty_identity_is_not_the_same_as_none() {
        assert_eq!(uses_identity(&Azure::default()), None);
        let faulty = Azure {
            fault: Some("CAPSTAN_AZURE_TENANT_ID is not set".to_owned()),
            ..Azure::default()
        };
        assert_eq!(uses_identity(&faulty), Some(ProcessIdentity::default()));
    }

    #[test]
    fn issue_15_every_part_of_the_identity_shows_in_its_version_and_no_secret() {
        let text = |text: &str| Some(text.to_owned());
        let identity =
            |client: &str, password, certificate: Option<&str>, subscription| AzureIdentity {
                kind: IdentityType::ServicePrincipal,
                client: client.to_owned(),
                tenant: "t".to_owned(),
                password,
                certificate: certificate.map(Into::into),
                subscription,
            };
        let first = identity("c", text("hunter2"), None, None);
        let mut all = vec![
            first.clone(),
            AzureIdentity {
                kind: IdentityType::WorkloadIdentity,
                ..first.clone()
            },
            AzureIdentity {
                tenant: "u".to_owned(),
                ..first.clone()
            },
            identity("d", text("hunter2"), None, None),
            identity("c", text("hunter3"), None, None),
            identity("c", text("hunter2"), Some("/a.pem"), None),
            identity("c", text("hunter2"), None, text("s")),
        ];
        assert_eq!(version(&first), version(&all[0]));
        let count = all.len();
        let mut versions: Vec<String> = all.drain(..).map(|one| version(&one)).collect();
        assert!(versions.iter().all(|one| !one.contains("hunter")));
        versions.sort();
        versions.dedup();
        assert_eq!(versions.len(), count);
    }
}
