//! The conditions that HyperShift reports of what fails.
//!
//! In: a kind and the reason that it should fail with. Out: the condition that has this reason, so that readiness judges it
//! as a failure. It does not know when.

use super::super::failure::Failure;
use crate::api::platform::HYPERSHIFT;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::{NewCondition, Typed};

/// A reason, and the condition that has it.
type Row = (&'static str, &'static str);

const OF_CLUSTERS: &[Row] = &[
    ("Blocked", "Progressing"),
    ("InvalidImage", "ValidReleaseImage"),
    ("SecretNotFound", "ValidReleaseImage"),
    ("MissingReleaseImages", "ValidReleaseInfo"),
    ("InvalidConfiguration", "ValidConfiguration"),
    ("UnsupportedHostedCluster", "SupportedHostedCluster"),
    ("PlatformCredentialsNotFound", "PlatformCredentialsFound"),
];
const OF_POOLS: &[Row] = &[
    ("ValidationFailed", "ValidReleaseImage"),
    ("InvalidImage", "ValidReleaseImage"),
    ("NotFound", "ValidPlatformImage"),
    ("UnsupportedSkew", "SupportedVersionSkew"),
    ("InvalidKubevirtMachineTemplate", "ValidMachineTemplate"),
    ("InvalidOpenStackMachineTemplate", "ValidMachineTemplate"),
    ("InvalidArchPlatform", "ValidPlatformConfig"),
];

/// Returns true for an object that can be made to fail.
pub(crate) fn can_fail(kind: &str) -> bool {
    ["HostedCluster", "NodePool"].contains(&kind)
}

/// The condition that is false of an object that should fail. One with another reason is about the configuration.
pub(super) fn condition(failures: &[Failure], live: Live<'_>) -> Option<Typed> {
    let failure = failures.iter().find(|failure| failure.hits(live))?;
    let (rows, other) = if is_cluster(&live.id()) {
        (OF_CLUSTERS, "ValidConfiguration")
    } else {
        (OF_POOLS, "ValidPlatformConfig")
    };
    let row = rows.iter().find(|(reason, _)| *reason == failure.reason);
    let kind = row.map_or(other, |(_, kind)| *kind);
    let message = format!("HyperShift refused the {}: {}", live.kind(), failure.reason);
    Some((kind, NewCondition::no(&failure.reason, message)))
}

fn is_cluster(id: &ObjectId) -> bool {
    id.is(HYPERSHIFT, "HostedCluster")
}
