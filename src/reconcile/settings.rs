//! How controllers work: what somebody may choose.

use std::time::Duration;

use crate::api::fleet::FirstApply;

/// How the ARO controllers work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// How long the HCP cluster is applied after its last role assignment.
    pub(crate) settle: Duration,
    /// How an Azure resource is applied for the first time.
    pub(crate) first_apply: FirstApply,
}
