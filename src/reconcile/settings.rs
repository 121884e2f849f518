//! How controllers work: what somebody may choose.

use std::time::Duration;

use crate::api::fleet::FirstApply;
use crate::model::Namespaces;

/// How the ARO controllers work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long the HCP cluster is applied after its last role assignment.
    pub settle: Duration,
    /// How an Azure resource is applied for the first time.
    pub first_apply: FirstApply,
    /// Where clusters that name no identity use that of this process; `None` if it has none.
    pub identity: Option<Namespaces>,
}
