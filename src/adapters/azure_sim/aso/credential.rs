//! The credential that ASO uses for a resource: the Secret that the resource names.
//!
//! In: a resource of Azure's network, and Azure. Out: that the Secret is missing, or that its credential does not reach the
//! resource. Nobody reads what is in the Secret.

use super::super::aro::Refusal;
use super::super::azure::Azure;
use super::super::network;
use crate::api::aso;
use crate::api::labels::CREDENTIAL_FROM;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::Outcome;
use crate::reconcile::world::World;

/// That the Secret does not exist: a reason and a message.
pub(super) fn missing(
    world: World<'_>,
    live: Live<'_>,
    outcome: &mut Outcome,
) -> Option<(&'static str, String)> {
    let name = live.annotation(CREDENTIAL_FROM);
    if name.is_empty() || !network::is_known(live) {
        return None;
    }
    let id = ObjectId::new("", "Secret", live.namespace(), name);
    let is_missing = world.get(&id).present().is_none();
    outcome.need(id);
    is_missing.then(|| {
        let message = format!("{}/{name} does not exist", live.namespace());
        (aso::SECRET_NOT_FOUND, message)
    })
}

/// The refusal of a credential that does not reach a resource.
pub(super) fn denied(azure: &Azure, live: Live<'_>, id: &str) -> Option<Refusal> {
    let secret = format!("{}/{}", live.namespace(), live.annotation(CREDENTIAL_FROM));
    (!azure.reaches(&secret, id)).then(|| Refusal {
        code: "AuthorizationFailed",
        message: format!(
            "The client does not have authorization to perform action over scope '{id}'"
        ),
    })
}
