//! K: the key vault of a cluster, and how the service reaches it (facts/aro-2026-09-01.md §3).
//!
//! In: the resources of a fleet. Out: findings. Azure checks none of it when it accepts a cluster. A vault that is not
//! in the fleet, or that the fleet only reads, is not checked.
//!
//! It does not know: whether a cluster has an integration subnet, and whether its key is complete (C43).

mod access;
mod kept;
mod key;
pub(super) mod private;

use super::FleetRule;

/// The rules of vaults, in order of id.
pub(super) const RULES: &[FleetRule] = &[
    private::private_vaults_have_an_endpoint,
    access::public_vaults_can_be_reached,
    access::vaults_accept_roles,
    key::has_the_name_that_controllers_use,
    private::private_vaults_are_reached_by_controllers,
    key::names_are_valid,
];
