//! How controllers work: what somebody may choose.

use std::time::Duration;

use crate::api::fleet::FirstApply;

/// How the ARO controllers work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long the HCP cluster is applied after its last role assignment.
    pub settle: Duration,
    /// How an Azure resource is applied for the first time.
    pub first_apply: FirstApply,
    /// Whether this process has an identity of its own, for clusters that name none.
    pub has_identity: bool,
}
