//! The AROControlPlanes and AROClusters that use an identity.
//!
//! In: an identity. Out: a finalizer for each user, their clouds, and the writes that let `clusterctl move` carry the identity
//! and its Secret with them. Only users that the identity allows count: no other namespace may keep it alive.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use sha2::{Digest as _, Sha224};

use crate::api::aro_control_plane::is_known_cloud;
use crate::api::azure_cluster_identity::{Allowed, AzureClusterIdentitySpec};
use crate::api::labels::MOVE;
use crate::health::Live;
use crate::model::{ObjectId, hex};
use crate::reconcile::credentials::identity;
use crate::reconcile::links;
use crate::reconcile::outcome::{Need, Outcome, apply, patch_of, without};
use crate::reconcile::parent::Parent;
use crate::reconcile::world::World;

/// How finalizers for users begin.
const PREFIX: &str = "arocontrolplane.controlplane.cluster.x-k8s.io/";
/// The same of AROClusters, which CAPZ does not look at.
const PREFIX_OF_CLUSTERS: &str = "arocluster.infrastructure.cluster.x-k8s.io/";

/// The users of an identity.
pub(super) struct Users<'a> {
    identity: Live<'a>,
    /// The users with their clouds.
    users: Vec<(Live<'a>, &'a str)>,
}

/// Whether a finalizer is for a user.
pub(super) fn is_ours(finalizer: &str) -> bool {
    [PREFIX, PREFIX_OF_CLUSTERS]
        .iter()
        .any(|prefix| finalizer.starts_with(prefix))
}

/// The cloud in which an object uses the identity that it names; `None` for an AROCluster whose control plane names one,
/// which goes before.
fn cloud<'a>(world: World<'a>, user: Live<'a>, outcome: &mut Outcome) -> Option<&'a str> {
    if user.kind() == "AROControlPlane" {
        return Some(user.text(&["spec", "azureEnvironment"]));
    }
    let mut find = |id: ObjectId| {
        let found = world.get(&id).present();
        outcome.need(id);
        found
    };
    let cluster = links::owner(user, "Cluster").and_then(&mut find);
    let plane = cluster.and_then(links::control_plane).and_then(&mut find);
    match plane {
        Some(plane) if identity(plane).is_some() => None,
        Some(plane) => Some(plane.text(&["spec", "azureEnvironment"])),
        None => Some(""),
    }
}

impl<'a> Users<'a> {
    /// Those that name the identity, and that it allows.
    pub(super) fn of(world: World<'a>, identity: Live<'a>, outcome: &mut Outcome) -> Self {
        let parents = Parent::users(identity.namespace(), identity.name());
        let named: Vec<Live<'a>> = parents.iter().flat_map(|one| world.below(one)).collect();
        outcome.needs.extend(parents.map(Need::Below));
        let mut users = Vec::new();
        for user in named {
            users.extend(cloud(world, user, outcome).map(|cloud| (user, cloud)));
        }
        let allowed = Allowed::read(identity.0);
        let mut is_allowed = |namespace: &str| {
            let mut labels = || {
                let id = ObjectId::new("", "Namespace", "", namespace);
                let found = world.get(&id).present();
                outcome.need(id);
                let labels = found?.at(&["metadata", "labels"])?.clone();
                serde_json::from_value::<BTreeMap<String, String>>(labels).ok()
            };
            allowed
                .allows(namespace, None)
                .or_else(|| allowed.allows(namespace, Some(&labels().unwrap_or_default())))
                == Some(true)
        };
        users.retain(|(user, _)| is_allowed(user.namespace()));
        Self { identity, users }
    }

    /// A finalizer for each, in CAPZ's form (facts/aro-controllers.md §5).
    pub(super) fn finalizers(&self) -> BTreeSet<String> {
        let one = |(user, _): &(Live<'_>, &str)| {
            let name = format!("{}-{}", user.namespace(), user.name());
            let digest = Sha224::digest(name.as_bytes());
            let prefix = match user.kind() {
                "AROCluster" => PREFIX_OF_CLUSTERS,
                _ => PREFIX,
            };
            format!("{prefix}{}", hex(&digest))
        };
        self.users.iter().map(one).collect()
    }

    /// The clouds in which it is used. A cloud that does not exist is the fault of its user alone.
    pub(super) fn environments(&self) -> BTreeSet<&'a str> {
        let clouds = self.users.iter().map(|(_, cloud)| *cloud);
        clouds.filter(|one| is_known_cloud(one)).collect()
    }

    /// Whether it has users in its own namespace.
    pub(super) fn has_neighbours(&self) -> bool {
        self.neighbours().next().is_some()
    }

    fn neighbours(&self) -> impl Iterator<Item = Live<'a>> {
        let namespace = self.identity.namespace();
        let users = self.users.iter().map(|(user, _)| *user);
        users.filter(move |user| user.namespace() == namespace)
    }

    /// Lets `clusterctl move` carry the identity and its Secret with the users of its namespace.
    pub(super) fn carry(&self, world: World<'a>, identity: Live<'a>, outcome: &mut Outcome) {
        for user in self.neighbours().filter(|user| !user.is_deleting()) {
            let mut patch = patch_of(user);
            patch["metadata"]["ownerReferences"] = json!([links::owned_by(identity, false)]);
            outcome.maybe(apply(user, patch));
        }
        // One that uses another identity now.
        let users: BTreeSet<&str> = self.users.iter().map(|(user, _)| user.uid()).collect();
        let owned = world.owned(identity.uid());
        let is_kind = |one: &Live<'_>| ["AROControlPlane", "AROCluster"].contains(&one.kind());
        let left = owned.filter(|one| is_kind(one) && !users.contains(one.uid()));
        for user in left {
            let owners = user.list(&["metadata", "ownerReferences"]).iter();
            let owners = owners.filter(|owner| owner["uid"] != identity.uid());
            let kept = json!(owners.collect::<Vec<_>>());
            outcome.write(without(user, "ownerReferences", kept));
        }
        let spec = AzureClusterIdentitySpec::from_json(identity.0).ok();
        let secret = spec.and_then(|spec| spec.secret(identity.namespace()));
        let Some(id) = secret.filter(|id| id.namespace == identity.namespace()) else {
            return;
        };
        let live = world.get(&id).present().filter(|live| !live.is_deleting());
        if let Some(live) = live.filter(|_| self.has_neighbours()) {
            let mut patch = patch_of(live);
            patch["metadata"]["labels"] = json!({MOVE: "true"});
            outcome.maybe(apply(live, patch));
        }
    }
}
