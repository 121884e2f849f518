//! The controllers that connect private clusters on Azure over Private Link.
//!
//! In: Services of routers, and the objects that describe a connection. Out: three controllers, none of which has the rights
//! of another: the observer writes the object, the platform controller makes the management side, and the endpoint
//! controller the customer's side. They meet only in the object.
//!
//! ```text
//! Service ─► observer ─► AzurePrivateLinkService ─► platform ─► Private Link Service
//!                                    │   ▲
//!                                    └───┴──► endpoint ─► Private Endpoint, DNS
//! ```

mod away;
mod credential;
mod denied;
mod endpoint;
pub(crate) mod found_by;
mod link;
pub(crate) mod names;
mod observer;
mod platform;
mod resource;
mod settings;
mod sharing;
mod state;
#[cfg(test)]
mod tests;

pub use self::settings::{Management, Place, PlatformSettings};
use super::controller::{Controller, Reconcile};
use super::world::GroupKind;
use crate::api::azure_private_link_service::KIND;
use crate::api::fleet::Mode;
use crate::api::kinds::NETWORK;
use crate::api::platform::HYPERSHIFT;
use crate::model::ObjectId;

/// All three, for one process that has the rights of all.
#[must_use]
pub fn all(settings: PlatformSettings) -> Vec<Controller> {
    let mode = settings.mode;
    vec![observer(mode), platform(settings), endpoint(mode)]
}

/// The controller that describes connections.
#[must_use]
pub fn observer(mode: Mode) -> Controller {
    controller(
        "capstan-private-link-observer",
        &[
            ("", "Service"),
            (HYPERSHIFT, KIND),
            (HYPERSHIFT, "HostedControlPlane"),
        ],
        observer::handles,
        Box::new(move |world, live, now| observer::reconcile(world, live, now, mode)),
    )
}

/// The controller of the management side.
#[must_use]
pub fn platform(settings: PlatformSettings) -> Controller {
    controller(
        "capstan-private-link-platform",
        &[(HYPERSHIFT, KIND), (HYPERSHIFT, "HostedCluster")],
        is_connection,
        Box::new(move |world, live, now| platform::reconcile(world, live, now, &settings)),
    )
}

/// The kinds of which the platform controller sees only the objects in its own namespace: what it makes, and Secrets.
#[must_use]
pub fn near_platform() -> Vec<GroupKind> {
    let kinds = [
        ("", "Secret"),
        (NETWORK, "PrivateLinkService"),
        (NETWORK, "VirtualNetworksSubnet"),
    ];
    kinds
        .map(|(group, kind)| GroupKind::new(group, kind))
        .to_vec()
}

/// The controller of the customer's side.
#[must_use]
pub fn endpoint(mode: Mode) -> Controller {
    controller(
        "capstan-private-link-endpoint",
        &[
            (HYPERSHIFT, KIND),
            (HYPERSHIFT, "HostedCluster"),
            (HYPERSHIFT, "HostedControlPlane"),
        ],
        is_connection,
        Box::new(move |world, live, now| endpoint::reconcile(world, live, now, mode)),
    )
}

fn is_connection(id: &ObjectId) -> bool {
    id.is(HYPERSHIFT, KIND)
}

fn controller(
    manager: &'static str,
    watches: &[(&str, &str)],
    handles: fn(&ObjectId) -> bool,
    reconcile: Reconcile,
) -> Controller {
    let watches = watches
        .iter()
        .map(|(group, kind)| GroupKind::new(group, kind));
    Controller {
        manager,
        watches: watches.collect(),
        handles,
        reconcile,
    }
}
