//! Settings that only a Fleet object can have.
//!
//! In: a Fleet document. Out: the reason why it cannot be used. It does not know the other settings.

use crate::api::fleet::{DeletionPolicy, Fleet};

/// The settings of a Fleet document that only a Fleet object can have: why they cannot stand there.
pub(super) fn object_settings(fleet: &Fleet) -> Option<&'static str> {
    let spec = &fleet.spec;
    if !spec.depends_on.is_empty() {
        return Some("spec.dependsOn is for Fleet objects, which one process follows: remove it");
    }
    let is_default = spec.deletion_policy == DeletionPolicy::default();
    (!is_default).then_some("spec.deletionPolicy is for Fleet objects, since nobody deletes a file in the cluster: remove it")
}
