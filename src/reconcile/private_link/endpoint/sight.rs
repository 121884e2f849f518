//! One look at the customer's side of a connection.

use jiff::Timestamp;

use super::super::link::Link;
use super::super::names::{OLD_DNS_VERSION, OLD_VERSION};
use crate::api::kinds::NETWORK;
use crate::reconcile::world::{GroupKind, World};

/// One look at one connection.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    pub(super) world: World<'a>,
    pub(super) link: &'a Link<'a>,
    pub(super) now: Timestamp,
    /// The Secret that the resources name; empty for the operator's own.
    pub(super) credential: &'a str,
}

impl Sight<'_> {
    /// The version at which a kind is written.
    pub(super) fn version(&self, kind: &str) -> &str {
        let kind = GroupKind::new(NETWORK, kind);
        let version = self.world.version(&kind);
        version.unwrap_or(if kind.kind.starts_with("PrivateDns") {
            OLD_DNS_VERSION
        } else {
            OLD_VERSION
        })
    }

    /// The namespace of the resources.
    pub(super) fn namespace(&self) -> &str {
        &self.link.cluster.namespace
    }
}
