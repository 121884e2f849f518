//! Small controllers that play the systems around us: Cluster API, Azure Service Operator with Azure
//! behind it, and the ARO provider's controllers.
//!
//! In: what should fail. Out: controllers as values, which decide what the real ones would write, and
//! about as long after one another. They speak only Kubernetes, so they run on the in-process API and
//! on a real API server alike. They do not know who runs them.

mod aso;
mod capi;
mod clock;
pub mod crds;
mod failure;
mod kinds;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use failure::{BadFailure, Failure};

use crate::api::fleet::FirstApply;
use crate::api::timeline;
use crate::reconcile::{self, Settings, controller::Controller, world::GroupKind};

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

/// Who plays, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who plays.
    pub roles: Vec<Role>,
    /// How long the ARO controllers wait between the last role assignment and the HCP cluster, on the
    /// clock given.
    pub settle: Duration,
    /// What fails.
    pub failures: Vec<Failure>,
    /// What is watched, in this order.
    pub kinds: Vec<GroupKind>,
}

/// Everybody plays and nothing fails.
impl Default for Options {
    fn default() -> Self {
        Self {
            roles: vec![Role::Aso, Role::Capi, Role::Aro],
            settle: timeline::SETTLE,
            failures: Vec::new(),
            kinds: kinds::all(),
        }
    }
}

/// The controllers that play.
#[must_use]
pub fn controllers(options: &Options) -> Vec<Controller> {
    let controllers = options.roles.iter().flat_map(|role| match role {
        Role::Aso => aso::controllers(&options.failures, &options.kinds),
        Role::Capi => capi::controllers(&options.kinds),
        Role::Aro => reconcile::aro(Settings {
            settle: options.settle,
            first_apply: FirstApply::Direct,
        }),
    });
    controllers.collect()
}
