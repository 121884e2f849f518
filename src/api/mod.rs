//! The kinds that are read and written: ours and those of other systems, one file per kind.
//!
//! In: nodes. Out: typed values with findings, schemas and CRDs of our own kinds, and the names
//! (groups, kinds, labels, conditions) that the other modules share as constants.
//!
//! It does not know how values are merged, expanded, ordered or applied.

pub mod arm_properties;
pub mod arm_version;
pub mod aro_cluster;
pub mod aro_control_plane;
pub mod aro_machine_pool;
pub mod aso;
pub mod azure_cluster_identity;
pub mod azure_fields;
pub mod azure_private_link_service;
pub mod capi;
pub mod cluster_definition;
pub mod conditions;
pub mod crds;
pub mod deletion_policy;
mod document;
pub mod embedded;
pub mod fields;
pub mod fleet;
pub mod hyper_shift_fields;
pub mod kinds;
pub mod labels;
pub mod managers;
pub mod overlay;
pub mod period;
pub mod platform;
pub mod private_link_reasons;
mod resource_status;
pub mod structural;
pub mod suppliers;
pub mod timeline;
