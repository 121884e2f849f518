//! The controllers of private clusters beside a daemon, and their flags.
//!
//! In: a fleet, and the cluster that it is applied to. Out: the controllers that the fleet asks for. It does not know what they
//! do.

mod flags;
mod management;
mod simulated;

pub(super) use self::flags::{LinkMode, PlaceArgs, PrivateLinkArgs};
use self::management::management_of;
pub(super) use self::simulated::{SimulatedPrivateLinks, is_private};
use super::cluster::Cluster;
use crate::adapters::kubernetes::{Group, Sharers};
use crate::api::fleet::{LinkSwitches, Mode};
use crate::daemon;
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
    let modes: Vec<(Group, Mode)> = modes
        .into_iter()
        .filter(|(_, mode)| LinkSwitches::runs(*mode, management.is_some()))
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
