//! How the controllers of private connections work: what somebody may choose.

use crate::api::fleet::Mode;
use crate::model::ObjectId;

/// How the platform controller works.
#[derive(Clone, Debug)]
pub struct PlatformSettings {
    /// Whether it acts beside HyperShift's controllers. `Off` is as `Auto`: who wants none starts none.
    pub mode: Mode,
    /// The namespace of the Private Link Services and of their credential.
    pub namespace: String,
    /// Where the load balancers are; `None` if nobody says so.
    pub management: Option<Management>,
}

/// The management cluster in Azure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Management {
    /// The ID of its subscription.
    pub subscription: String,
    /// The resource group of its load balancers, and of the Private Link Services.
    pub resource_group: String,
    /// The resource group of its virtual network.
    pub network_resource_group: String,
    /// The AzureClusterIdentity of the management side.
    pub identity: ObjectId,
}
