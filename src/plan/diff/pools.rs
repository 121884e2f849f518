//! D14: a removal of the last pool of a cluster that stays.
//!
//! In: the removed objects and those of the new revision. Out: findings. The provider's webhook refuses to delete such
//! a pool (facts/aro-controllers.md §2), and counts by label, as here; a MachinePool counts as well, since Cluster API
//! sets the label of what it names. It does not know what else is removed.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::Changes;
use crate::api::kinds::{CAPI, INFRASTRUCTURE};
use crate::api::labels::CLUSTER_NAME;
use crate::health::Live;
use crate::model::{Finding, Object, ObjectId, message};

impl Changes {
    /// Adds `gone`, objects as they were applied, that the new revision with `objects` removes from the cluster.
    pub fn remove<'a>(&mut self, gone: impl IntoIterator<Item = &'a Json>, objects: &[Object]) {
        let pools = gone
            .into_iter()
            .map(Live)
            .filter(|gone| is_pool(&gone.id()));
        let clusters = pools.map(|pool| {
            let name = pool.label(CLUSTER_NAME);
            ObjectId::new(CAPI, "Cluster", pool.namespace(), name)
        });
        let mut clusters: BTreeSet<ObjectId> = clusters.collect();
        for object in objects {
            if let Some(name) = keeps_pool_of(object) {
                clusters.remove(&ObjectId::new(CAPI, "Cluster", &*object.id.namespace, name));
            }
        }
        let without_pool = objects
            .iter()
            .filter(|object| clusters.contains(&object.id));
        self.last_pools.extend(without_pool.map(last_pool));
    }

    /// How many clusters would lose their last pool.
    #[must_use]
    pub const fn without_pool(&self) -> usize {
        self.last_pools.len()
    }
}

fn is_pool(id: &ObjectId) -> bool {
    id.is(INFRASTRUCTURE, "AROMachinePool")
}

/// The cluster that an object is a pool of.
fn keeps_pool_of(object: &Object) -> Option<&str> {
    match object.id.is(CAPI, "MachinePool") {
        true => object.node.text(&["spec", "clusterName"]),
        false => object.label(CLUSTER_NAME).filter(|_| is_pool(&object.id)),
    }
}

fn last_pool(cluster: &Object) -> Finding {
    let message = message!(
        "the last AROMachinePool of {cluster} is removed, but the cluster stays: the webhook of the provider refuses that",
        cluster = cluster.id
    );
    let help = "add another pool in the same change, or remove the whole cluster";
    let finding = Finding::error("D14", message);
    finding.at(cluster.origin.span()).of(&cluster.id).help(help)
}
