//! N: what Azure's API asks of a node pool (facts/aro-rules.md §3.2).

mod version;

use super::ResourceRule;

/// What they are of.
pub(super) const KIND: &str = "HcpOpenShiftClustersNodePool";

/// The rules of node pools, in order of id.
pub(super) const RULES: &[ResourceRule] = &[
    version::is_named_and_placed,
    version::is_a_whole_version,
    version::channel_is_offered,
    version::is_near_the_clusters,
];
