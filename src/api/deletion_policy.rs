//! What happens to an object whose file goes away, where no annotation says it.
//!
//! In: the id of an object. Out: a value of the annotation. It does not know what removes objects.

use super::kinds::{CAPI, INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::model::ObjectId;

/// HyperShift's clusters.
pub const HYPERSHIFT: &str = "hypershift.openshift.io";

/// Returns `Orphan` for clusters and for what they live in and act as, and `Delete` for everything else (DESIGN §7).
#[must_use]
pub fn default_deletion_policy(id: &ObjectId) -> &'static str {
    match (id.group.as_str(), id.kind.as_str()) {
        ("", "Namespace")
        | (INFRASTRUCTURE, "AzureClusterIdentity")
        | (CAPI, "Cluster")
        | (RED_HAT_OPENSHIFT, "HcpOpenShiftCluster")
        | (HYPERSHIFT, "HostedCluster") => "Orphan",
        _ => "Delete",
    }
}
