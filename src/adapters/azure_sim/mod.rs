//! Small controllers that play the systems around us: Cluster API, Azure Service Operator with Azure
//! behind it, and the ARO provider's controllers.
//!
//! In: a Kubernetes client, a clock and what should fail. Out: writes to that API, as the real
//! controllers would make them and about as long after one another. They speak only Kubernetes, so
//! they run on the in-process API and on a real API server alike. They do not know whose objects they
//! play for.

mod aro;
mod aso;
mod capi;
mod conditions;
pub mod crds;
mod engine;
mod error;
mod failure;
mod links;
#[cfg(test)]
mod manifests;
mod outcome;
mod schedule;
#[cfg(test)]
mod stage;
mod watches;
#[cfg(test)]
mod whole;
mod world;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::ApiResource;
use tokio::task::JoinHandle;

use crate::api::kinds::KINDS;
use crate::api::timeline;
use crate::model::Clock;

pub use failure::{BadFailure, Failure};

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
        Role::Aro => aro::actors(options.settle),
    });
    let actors = actors.collect();
    let engine = engine::Engine::new(client, clock, options.kinds, actors);
    Actors(tokio::spawn(engine.run()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_kind_is_watched_once() {
        let mut plurals: Vec<String> = newest().into_iter().map(|kind| kind.plural).collect();
        assert_eq!(plurals.len(), KINDS.len() + 2);
        plurals.sort();
        plurals.dedup();
        assert_eq!(plurals.len(), KINDS.len() + 2);
    }
}
