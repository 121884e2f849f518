//! F: conflicts between parts of a fleet.

mod names;
pub(super) mod networks;
pub(super) mod regions;
mod versions;

use super::FleetRule;

/// The rules of whole fleets, in order of id.
pub(super) const RULES: &[FleetRule] = &[
    names::a_resource_is_one_object,
    names::domain_prefixes_are_apart,
    names::vault_names_are_apart,
    networks::peered_networks_are_apart,
    networks::clusters_in_reach_are_apart,
    regions::regions_are_known,
    versions::parts_have_the_clusters_version,
    regions::regions_have_the_service,
];
