//! What happens to an object whose file goes away, where no annotation says it.
//!
//! In: the id of an object. Out: a value of the annotation. It does not know what removes objects.

use super::kinds::INFRASTRUCTURE;
use super::platform::is_root;
use crate::model::ObjectId;

/// Returns `Orphan` for clusters and for what they live in and act as, and `Delete` for everything else (DESIGN §7).
#[must_use]
pub fn default_deletion_policy(id: &ObjectId) -> &'static str {
    let carries = id.is("", "Namespace") || id.is(INFRASTRUCTURE, "AzureClusterIdentity");
    match carries || is_root(id) {
        true => "Orphan",
        false => "Delete",
    }
}
