//! Small controllers that play the systems around us: Cluster API, Azure Service Operator with Azure
//! behind it, and the ARO provider's controllers.
//!
//! In: a Kubernetes client, a clock and what should fail. Out: writes to that API, as the real
//! controllers would make them and about as long after one another. They speak only Kubernetes, so
//! they run on the in-process API and on a real API server alike. They do not know whose objects they
//! play for.

mod aso;
mod capi;
pub mod crds;
#[cfg(test)]
mod tests;

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::ApiResource;
use tokio::task::JoinHandle;

use crate::adapters::kubernetes::controller::{runtime, writer};
use crate::api::kinds::KINDS;
use crate::api::timeline;
use crate::model::Clock;

/// Which systems are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Azure Service Operator, and Azure.
    Aso,
    /// Cluster API.
    Capi,
    /// The controllers of AROCluster, AROControlPlane and AROMachinePool.
    Aro,
}

/// An Azure resource that will fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its kind.
    pub kind: String,
    /// Its namespace; any when absent.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The reason it ends with: an error code of Azure or a reason of ASO.
    pub reason: String,
}

/// A failure that is not written `Kind/name=Reason` or `Kind/namespace/name=Reason`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not written Kind/name=Reason or Kind/namespace/name=Reason")]
pub struct BadFailure(String);

impl FromStr for Failure {
    type Err = BadFailure;

    fn from_str(text: &str) -> Result<Self, BadFailure> {
        let bad = || BadFailure(text.to_owned());
        let (object, reason) = text.split_once('=').ok_or_else(bad)?;
        let parts: Vec<&str> = object.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (kind, None, name),
            [kind, namespace, name] => (kind, Some((*namespace).to_owned()), name),
            _ => return Err(bad()),
        };
        if [*kind, *name].contains(&"") || !is_reason(reason) {
            return Err(bad());
        }
        Ok(Self {
            kind: (*kind).to_owned(),
            namespace,
            name: (*name).to_owned(),
            reason: reason.to_owned(),
        })
    }
}

/// Whether Kubernetes takes the word as the reason of a condition.
fn is_reason(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_,:".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(inner)
        && !word.ends_with([',', ':'])
}

/// How the play goes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who plays.
    pub roles: Vec<Role>,
    /// How long the ARO controllers wait between the last role assignment and the HCP cluster, on the
    /// clock given.
    pub settle: Duration,
    /// What fails.
    pub failures: Vec<Failure>,
    /// The kinds to watch, each at a version the cluster serves.
    pub kinds: Vec<ApiResource>,
}

/// Everybody plays, nothing fails, and the cluster serves the newest versions.
impl Default for Options {
    fn default() -> Self {
        Self {
            roles: vec![Role::Aso, Role::Capi, Role::Aro],
            settle: timeline::SETTLE,
            failures: Vec::new(),
            kinds: newest(),
        }
    }
}

/// Every kind the actors look at, at its newest version.
#[must_use]
pub fn newest() -> Vec<ApiResource> {
    let core = ["ConfigMap", "Secret"].map(|kind| writer::resource("", "v1", kind));
    let custom = KINDS.iter().filter_map(|kind| {
        let version = kind.versions.last()?;
        Some(writer::resource(kind.group, version, kind.kind))
    });
    core.into_iter().chain(custom).collect()
}

/// The actors at work; dropping it stops them.
#[derive(Debug)]
pub struct Actors(JoinHandle<()>);

impl Drop for Actors {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Lets the actors play on the cluster behind `client` until the result is dropped.
#[must_use]
pub fn spawn(client: Client, clock: Arc<dyn Clock>, options: Options) -> Actors {
    let actors = options.roles.iter().flat_map(|role| match role {
        Role::Aso => aso::actors(&options.failures),
        Role::Capi => capi::actors(),
        Role::Aro => crate::reconcile::actors(options.settle),
    });
    let actors = actors.collect();
    let engine = runtime::Engine::new(client, clock, options.kinds, actors);
    Actors(tokio::spawn(engine.run()))
}
