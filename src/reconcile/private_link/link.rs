//! The connection of one hosted cluster, as the object in the namespace of its control plane describes it.
//!
//! In: an AzurePrivateLinkService. Out: the hosted cluster that it belongs to, and its fields. Who writes such an object in
//! any other namespace than that of the control plane gets nothing. It does not know what is made for it.

use jiff::Timestamp;

use super::names::{CLUSTER, ROUTER, internal_zone, is_internal};
use crate::api::platform::{HYPERSHIFT, control_plane_namespace};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::Outcome;
use crate::reconcile::world::World;

/// The connection of one hosted cluster.
#[derive(Clone)]
pub(super) struct Link<'a> {
    /// The AzurePrivateLinkService.
    pub(super) live: Live<'a>,
    /// The HostedCluster.
    pub(super) cluster: ObjectId,
    /// The same, if it exists.
    pub(super) hosted: Option<Live<'a>>,
}

impl<'a> Link<'a> {
    /// The connection that `live` describes.
    ///
    /// # Errors
    /// When it does not name the hosted cluster of its namespace. The text is for people.
    pub(super) fn of(
        world: World<'a>,
        live: Live<'a>,
        outcome: &mut Outcome,
    ) -> Result<Self, String> {
        let cluster = cluster(live)?;
        let hosted = world.get(&cluster).present();
        outcome.need(cluster.clone());
        Ok(Self {
            live,
            cluster,
            hosted,
        })
    }

    /// A text of the spec.
    pub(super) fn text(&self, field: &str) -> &'a str {
        self.live.text(&["spec", field])
    }

    /// The texts of a list in the spec.
    pub(super) fn texts(&self, field: &str) -> Vec<&'a str> {
        let list = self.live.list(&["spec", field]).iter();
        list.filter_map(|one| one.as_str()).collect()
    }

    /// The ID of the cluster, which HyperShift gives it; empty before.
    pub(super) fn cluster_id(&self) -> &'a str {
        let hosted = self.hosted;
        hosted.map_or("", |hosted| hosted.text(&["spec", "clusterID"]))
    }

    /// The cloud of the cluster.
    pub(super) fn environment(&self) -> &'a str {
        let path = ["spec", "platform", "azure", "cloud"];
        self.hosted.map_or("", |hosted| hosted.text(&path))
    }

    /// `NAMESPACE/NAME` of the hosted cluster.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.cluster.namespace, self.cluster.name)
    }

    /// The resource group of the cluster.
    pub(super) fn resource_group(&self) -> String {
        let [subscription, group] = ["subscriptionID", "resourceGroupName"].map(|f| self.text(f));
        format!("/subscriptions/{subscription}/resourceGroups/{group}")
    }

    /// The names of the DNS zones that it needs: of its internal names, and of its external ones.
    pub(super) fn zones(&self) -> Vec<String> {
        zones(self.live)
    }
}

/// The hosted cluster whose control plane is in the namespace of `live`.
///
/// # Errors
/// When its annotation names no such cluster, or the object is not the one of the router.
pub(super) fn cluster(live: Live<'_>) -> Result<ObjectId, String> {
    if live.name() != ROUTER {
        return Err(format!(
            "a cluster is connected by the object {ROUTER} in the namespace of its control plane, and by no other"
        ));
    }
    let named = live.annotation(CLUSTER);
    let parts = named
        .split_once('/')
        .filter(|(namespace, name)| ![*namespace, *name].contains(&"") && !name.contains('/'));
    let Some((namespace, name)) = parts else {
        return Err(format!(
            "the annotation {CLUSTER} must be NAMESPACE/NAME of a HostedCluster, and is '{named}'"
        ));
    };
    let home = control_plane_namespace(namespace, name);
    if home != live.namespace() {
        return Err(format!(
            "the annotation {CLUSTER} names the HostedCluster {named}, whose control plane is in the namespace {home}"
        ));
    }
    Ok(ObjectId::new(HYPERSHIFT, "HostedCluster", namespace, name))
}

/// The domain of the external names of a connection, lower-cased: as it is in DNS. Empty if there is none.
pub(super) fn external_domain(live: Live<'_>) -> String {
    live.text(&["spec", "baseDomain"]).to_ascii_lowercase()
}

/// The names of the DNS zones that a connection needs. The zones of internal names are their clusters' alone.
pub(super) fn zones(live: Live<'_>) -> Vec<String> {
    let Ok(cluster) = cluster(live) else {
        return Vec::new();
    };
    let external =
        Some(external_domain(live)).filter(|domain| !domain.is_empty() && !is_internal(domain));
    let internal = internal_zone(&cluster.name);
    std::iter::once(internal).chain(external).collect()
}

/// When the pause of a hosted cluster, or of its control plane, ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// There is none.
    No,
    /// At this time.
    Until(Timestamp),
    /// When somebody ends it.
    Open,
}

/// What HyperShift reads as true.
const TRUE: [&str; 6] = ["1", "t", "T", "true", "TRUE", "True"];

/// The pause of an object of HyperShift.
pub(super) fn pause(live: Option<Live<'_>>, now: Timestamp) -> Pause {
    let until = live.map_or("", |live| live.text(&["spec", "pausedUntil"]));
    match until.parse::<Timestamp>() {
        Ok(time) if time > now => Pause::Until(time),
        _ if TRUE.contains(&until) => Pause::Open,
        _ => Pause::No,
    }
}

/// Whether an object is paused. Looks again when that ends.
pub(super) fn is_paused(live: Option<Live<'_>>, now: Timestamp, outcome: &mut Outcome) -> bool {
    match pause(live, now) {
        Pause::No => false,
        Pause::Open => true,
        Pause::Until(time) => {
            outcome.wake_at(time);
            true
        }
    }
}
