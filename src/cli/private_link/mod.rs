//! The controllers of private clusters beside a daemon, and their flags.
//!
//! In: a fleet, and the cluster that it is applied to. Out: the controllers that the fleet asks for. It does not know what they
//! do.

mod flags;

pub(super) use self::flags::{LinkMode, PlaceArgs, PrivateLinkArgs};
use super::cluster::Cluster;
use crate::adapters::kubernetes::{Group, Sharers};
use crate::api::fleet::{self, Mode};
use crate::api::kinds::INFRASTRUCTURE;
use crate::daemon;
use crate::model::ObjectId;
use crate::reconcile::private_link::Management;
use crate::settings::{Environment, SyncConfig};

/// The controllers of private clusters, if the Fleet says where the management side is, or turns one of them on.
pub(super) fn start(
    config: &SyncConfig,
    cluster: &Cluster,
    environment: &Environment,
) -> Vec<Sharers> {
    let (Cluster::Real(target), false) = (cluster, config.is_check_only()) else {
        return Vec::new();
    };
    let management = config.policy.management.as_ref();
    let settings = config.controllers;
    let modes = [
        (Group::PrivateLinkObserver, settings.private_link_observer),
        (Group::PrivateLinkPlatform, settings.private_link_platform),
        (Group::PrivateLinkEndpoint, settings.private_link_endpoint),
    ];
    let is_wanted = |mode| mode == Mode::On || management.is_some();
    let modes: Vec<(Group, Mode)> = modes
        .into_iter()
        .filter(|(_, mode)| is_wanted(*mode))
        .collect();
    let management = management.map(|management| management_of(management, &config.namespace));
    daemon::private_links(
        target,
        &modes,
        management.as_ref(),
        &config.fleet,
        environment,
    )
}

/// The management side as a Fleet of this namespace describes it.
fn management_of(of: &fleet::Management, namespace: &str) -> Management {
    let identity = &of.identity_ref;
    let namespace = identity.namespace.as_deref().unwrap_or(namespace);
    Management {
        subscription: of.subscription_id.clone(),
        resource_group: of.resource_group.clone(),
        network_resource_group: of.network_resource_group().to_owned(),
        identity: ObjectId::new(
            INFRASTRUCTURE,
            "AzureClusterIdentity",
            namespace,
            identity.name.as_str(),
        ),
    }
}
