//! What ASO may do to Azure, by the annotation of a resource.

use crate::api::labels::RECONCILE_POLICY;
use crate::health::Live;

/// What ASO may do to Azure for one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// Anything.
    Manage,
    /// Only look.
    Skip,
    /// Anything but delete.
    Detach,
}

/// The policy the resource asks for; a word ASO does not know counts as none.
pub(super) fn policy(live: Live<'_>) -> Policy {
    match live.annotation(RECONCILE_POLICY) {
        "skip" => Policy::Skip,
        "detach-on-delete" => Policy::Detach,
        _ => Policy::Manage,
    }
}
