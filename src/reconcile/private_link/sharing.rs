//! The DNS zones that several clusters share.
//!
//! In: the connections that need a zone of one name in one resource group. Out: whether Azure Service Operator may delete
//! the zone in Azure together with its object, whether a cluster that goes is the last one, and which of two clusters may
//! have a name that both want. The objects of a zone are one per namespace, because a namespace may be deleted with all
//! that is in it. It does not know what is written.

use super::credential::named;
use super::found_by::{cluster, zone_key};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::{Need, Outcome};
use crate::reconcile::world::{Parent, World};

use super::names::{ENDPOINT_FINALIZER, HYPERSHIFT_ENDPOINT_FINALIZER, is_held_by};

/// The connections that need a zone, as far as they concern one of them.
pub(super) struct Sharing<'a> {
    /// The hosted cluster of this one.
    own: ObjectId,
    /// The name of the control plane, in the names of the cluster.
    name: String,
    live: Live<'a>,
    others: Vec<(ObjectId, Live<'a>)>,
}

impl<'a> Sharing<'a> {
    /// The connections that need the zone `zone`, which `live` does.
    pub(super) fn of(
        world: World<'a>,
        live: Live<'a>,
        own: &ObjectId,
        zone: &str,
        outcome: &mut Outcome,
    ) -> Self {
        let parent = Parent::zone(live, &zone_key(live, zone));
        let others = world
            .below(&parent)
            .filter(|other| other.uid() != live.uid());
        let others = others.filter_map(|other| Some((cluster(other).ok()?, other)));
        let others = others.collect();
        outcome.needs.push(Need::Below(parent));
        Self {
            own: own.clone(),
            name: own.name.clone(),
            live,
            others,
        }
    }

    /// Another cluster that has the same names in the zone: one whose status has the ID of the zone in `field`, or else the
    /// older one. One that holds nothing has no names, however old it is.
    pub(super) fn taken_by(&self, field: &str) -> Option<&ObjectId> {
        let own = rank(self.live, &self.own, field);
        let mut same = self
            .others
            .iter()
            .filter(|(id, other)| id.name == self.name && is_held(*other));
        same.find(|(id, other)| rank(*other, id, field) < own)
            .map(|(id, _)| id)
    }

    /// Another cluster of another namespace that needs the zone, or goes after this one.
    pub(super) fn is_needed_elsewhere(&self) -> bool {
        self.needing().any(|id| id.namespace != self.own.namespace)
    }

    /// Another cluster of the same namespace that needs the objects of the zone, or goes after this one.
    pub(super) fn is_needed_here(&self) -> bool {
        self.needing().any(|id| id.namespace == self.own.namespace)
    }

    /// Returns true if another cluster of the namespace, which stays, names this Secret.
    pub(super) fn is_used_here(
        &self,
        world: World<'_>,
        secret: &str,
        outcome: &mut Outcome,
    ) -> bool {
        let here = self.needing();
        let here: Vec<&ObjectId> = here
            .filter(|id| id.namespace == self.own.namespace)
            .collect();
        let names_it = |id: &&ObjectId| {
            let hosted = world.get(id).present();
            hosted.is_some_and(|hosted| named(hosted, id) == secret)
        };
        let is_used = here.iter().copied().any(|id| names_it(&id));
        here.into_iter().for_each(|id| outcome.need(id.clone()));
        is_used
    }

    /// The others with the same network.
    pub(super) fn of_network(self) -> Self {
        let network = |live: Live<'a>| live.text(&["spec", "guestVNetID"]);
        let own = network(self.live);
        let mut others = self.others;
        others.retain(|(_, other)| network(*other).eq_ignore_ascii_case(own));
        Self { others, ..self }
    }

    /// The namespaces of the others.
    pub(super) fn namespaces(&self) -> impl Iterator<Item = &str> {
        let other = |id: &&ObjectId| id.namespace != self.own.namespace;
        self.others
            .iter()
            .map(|(id, _)| id)
            .filter(other)
            .map(|id| id.namespace.as_str())
    }

    /// The others that have names in the zone and stay; of those that go as well, the ones that come later. So exactly one
    /// is the last, however many go at once. One that has made nothing yet waits for the others.
    fn needing(&self) -> impl Iterator<Item = &ObjectId> {
        let goes = self.live.is_deleting();
        let needs = move |(id, other): &&(ObjectId, Live<'a>)| {
            is_held(*other) && (!other.is_deleting() || goes && *id > self.own)
        };
        self.others.iter().filter(needs).map(|(id, _)| id)
    }
}

/// The order of those that want the same names: the first one has them.
fn rank<'a>(live: Live<'a>, id: &'a ObjectId, field: &str) -> (bool, &'a str, &'a ObjectId) {
    let has_none = live.text(&["status", field]).is_empty();
    let made = live.text(&["metadata", "creationTimestamp"]);
    (has_none, made, id)
}

/// Returns true if the customer's side of a connection is there, whoever made it.
fn is_held(live: Live<'_>) -> bool {
    [ENDPOINT_FINALIZER, HYPERSHIFT_ENDPOINT_FINALIZER]
        .iter()
        .any(|finalizer| is_held_by(live, finalizer))
}
