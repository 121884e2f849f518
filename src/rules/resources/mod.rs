//! A: what Azure asks of every resource, whatever service it belongs to: names (A01) and tags (A02).
//!
//! In: the resources of a fleet. Out: findings. It does not know the names of clusters, node pools and external auths
//! (C02, N01, E01).

pub(super) mod names;
mod tags;

use super::FleetRule;

/// The rules of all resources, in order of id.
pub(super) const RULES: &[FleetRule] = &[names::are_valid, tags::are_valid];
