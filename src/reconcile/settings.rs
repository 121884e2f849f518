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
    /// The identity of this process, for clusters that name none; `None` if it has none.
    pub identity: Option<ProcessIdentity>,
}

/// The identity of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Where clusters that name no identity use it.
    pub namespaces: Namespaces,
    /// Changes with all that it is made of, except the content of files. It is written to clusters, so nothing secret may
    /// follow from it.
    pub version: String,
    /// Whether a file belongs to it, which may change at any time.
    pub has_file: bool,
}
