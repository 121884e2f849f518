//! What an AROMachinePool has besides its node pool, such as a subnet or an identity, when it goes with its Cluster.
//!
//! In: an AROMachinePool that is about to let go. Out: that the AROCluster has the rest, or nobody. Cluster API deletes the
//! control plane only once the AROMachinePool is gone, and Azure needs the rest until the node pools are: so nobody else could
//! delete it in order and wait for it, with the credential of the cluster. The AROCluster deletes it with the infrastructure
//! after the HCP cluster, waits for it, and says so, as for what it always had: that ends as its own deletion ends.

use super::super::links;
use super::super::outcome::{Need, Outcome};
use super::super::resources::{self, Ledger};
use super::super::world::Parent;
use super::family::Family;
use super::names::NODE_POOL;
use crate::api::kinds::INFRASTRUCTURE;
use crate::health::Live;

/// The kind of the heir.
const NETWORK: &str = "AROCluster";

/// Hands on what is no node pool, and returns whether that is done. Without an AROCluster it is deleted and not waited for.
pub(super) fn hand_on(ledger: &Ledger<'_>, family: &Family<'_>, outcome: &mut Outcome) -> bool {
    let is_more = |live: Live<'_>| live.kind() != NODE_POOL;
    if let Some(heir) = heir(ledger, family, outcome) {
        return resources::hand_on(ledger, heir, is_more, outcome);
    }
    let left = resources::remove(ledger, is_more, outcome);
    let live = |entry: &resources::Entry| ledger.world.get(&entry.id).present();
    left.iter()
        .all(|entry| live(entry).is_none_or(Live::is_deleting))
}

/// The AROCluster of the Cluster. If that is gone, one that is being deleted like its other objects.
fn heir<'a>(ledger: &Ledger<'a>, family: &Family<'_>, outcome: &mut Outcome) -> Option<Live<'a>> {
    let (world, namespace) = (ledger.world, ledger.owner.namespace());
    let parent = Parent::new(INFRASTRUCTURE, NETWORK, namespace, family.name);
    let mut heirs = world.below(&parent);
    let named = family.cluster.and_then(links::infrastructure);
    let found = match named.filter(|id| id.is(INFRASTRUCTURE, NETWORK)) {
        Some(id) => {
            let found = world.get(&id).present();
            outcome.need(id);
            found
        }
        None => heirs.find(|heir| heir.is_deleting()),
    };
    outcome.needs.push(Need::Below(parent));
    found.filter(|heir| links::is_infrastructure_held(*heir))
}
