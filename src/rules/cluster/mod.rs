//! C: what Azure's API asks of an ARO HCP cluster (facts/aro-rules.md §3.1).

pub(super) mod network;
