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
    /// The place of the load balancers and of the Private Link Services.
    pub place: Place,
}

/// The place of the management side.
#[derive(Clone, Debug)]
pub enum Place {
    /// Nobody says where it is.
    Unknown,
    /// It is here.
    At(Management),
    /// It is where the subnet of each cluster is, with this AzureClusterIdentity: in a simulation, which has no management
    /// cluster of its own.
    BesideSubnet(ObjectId),
}

impl Place {
    /// The management side of a cluster with this subnet.
    pub(super) fn of(&self, subnet: &str) -> Option<Management> {
        let identity = match self {
            Self::Unknown => return None,
            Self::At(management) => return Some(management.clone()),
            Self::BesideSubnet(identity) => identity.clone(),
        };
        let mut parts = subnet.split('/');
        let (subscription, group) = (parts.nth(2)?, parts.nth(1)?);
        Some(Management {
            subscription: subscription.to_owned(),
            resource_group: group.to_owned(),
            network_resource_group: group.to_owned(),
            identity,
        })
    }
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
