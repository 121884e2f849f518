//! The AROControlPlanes that use an identity.
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
use crate::reconcile::links;
use crate::reconcile::outcome::{Need, Outcome, apply, patch_of, without};
use crate::reconcile::parent::Parent;
use crate::reconcile::world::World;

/// How finalizers for users begin.
const PREFIX: &str = "arocontrolplane.controlplane.cluster.x-k8s.io/";

/// The users of an identity.
pub(super) struct Users<'a> {
    identity: Live<'a>,
    planes: Vec<Live<'a>>,
}

/// Whether a finalizer is for a user.
pub(super) fn is_ours(finalizer: &str) -> bool {
    finalizer.starts_with(PREFIX)
}

impl<'a> Users<'a> {
    /// The control planes that name the identity, and that it allows.
    pub(super) fn of(world: World<'a>, identity: Live<'a>, outcome: &mut Outcome) -> Self {
        let parent = Parent::users(identity.namespace(), identity.name());
        let planes: Vec<Live<'a>> = world.below(&parent).collect();
        outcome.needs.push(Need::Below(parent));
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
        let planes = planes.into_iter();
        let planes = planes.filter(|plane| is_allowed(plane.namespace()));
        Self {
            identity,
            planes: planes.collect(),
        }
    }

    /// A finalizer for each, in CAPZ's form (facts/aro-controllers.md §5).
    pub(super) fn finalizers(&self) -> BTreeSet<String> {
        let one = |plane: &Live<'_>| {
            let user = format!("{}-{}", plane.namespace(), plane.name());
            let digest = Sha224::digest(user.as_bytes());
            format!("{PREFIX}{}", hex(&digest))
        };
        self.planes.iter().map(one).collect()
    }

    /// The clouds in which it is used. A cloud that does not exist is the fault of its user alone.
    pub(super) fn environments(&self) -> BTreeSet<&'a str> {
        let environments = self.planes.iter();
        let environments = environments.map(|plane| plane.text(&["spec", "azureEnvironment"]));
        environments.filter(|one| is_known_cloud(one)).collect()
    }

    /// Whether it has users in its own namespace.
    pub(super) fn has_neighbours(&self) -> bool {
        self.neighbours().next().is_some()
    }

    fn neighbours(&self) -> impl Iterator<Item = Live<'a>> {
        let namespace = self.identity.namespace();
        let planes = self.planes.iter().copied();
        planes.filter(move |plane| plane.namespace() == namespace)
    }

    /// Lets `clusterctl move` carry the identity and its Secret with the users of its namespace.
    pub(super) fn carry(&self, world: World<'a>, identity: Live<'a>, outcome: &mut Outcome) {
        for plane in self.neighbours().filter(|plane| !plane.is_deleting()) {
            let mut patch = patch_of(plane);
            patch["metadata"]["ownerReferences"] = json!([links::owned_by(identity, false)]);
            outcome.maybe(apply(plane, patch));
        }
        // One that uses another identity now.
        let users: BTreeSet<&str> = self.planes.iter().map(|plane| plane.uid()).collect();
        let owned = world.owned(identity.uid());
        let left =
            owned.filter(|one| one.kind() == "AROControlPlane" && !users.contains(one.uid()));
        for plane in left {
            let owners = plane.list(&["metadata", "ownerReferences"]).iter();
            let owners = owners.filter(|owner| owner["uid"] != identity.uid());
            let kept = json!(owners.collect::<Vec<_>>());
            outcome.write(without(plane, "ownerReferences", kept));
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
