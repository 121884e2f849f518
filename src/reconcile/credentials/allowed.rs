//! The namespaces that may use an identity.
//!
//! In: the identity, and the labels of the namespace if they are needed. Out: the condition that refuses. CAPZ does not check
//! this for ARO.

use std::collections::BTreeMap;

use super::chosen::no;
use crate::api::azure_cluster_identity::Allowed;
use crate::api::conditions as c;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::Typed;
use crate::reconcile::outcome::Outcome;
use crate::reconcile::resources::Ledger;
use crate::reconcile::world::World;

/// The reason and the message for an identity that nobody sees.
pub(in crate::reconcile) fn unseen(world: World<'_>, id: &ObjectId) -> (&'static str, String) {
    let ObjectId {
        namespace, name, ..
    } = id;
    if world.is_outside(id) {
        let message = format!(
            "the AzureClusterIdentity {namespace}/{name} is in a namespace that these controllers do not watch: add --watch-namespace {namespace}"
        );
        return (c::IDENTITY_NOT_WATCHED, message);
    }
    let message = format!(
        "failed to retrieve AzureClusterIdentity external object {namespace:?}/{name:?}: it does not exist"
    );
    (c::IDENTITY_NOT_FOUND, message)
}

/// Whether the namespace of the owner may use the identity.
pub(super) fn check(
    ledger: &Ledger<'_>,
    id: &ObjectId,
    outcome: &mut Outcome,
) -> Result<(), Typed> {
    outcome.need(id.clone());
    let Some(identity) = ledger.world.get(id).present() else {
        let (reason, message) = unseen(ledger.world, id);
        return no(reason, message);
    };
    if is_allowed(ledger.world, identity, ledger.owner.namespace(), outcome) {
        return Ok(());
    }
    no(
        c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY,
        c::NAMESPACE_NOT_ALLOWED,
    )
}

/// Returns true if the identity allows the namespace.
pub(in crate::reconcile) fn is_allowed(
    world: World<'_>,
    identity: Live<'_>,
    namespace: &str,
    outcome: &mut Outcome,
) -> bool {
    let allowed = Allowed::read(identity.0);
    let is_allowed = allowed.allows(namespace, None).or_else(|| {
        let id = ObjectId::new("", "Namespace", "", namespace);
        let found = world.get(&id).present();
        outcome.need(id);
        let labels = found?.at(&["metadata", "labels"]).cloned();
        let labels: BTreeMap<String, String> =
            serde_json::from_value(labels.unwrap_or_default()).unwrap_or_default();
        allowed.allows(namespace, Some(&labels))
    });
    is_allowed == Some(true)
}
