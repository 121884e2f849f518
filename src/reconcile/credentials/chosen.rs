//! What a cluster uses as its credential, and why it may not.

use super::check::State;
use crate::api::aro_control_plane::identity_namespace;
use crate::api::conditions as c;
use crate::api::kinds::INFRASTRUCTURE;
use crate::health::Live;
use crate::model::{CredentialOf, ObjectId};
use crate::reconcile::conditions::{NewCondition, Typed};

/// What a cluster uses, as far as it may.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) of: CredentialOf,
    /// The identity and its Secret as they are.
    pub(super) state: State,
}

/// Why nothing may be applied.
pub(super) fn no<T>(reason: &str, message: impl Into<String>) -> Result<T, Typed> {
    Err((c::IDENTITY_READY, NewCondition::no(reason, message)))
}

/// The name of the Secret with the credential of a cluster.
pub(in crate::reconcile) fn secret_name(cluster: &str) -> String {
    format!("{cluster}-aso-secret")
}

/// The identity that a control plane or an AROCluster names.
pub(in crate::reconcile) fn identity(part: Live<'_>) -> Option<ObjectId> {
    let reference = Live(part.at(&["spec", "identityRef"])?);
    let name = reference.text(&["name"]);
    let namespace = Some(reference.text(&["namespace"]));
    let namespace = identity_namespace(namespace, part.namespace());
    let id = || ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", namespace, name);
    (!name.is_empty()).then(id)
}
