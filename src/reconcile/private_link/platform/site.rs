//! One look at the management side of a connection.

use jiff::Timestamp;

use super::super::link::Link;
use super::super::names::{self, OLD_VERSION};
use super::super::settings::Management;
use crate::api::kinds::NETWORK;
use crate::model::{AzureCaller, ObjectId};
use crate::reconcile::world::{GroupKind, World};

/// The Secret with the credential of the management side.
pub(super) const SECRET: &str = "capstan-private-link-aso-secret";
pub(super) const NO_MANAGEMENT: &str = "nobody says where the load balancers of the management cluster are: set spec.privateLink.management in the Fleet, or the flags --private-link-* of capstan controllers";

/// One look at one connection.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) world: World<'a>,
    pub(super) link: &'a Link<'a>,
    pub(super) management: &'a Management,
    /// The namespace of the resources.
    pub(super) namespace: &'a str,
    pub(super) now: Timestamp,
}

impl Site<'_> {
    /// Who asks Azure Resource Manager.
    pub(super) fn caller(&self) -> AzureCaller {
        AzureCaller {
            identity: self.management.identity.clone(),
            namespace: self.namespace.to_owned(),
            environment: self.link.environment().to_owned(),
        }
    }

    /// The version at which a kind is written.
    pub(super) fn version(&self, kind: &str) -> &str {
        let kind = GroupKind::new(NETWORK, kind);
        self.world.version(&kind).unwrap_or(OLD_VERSION)
    }
}

/// The object of the subnet that is made for a cluster.
pub(super) fn subnet_id(namespace: &str, cluster: &ObjectId) -> ObjectId {
    let name = format!("{}-pls-nat", names::short(cluster));
    names::aso("VirtualNetworksSubnet", namespace, &name)
}
