//! What Azure waits for before it finishes an external authentication: the secret of the console's client.
//!
//! In: an external authentication, and the Secrets of the management cluster, which a person makes (facts/aro-controllers.md
//! §7). Out: the first that is missing. It does not know how a secret gets from there into the workload cluster.

use super::super::azure::Azure;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::world::World;

/// The Secret that Azure waits for.
pub(super) fn awaited(azure: &Azure, world: World<'_>, live: Live<'_>) -> Option<ObjectId> {
    if azure.has_prerequisites() || live.kind() != "HcpOpenShiftClustersExternalAuth" {
        return None;
    }
    let clients = live
        .list(&["spec", "properties", "clients"])
        .iter()
        .map(Live);
    let confidential = clients.filter(|client| client.text(&["type"]) == "Confidential");
    let cluster = live.text(&["spec", "owner", "name"]);
    let mut secrets = confidential.map(|client| {
        let name = client.text(&["component", "name"]);
        let namespace = client.text(&["component", "authClientNamespace"]);
        let name = format!("{cluster}-ea-{name}-{namespace}");
        ObjectId::new("", "Secret", live.namespace(), name)
    });
    secrets.find(|id| world.get(id).present().is_none())
}
