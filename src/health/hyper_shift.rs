//! The kinds of HyperShift.
//!
//! In: nothing. Out: the clauses of HostedCluster and NodePool. While a cluster is brought up or upgraded, the operator reports `Degraded`
//! and `Progressing: False` of one that is well, so neither is a failure; and it reports `Available` before the nodes have made the cluster
//! whole, so the newest version must be complete.

use super::private_link::FAILING;
use super::rule::{ALWAYS, Clause, Keys, Of, Test, WANTED_NODES, Why, clause, not, only_if};
use crate::api::azure_private_link_service::{AVAILABLE, CONDITIONS};
use crate::model::HealthState::{Failed, Progressing, Ready};

/// Every update of the cluster's version, the newest first.
const HISTORY: Keys = &["status", "version", "history"];
const IMAGE: Keys = &["spec", "release", "image"];
/// The nodes of a pool that are available.
const AVAILABLE_NODES: Keys = &["status", "replicas"];

/// A HostedCluster: the control plane is available, and the release that is asked for has been rolled out.
pub(super) fn hosted_cluster() -> Vec<Clause> {
    let complete = Test::All(vec![
        Test::FirstText(HISTORY, "state", "Completed"),
        Test::FirstSame(HISTORY, "image", IMAGE),
    ]);
    let incomplete = Why::Words(
        "VersionNotComplete",
        "the release has not been rolled out in the cluster and on its nodes yet",
    );
    let mut clauses = invalid(&[
        "ValidConfiguration",
        "SupportedHostedCluster",
        "ValidReleaseImage",
        "ValidReleaseInfo",
        "PlatformCredentialsFound",
    ]);
    let blocked = vec![Of::False, Of::Current, Of::Reason(vec!["Blocked"])];
    clauses.push(clause(
        Test::Condition("Progressing", blocked),
        Failed { terminal: false },
        Why::Condition("Progressing"),
    ));
    clauses.extend(unmet("Available"));
    clauses.extend(connected());
    clauses.push(clause(not(complete), Progressing, incomplete));
    clauses.extend(busy(&["Progressing", "Degraded"]));
    clauses.push(clause(ALWAYS, Ready, Why::Nothing));
    clauses
}

/// The fields that say how a cluster on Azure is reached: HyperShift's, and the proposal's.
const TOPOLOGY: [Keys; 2] = [
    &["spec", "platform", "azure", "topology"],
    &["spec", "platform", "azure", "endpointAccess"],
];
const CONNECTION: Keys = &["spec", "platform", "azure", "private", "type"];

/// A private cluster is connected: HyperShift reports it available without that, and its nodes reach it by nothing else.
fn connected() -> Vec<Clause> {
    let values = ["Private", "PublicAndPrivate"];
    let is_private = TOPOLOGY
        .iter()
        .flat_map(|field| values.map(|value| Test::Text(field, value)));
    let private = Test::All(vec![
        Test::Any(is_private.collect()),
        not(Test::Text(CONNECTION, "Swift")),
    ]);
    let mut clauses = Vec::new();
    // The summary repeats the others.
    for kind in CONDITIONS {
        let of = |of| Test::Condition(kind, of);
        let why = Why::Condition(kind);
        let failing = of(vec![Of::False, Of::Reason(FAILING.to_vec())]);
        if kind != AVAILABLE {
            clauses.push(clause(failing, Failed { terminal: false }, why));
        }
        clauses.push(clause(of(vec![Of::NotTrue]), Progressing, why));
    }
    let unreported = not(Test::Condition(AVAILABLE, vec![Of::True]));
    let why = Why::Words(
        "PrivateLinkNotConnected",
        "nobody has reported yet that the cluster is reached over Private Link",
    );
    clauses.push(clause(unreported, Progressing, why));
    only_if(&private, clauses)
}

/// A NodePool: the nodes are updated to its spec, and the wanted number of them is available. An autoscaler wants no fixed number.
pub(super) fn node_pool() -> Vec<Clause> {
    let complete = Test::Any(vec![
        not(Test::Number(WANTED_NODES)),
        Test::AtLeast(AVAILABLE_NODES, WANTED_NODES),
    ]);
    let incomplete = Why::Words(
        "NodesNotAvailable",
        "not all nodes of the pool are available yet",
    );
    let mut clauses = invalid(&[
        "ValidReleaseImage",
        "ValidPlatformImage",
        "ValidPlatformConfig",
        "ValidTuningConfig",
        "ValidMachineTemplate",
        "SupportedVersionSkew",
    ]);
    // It is also false while the control plane has not made the configuration of nodes yet.
    let unmade = Test::Condition("ValidMachineConfig", vec![Of::False, Of::Current]);
    let why = Why::Condition("ValidMachineConfig");
    clauses.push(clause(unmade, Progressing, why));
    clauses.extend(busy(&[
        "UpdatingVersion",
        "UpdatingConfig",
        "UpdatingPlatformMachineTemplate",
    ]));
    clauses.extend(unmet("Ready"));
    clauses.push(clause(not(complete), Progressing, incomplete));
    clauses.push(clause(ALWAYS, Ready, Why::Nothing));
    clauses
}

/// The newest spec, or what it names, is not valid. The operator looks again, so a failure may pass without another spec.
fn invalid(conditions: &[&'static str]) -> Vec<Clause> {
    let refused = |kind: &&'static str| {
        let refused = Test::Condition(kind, vec![Of::False, Of::Current]);
        clause(refused, Failed { terminal: false }, Why::Condition(kind))
    };
    conditions.iter().map(refused).collect()
}

/// A condition that says what is under way.
fn busy(conditions: &[&'static str]) -> Vec<Clause> {
    let busy = |kind: &&'static str| {
        let is_true = Test::Condition(kind, vec![Of::True]);
        clause(is_true, Progressing, Why::Condition(kind))
    };
    conditions.iter().map(busy).collect()
}

/// A condition that is not true of the newest spec.
fn unmet(kind: &'static str) -> Vec<Clause> {
    let is = |of| Test::Condition(kind, vec![of]);
    vec![
        clause(not(is(Of::Current)), Progressing, Why::Unobserved(kind)),
        clause(is(Of::NotTrue), Progressing, Why::Condition(kind)),
    ]
}
