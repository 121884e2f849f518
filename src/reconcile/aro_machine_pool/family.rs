//! What an AROMachinePool belongs to: its MachinePool, their Cluster, and the Cluster's control plane.
//!
//! In: the object. Out: those of them that exist, whether all of it is paused, and whether node pools may be created. It
//! does not know what is done with any of them.

use super::super::conditions::{NewCondition, Typed};
use super::super::links;
use super::super::membership::Membership;
use super::super::outcome::Outcome;
use super::super::world::World;
use super::names::HCP;
use crate::api::capi::{DELETE_FOR_MOVE, PAUSED};
use crate::api::conditions as c;
use crate::api::kinds::{CAPI, CONTROL_PLANE, RED_HAT_OPENSHIFT};
use crate::api::labels::CLUSTER_NAME;
use crate::health::Live;
use crate::model::ObjectId;

/// What an AROMachinePool belongs to.
pub(super) struct Family<'a> {
    /// The name of the Cluster, also when it is gone; the object's own as a last resort.
    pub(super) name: &'a str,
    /// The name of the HCP cluster.
    pub(super) hcp: &'a str,
    /// The MachinePool, and no other of its name.
    pub(super) pool: Option<Live<'a>>,
    /// What it belongs to by its MachinePool.
    pub(super) membership: Membership<'a>,
    /// The Cluster.
    pub(super) cluster: Option<Live<'a>>,
    /// The control plane.
    pub(super) plane: Option<Live<'a>>,
}

impl<'a> Family<'a> {
    /// What `live` belongs to.
    pub(super) fn of(world: World<'a>, live: Live<'a>, outcome: &mut Outcome) -> Self {
        let mut find = |id: ObjectId| {
            let found = world.get(&id).present();
            outcome.need(id);
            found
        };
        let owner = links::owner(live, "MachinePool");
        let uid = links::owner_uid(live, "MachinePool");
        let pool = owner.clone().and_then(&mut find);
        let pool = pool.filter(|pool| uid.is_empty() || pool.uid() == uid);
        let named = pool.map_or("", |pool| pool.text(&["spec", "clusterName"]));
        let names = [named, live.label(CLUSTER_NAME), live.name()];
        let name = names
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or_default();
        let membership = Membership {
            named: find(ObjectId::new(CAPI, "Cluster", live.namespace(), name)),
            uid: pool.map_or("", |pool| links::owner_uid(pool, "Cluster")),
            lost: owner.filter(|_| pool.is_none()),
        };
        let cluster = membership.cluster();
        let plane = match cluster {
            Some(cluster) => links::control_plane(cluster),
            None => Some(ObjectId::new(
                CONTROL_PLANE,
                "AROControlPlane",
                live.namespace(),
                name,
            )),
        };
        let plane = plane.filter(|id| id.is(CONTROL_PLANE, "AROControlPlane"));
        let plane = plane.and_then(find);
        Self {
            name,
            hcp: plane.and_then(hcp_name).unwrap_or(name),
            pool,
            membership,
            cluster,
            plane,
        }
    }

    /// Whether the object is to be left alone.
    pub(super) fn is_paused(&self, live: Live<'_>) -> bool {
        let is_marked = |name| live.at(&["metadata", "annotations", name]).is_some();
        let marked = [PAUSED, DELETE_FOR_MOVE].into_iter().any(is_marked);
        marked
            || self
                .membership
                .named
                .is_some_and(|cluster| links::is_paused(cluster, live))
    }

    /// What is missing of MachinePool and Cluster.
    pub(super) fn missing(&self, live: Live<'_>) -> NewCondition {
        if self.pool.is_some() {
            let message = format!(
                "Cluster {}, which this object belongs to, does not exist",
                self.name
            );
            return NewCondition::no(c::CLUSTER_NOT_FOUND, message);
        }
        match links::owner(live, "MachinePool") {
            Some(id) => {
                let message = format!("{id}, which owns this object, does not exist");
                NewCondition::no(c::MACHINE_POOL_NOT_FOUND, message)
            }
            None => {
                let message = format!(
                    "Waiting for Cluster API to make a MachinePool the owner of this object: one in the same namespace must refer to {} {}",
                    live.kind(),
                    live.name()
                );
                NewCondition::no(c::WAITING_FOR_OWNER_MACHINE_POOL, message)
            }
        }
    }

    /// Whether a node pool may be created or changed: the HCP cluster is ready, in the version that its control plane asks
    /// for.
    pub(super) fn gate(&self) -> Result<(), Typed> {
        let wait = |message: String| {
            let condition = NewCondition::no(c::WAITING_FOR_HCP_CLUSTER, message);
            Err((c::NODE_POOL_READY, condition))
        };
        let Some(plane) = self.plane else {
            return wait(c::no_control_plane(self.name));
        };
        if plane.holds(c::HCP_CLUSTER_READY) {
            return Ok(());
        }
        let reported = plane.condition(c::HCP_CLUSTER_READY);
        let reported = reported.filter(|condition| plane.is_current(*condition));
        let why = reported.map_or("", |condition| condition.message());
        wait(c::hcp_cluster_awaited(plane.name(), why))
    }

    /// The HCP cluster.
    pub(super) fn hcp_cluster(
        &self,
        world: World<'a>,
        live: Live<'_>,
        outcome: &mut Outcome,
    ) -> Option<Live<'a>> {
        let id = ObjectId::new(RED_HAT_OPENSHIFT, HCP, live.namespace(), self.hcp);
        outcome.need(id.clone());
        world.get(&id).present()
    }
}

/// The name of the HCP cluster that a control plane embeds.
fn hcp_name(plane: Live<'_>) -> Option<&str> {
    let mut items = plane.list(&["spec", "resources"]).iter().map(Live);
    let name = items.find(|item| item.kind() == HCP)?.name();
    (!name.is_empty()).then_some(name)
}
