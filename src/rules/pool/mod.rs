//! N: Azure's rules for node pools (facts/aro-rules.md §3.2).

mod labels;
mod network;
mod platform;
pub(super) mod size;
mod tags;
mod version;

use super::ResourceRule;
pub(super) use size::IN_A_CLUSTER;

/// The kind they apply to.
pub(super) const KIND: &str = "HcpOpenShiftClustersNodePool";

/// The rules of node pools, in order of id.
pub(super) const RULES: &[ResourceRule] = &[
    version::is_named_and_placed,
    version::is_a_whole_version,
    version::channel_is_offered,
    version::is_near_the_clusters,
    network::subnet_is_a_subnet,
    network::subnet_is_in_the_clusters_network,
    platform::machine_size_is_offered,
    platform::disk_size_in_range,
    platform::disk_is_of_a_known_kind,
    platform::nodes_on_ephemeral_disks_are_repaired,
    platform::encryption_set_is_one,
    size::replicas_in_range,
    size::size_is_fixed_or_scales,
    size::bounds_in_range,
    labels::labels_are_well_formed,
    labels::labels_are_allowed,
    labels::taints_are_well_formed,
    size::drain_timeout_in_range,
    tags::experimental_tags_are_known,
    platform::encryption_set_is_at_hand,
];
