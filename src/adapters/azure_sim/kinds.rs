//! The kinds that the simulated systems watch.

use crate::api::kinds::{KINDS, PRIVATE_LINK};
use crate::reconcile::world::GroupKind;

/// Every kind that one of them looks at.
pub(super) fn all() -> Vec<GroupKind> {
    let core = ["ConfigMap", "Secret"].map(|kind| GroupKind::new("", kind));
    let custom = KINDS
        .iter()
        .chain(PRIVATE_LINK)
        .map(|known| GroupKind::new(known.group, known.kind));
    core.into_iter().chain(custom).collect()
}
