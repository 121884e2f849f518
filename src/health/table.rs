//! The kinds with rules of their own.
//!
//! In: a group and a kind. Out: its clauses. Built once, and read here and by the exports.

use std::sync::LazyLock;

use super::rule::{Clause, Rules};
use super::{aro, aso, capi, hyper_shift};
use crate::api::kinds::{self, CAPI, CONTROL_PLANE, INFRASTRUCTURE, KINDS};
use crate::api::platform::HYPERSHIFT;

static TABLE: LazyLock<Vec<Rules>> = LazyLock::new(|| {
    let rules = |group, kind, clauses| Rules {
        group,
        kind,
        clauses,
    };
    vec![
        rules(CAPI, "Cluster", capi::cluster()),
        rules(CAPI, "MachinePool", capi::machine_pool()),
        rules(INFRASTRUCTURE, "AROCluster", aro::cluster()),
        rules(CONTROL_PLANE, "AROControlPlane", aro::control_plane()),
        rules(INFRASTRUCTURE, "AROMachinePool", aro::machine_pool()),
        rules(INFRASTRUCTURE, "AzureClusterIdentity", aro::identity()),
        rules(HYPERSHIFT, "HostedCluster", hyper_shift::hosted_cluster()),
        rules(HYPERSHIFT, "NodePool", hyper_shift::node_pool()),
    ]
});
static ASO: LazyLock<Vec<Clause>> = LazyLock::new(aso::clauses);

/// The clauses of a kind, if it has rules of its own.
pub(super) fn clauses(group: &str, kind: &str) -> Option<&'static [Clause]> {
    if kinds::is_aso(group) {
        return Some(&ASO);
    }
    let mut table = TABLE.iter();
    let found = table.find(|rules| (rules.group, rules.kind) == (group, kind));
    found.map(|rules| rules.clauses.as_slice())
}

/// The rules of every kind that Capstan knows by name, those of ASO last.
pub(super) fn all() -> Vec<Rules> {
    let of_aso = KINDS.iter().filter(|kind| kinds::is_aso(kind.group));
    let of_aso = of_aso.map(|kind| Rules {
        group: kind.group,
        kind: kind.kind,
        clauses: ASO.clone(),
    });
    TABLE.iter().cloned().chain(of_aso).collect()
}
