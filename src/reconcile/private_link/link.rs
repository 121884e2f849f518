//! The connection of one hosted cluster, as the object in the namespace of its control plane describes it.
//!
//! In: an AzurePrivateLinkService. Out: the hosted cluster that it belongs to, and its fields. Who writes such an object in
//! any other namespace than that of the control plane gets nothing. It does not know what is made for it.

use jiff::Timestamp;

use super::found_by::{cluster, zones};
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
