//! Whether the nodes of a private cluster on Azure reach its API server.
//!
//! In: a HostedCluster, the Service of its router, and Azure. Out: the first hop that is broken. Of any other cluster no hop
//! is. It does not know who makes the way.

use super::super::azure::Azure;
use super::super::network::{Path, walk};
use super::{names, router};
use crate::api::azure_private_link_service::KIND;
use crate::api::platform::HYPERSHIFT;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::Outcome;
use crate::reconcile::world::World;

/// The first hop that is broken.
pub(super) fn broken(
    azure: &Azure,
    world: World<'_>,
    cluster: Live<'_>,
    outcome: &mut Outcome,
) -> Option<String> {
    if !router::is_private(cluster) {
        return None;
    }
    let home = names::control_plane_namespace(cluster);
    let service = router::id(&home);
    let found = world.get(&service).present();
    outcome.need(service);
    outcome.need(ObjectId::new(HYPERSHIFT, KIND, home, "private-router"));
    let name = format!("api.{}.hypershift.local", cluster.name());
    let path = Path {
        name: &name,
        network: cluster.text(&["spec", "platform", "azure", "vnetID"]),
        router: found,
    };
    walk(azure, &path).err()
}
