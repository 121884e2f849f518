//! W: virtual networks and their subnets, made by a definition or written by hand (facts/aro-2026-09-01.md §3).
//!
//! In: the resources of a fleet. Out: findings. One wrong range gives one finding: what was reported is not
//! compared with anything else.
//!
//! It does not know: the networks inside of a cluster on their own (C13 to C15), and those of clusters that reach
//! each other (F04, F05).

mod clusters;
mod machines;
mod nodes;
mod range;
mod ranges;
mod service;

use super::FleetRule;

/// The rules of networks, in order of id.
pub(super) const RULES: &[FleetRule] = &[
    service::integration_subnet_is_dedicated,
    service::integration_subnet_is_delegated,
    service::integration_subnet_has_no_security_group,
    service::nodes_have_the_clusters_security_group,
    service::node_subnets_are_not_delegated,
    ranges::ranges_fit,
];
