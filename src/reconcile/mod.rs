//! Our controllers: what each of them decides about one object.
//!
//! In: a read-only view of the cluster, a live object and the time. Out: an
//! outcome: writes, what else the decision needs, and when to decide again. They call
//! nothing and read no clock; they do not know what runs them.
//!
//! The controllers of AROCluster, AROControlPlane and AROMachinePool follow facts/aro-controllers.md §3
//! and §6, without the defects that are listed there. docs/controllers.md names the differences.

mod aro_cluster;
mod aro_control_plane;
mod aro_machine_pool;
mod azure_cluster_identity;
#[cfg(test)]
mod bench;
pub(crate) mod blocked;
pub(crate) mod conditions;
pub(crate) mod controller;
mod course;
mod credentials;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod handover;
mod kept;
pub(crate) mod lease;
pub(crate) mod links;
mod membership;
mod orphan;
pub(crate) mod outcome;
mod parent;
pub(crate) mod preflight;
pub mod private_link;
#[cfg(test)]
mod properties;
pub(crate) mod refused;
mod resources;
mod scope;
mod settings;
pub(crate) mod snapshot;
pub(crate) mod world;

pub(crate) use self::aro_control_plane::heeds_trailer;
use self::controller::{Controller, Reconcile};
pub use self::settings::{ProcessIdentity, Settings};
pub use self::snapshot::Watched;
use self::world::GroupKind;
use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE};
use crate::model::ObjectId;

/// The controllers of the ARO provider's kinds.
#[must_use]
pub fn aro(settings: Settings) -> Vec<Controller> {
    let controller = |manager, handles: fn(&ObjectId) -> bool, reconcile: Reconcile| Controller {
        manager,
        watches: vec![
            GroupKind::new(CAPI, "Cluster"),
            GroupKind::new(CAPI, "MachinePool"),
            GroupKind::new(INFRASTRUCTURE, "AROCluster"),
            GroupKind::new(INFRASTRUCTURE, "AzureClusterIdentity"),
            GroupKind::new(INFRASTRUCTURE, "AROMachinePool"),
            GroupKind::new(CONTROL_PLANE, "AROControlPlane"),
        ],
        handles,
        reconcile,
    };
    let (network, plane) = (settings.clone(), settings.clone());
    vec![
        controller(
            "capstan-azureclusteridentity",
            |id| id.is(INFRASTRUCTURE, "AzureClusterIdentity"),
            Box::new(azure_cluster_identity::reconcile),
        ),
        controller(
            "capstan-arocluster",
            |id| id.is(INFRASTRUCTURE, "AROCluster"),
            Box::new(move |world, live, now| aro_cluster::reconcile(world, live, now, &network)),
        ),
        controller(
            "capstan-arocontrolplane",
            |id| id.is(CONTROL_PLANE, "AROControlPlane"),
            Box::new(move |world, live, now| {
                aro_control_plane::reconcile(world, live, now, &plane)
            }),
        ),
        controller(
            "capstan-aromachinepool",
            |id| id.is(INFRASTRUCTURE, "AROMachinePool"),
            Box::new(move |world, live, now| {
                aro_machine_pool::reconcile(world, live, now, &settings)
            }),
        ),
    ]
}
