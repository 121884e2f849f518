//! Small controllers that play the systems around us: Cluster API, Azure Service Operator with Azure behind it, and
//! HyperShift with a lab of machines; and what our own controllers reach besides the cluster: the nodes of workload clusters, vaults, and Entra ID.
//!
//! In: what should fail, and what exists in Azure. Out: controllers as values, which decide what the real ones would
//! write, and about as long after one another; connectors. They speak only Kubernetes, so they run on the in-process API
//! and on a real API server alike. They do not know who runs them, and our controllers are not among them.

mod aro;
mod aso;
mod azure;
mod capi;
mod clock;
pub mod crds;
mod credentials;
mod failure;
mod hyper_shift;
mod kinds;
mod network;
#[cfg(test)]
mod tests;
mod vaults;
mod workloads;

pub use azure::{Azure, Deed};
pub use credentials::SimulatedCredentials;
pub use failure::{BadFailure, Failure};
pub use hyper_shift::HostedApis;
pub(crate) use hyper_shift::{can_fail, is_private};
pub use network::SimulatedLinks;
pub use vaults::SimulatedVaults;
pub use workloads::SimulatedWorkloads;

use crate::reconcile::{controller::Controller, world::GroupKind};

/// A system that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Azure Service Operator, and Azure.
    Aso,
    /// Cluster API.
    Capi,
    /// HyperShift's operator.
    HyperShift,
    /// The machines for HyperShift's Agent platform.
    Lab,
}

/// The simulated systems and how they behave.
#[derive(Clone, Debug)]
pub struct Options {
    /// The systems that are played.
    pub roles: Vec<Role>,
    /// The failures.
    pub failures: Vec<Failure>,
    /// The resources in Azure.
    pub azure: Azure,
    /// The kinds that those around ARO HCP watch, in this order.
    pub kinds: Vec<GroupKind>,
    /// Where the APIs of hosted clusters are served.
    pub apis: HostedApis,
}

/// Everybody plays, nothing fails, and Azure is empty.
impl Default for Options {
    fn default() -> Self {
        Self {
            roles: vec![Role::Aso, Role::Capi, Role::HyperShift, Role::Lab],
            failures: Vec::new(),
            azure: Azure::default(),
            kinds: kinds::all(),
            apis: HostedApis::default(),
        }
    }
}

/// The controllers that play.
#[must_use]
pub fn controllers(options: &Options) -> Vec<Controller> {
    let Options {
        failures,
        azure,
        kinds,
        apis,
        ..
    } = options;
    let controllers = options.roles.iter().flat_map(|role| match role {
        Role::Aso => aso::controllers(failures, kinds, azure),
        Role::Capi => capi::controllers(kinds),
        Role::HyperShift => hyper_shift::controllers(failures, azure, apis),
        Role::Lab => vec![hyper_shift::lab()],
    });
    controllers.collect()
}
