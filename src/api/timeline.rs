//! How long each kind typically takes, as observed in Azure, or as estimated.
//!
//! In: a kind, or an object's id. Out: durations, the same for the same id: for the critical path, for the
//! time left of a rollout, and for the simulated Azure. It does not know what an object waits for before
//! it may start.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::api::kinds::{
    AUTHORIZATION, KEYVAULT, MANAGED_IDENTITY, NETWORK, RED_HAT_OPENSHIFT, RESOURCES,
};
use crate::api::platform::HYPERSHIFT;
use crate::model::ObjectId;

/// How long to wait between the last role assignment and the HCP cluster, so that the assignments
/// have propagated in Azure (DESIGN §6).
pub const SETTLE: Duration = Duration::from_secs(120);

/// Durations of the operations on one kind, in seconds.
struct Typical {
    group: &'static str,
    kind: &'static str,
    /// Shortest and longest time from "may start" to Ready.
    create: (u64, u64),
    /// A change of the spec.
    update: u64,
    /// A deletion.
    delete: u64,
}

const fn typical(
    group: &'static str,
    kind: &'static str,
    create: (u64, u64),
    update: u64,
    delete: u64,
) -> Typical {
    Typical {
        group,
        kind,
        create,
        update,
        delete,
    }
}

/// "May start" is: the owner, references and inputs are ready. Observed from the apply: resource
/// group 6 s, security group 12 s, vault 16 s, network 22 s, subnet 35 s, identities 47–58 s, role
/// assignments 59–105 s, HCP cluster from its PUT at 112 s to 643 s, node pool from 653 s to 1133 s.
const TYPICAL: &[Typical] = &[
    typical(RESOURCES, "ResourceGroup", (6, 6), 3, 45),
    typical(NETWORK, "NetworkSecurityGroup", (6, 6), 4, 10),
    typical(NETWORK, "VirtualNetwork", (16, 16), 5, 10),
    typical(NETWORK, "VirtualNetworksSubnet", (13, 13), 5, 10),
    typical(KEYVAULT, "Vault", (10, 10), 5, 10),
    typical(MANAGED_IDENTITY, "UserAssignedIdentity", (41, 52), 5, 8),
    typical(AUTHORIZATION, "RoleAssignment", (12, 46), 10, 5),
    typical(
        RED_HAT_OPENSHIFT,
        "HcpOpenShiftCluster",
        (531, 531),
        180,
        600,
    ),
    typical(
        RED_HAT_OPENSHIFT,
        "HcpOpenShiftClustersNodePool",
        (480, 480),
        240,
        240,
    ),
    typical(
        RED_HAT_OPENSHIFT,
        "HcpOpenShiftClustersExternalAuth",
        (120, 120),
        30,
        30,
    ),
];

/// Durations of HyperShift's kinds: estimates, since none was measured. A control plane with its operators takes 10 to 20 minutes, and so does
/// a node from its virtual machine on.
const ESTIMATED: &[Typical] = &[
    typical(HYPERSHIFT, "HostedCluster", (900, 900), 600, 420),
    typical(HYPERSHIFT, "NodePool", (600, 600), 420, 180),
];

/// Durations of Azure resources that were not measured.
const UNMEASURED: Typical = typical("", "", (20, 20), 10, 15);

fn find(group: &str, kind: &str) -> Option<&'static Typical> {
    let same = |known: &&Typical| known.group == group && known.kind == kind;
    let unmeasured = super::kinds::is_aso(group).then_some(&UNMEASURED);
    let mut known = TYPICAL.iter().chain(ESTIMATED);
    known.find(same).or(unmeasured)
}

/// The longest a kind typically takes from "may start" to Ready. Zero for kinds outside Azure, which are
/// ready as soon as their dependencies are.
#[must_use]
pub fn longest(group: &str, kind: &str) -> Duration {
    seconds(find(group, kind).map(|known| known.create.1))
}

/// How long this object takes from "may start" to Ready: between the minimum and the maximum of its kind,
/// depending on its name.
#[must_use]
pub fn creation(id: &ObjectId) -> Duration {
    seconds(find(&id.group, &id.kind).map(|known| spread(known.create, &id.name)))
}

/// How long a change of this object's spec takes.
#[must_use]
pub fn update(id: &ObjectId) -> Duration {
    seconds(find(&id.group, &id.kind).map(|known| known.update))
}

/// How long this object's deletion takes.
#[must_use]
pub fn deletion(id: &ObjectId) -> Duration {
    seconds(find(&id.group, &id.kind).map(|known| known.delete))
}

fn seconds(value: Option<u64>) -> Duration {
    Duration::from_secs(value.unwrap_or(0))
}

/// The creations of one kind differ by a multiple of this, in seconds. Those that end together are one step for whoever
/// waits for them: each step of a cluster writes the status of its 48 resources.
const STEP: u64 = 5;

/// A number in the inclusive range, the same for the same name.
fn spread((shortest, longest): (u64, u64), name: &str) -> u64 {
    let digest = Sha256::digest(name.as_bytes());
    let number = u64::from(digest[0]) << 8 | u64::from(digest[1]);
    let steps = (longest - shortest) / STEP;
    shortest + STEP * (number % (steps + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(group: &str, kind: &str, name: &str) -> u64 {
        creation(&ObjectId::new(group, kind, "ns", name)).as_secs()
    }

    #[test]
    fn a_whole_cluster_takes_19_to_25_minutes() {
        let total = [
            longest(RESOURCES, "ResourceGroup"),
            longest(MANAGED_IDENTITY, "UserAssignedIdentity"),
            longest(AUTHORIZATION, "RoleAssignment"),
            SETTLE,
            longest(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster"),
            longest(RED_HAT_OPENSHIFT, "HcpOpenShiftClustersNodePool"),
            longest(RED_HAT_OPENSHIFT, "HcpOpenShiftClustersExternalAuth"),
        ];
        let minutes = total.iter().sum::<Duration>().as_secs_f64() / 60.0;
        assert!((19.0..=25.0).contains(&minutes), "{minutes}");
    }

    #[test]
    fn identities_are_spread_by_name_within_what_was_observed() {
        let one = |name: &str| secs(MANAGED_IDENTITY, "UserAssignedIdentity", name);
        let all: Vec<u64> = (0..40).map(|n| one(&format!("identity-{n}"))).collect();
        assert!(all.iter().all(|s| (41..=52).contains(s)), "{all:?}");
        assert!(
            all.iter().any(|s| *s != all[0]),
            "names make no difference: {all:?}"
        );
        assert_eq!(one("kms"), one("kms"));
    }

    #[test]
    fn kinds_outside_azure_take_no_time_of_their_own() {
        assert_eq!(longest("cluster.x-k8s.io", "Cluster"), Duration::ZERO);
        assert!(longest(NETWORK, "NatGateway") > Duration::ZERO);
    }

    #[test]
    fn a_change_is_shorter_than_a_creation() {
        for known in TYPICAL.iter().chain(ESTIMATED) {
            assert!(known.update < known.create.0, "{}", known.kind);
        }
    }
}
