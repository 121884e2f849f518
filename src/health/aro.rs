//! The kinds of the ARO provider. Their lasting conditions decide, not `status.ready` of an AROCluster,
//! since CAPZ's controller clears it at the start of every reconciliation.
//!
//! In: nothing. Out: the clauses of each kind.

use super::aso;
use super::rule::{ALWAYS, Clause, Keys, Of, Test, Why, clause, not, only_if};
use crate::api::aso as words;
use crate::api::conditions::{self as c, Failure, Failure::Retried, Failure::Terminal};
use crate::model::HealthState::{Failed, Progressing, Ready, Waiting};

const RESOURCES: Keys = &["spec", "resources"];
const READY: Keys = &["status", "ready"];
const PROVISIONED: Keys = &["status", "initialization", "provisioned"];

/// AROCluster: every embedded resource is ready, and the cluster has been provisioned once.
pub(super) fn cluster() -> Vec<Clause> {
    let mut clauses = failing(&[
        (c::READY, Retried),
        (c::NETWORK_INFRASTRUCTURE_READY, Terminal),
        (c::RESOURCES_READY, Terminal),
        (c::IDENTITY_READY, Terminal),
        (c::RESOURCES_READY, Retried),
        (c::NETWORK_INFRASTRUCTURE_READY, Retried),
        (c::IDENTITY_READY, Retried),
    ]);
    clauses.push(without_owner());
    clauses.extend(only_if(&Test::Filled(RESOURCES), unmet(c::RESOURCES_READY)));
    clauses.push(clause(Test::Flag(PROVISIONED), Ready, Why::Nothing));
    clauses.extend(unprovisioned(c::NETWORK_INFRASTRUCTURE_READY));
    clauses
}

/// AROControlPlane: the key, the HCP cluster and, if it has one, the external authentication, and a
/// kubeconfig (which `ready` indicates).
pub(super) fn control_plane() -> Vec<Clause> {
    let initialized = Test::Flag(&["status", "initialization", "controlPlaneInitialized"]);
    let has_kubeconfig = Test::All(vec![Test::Flag(READY), initialized]);
    let has_auth = Test::Any(vec![
        Test::Condition(c::EXTERNAL_AUTH_READY, Vec::new()),
        Test::Holds(RESOURCES, "HcpOpenShiftClustersExternalAuth"),
    ]);
    let awaited = Why::Words(c::KUBECONFIG_AWAITED, "the kubeconfig does not exist yet");
    let mut clauses = failing(&[
        (c::READY, Retried),
        (c::IDENTITY_READY, Terminal),
        (c::IDENTITY_READY, Retried),
        (c::ENCRYPTION_KEY_READY, Terminal),
        (c::ENCRYPTION_KEY_READY, Retried),
        (c::HCP_CLUSTER_READY, Terminal),
        (c::HCP_CLUSTER_READY, Retried),
    ]);
    clauses.push(without_owner());
    clauses.extend(unmet(c::HCP_CLUSTER_READY));
    clauses.extend(failing(&[(c::KUBECONFIG_READY, Retried)]));
    clauses.push(clause(not(has_kubeconfig), Progressing, awaited));
    clauses.push(awaits_secret());
    clauses.extend(only_if(&has_auth, unmet(c::EXTERNAL_AUTH_READY)));
    clauses.push(clause(ALWAYS, Ready, Why::Nothing));
    clauses
}

/// AROMachinePool: the node pool is ready, and it has been provisioned once.
pub(super) fn machine_pool() -> Vec<Clause> {
    let is_there = Test::All(vec![Test::Flag(PROVISIONED), Test::Flag(READY)]);
    let mut clauses = failing(&[
        (c::READY, Retried),
        (c::NODE_POOL_READY, Terminal),
        (c::NODE_POOL_READY, Retried),
    ]);
    clauses.push(without_owner());
    clauses.extend(unmet(c::NODE_POOL_READY));
    clauses.push(clause(is_there, Ready, Why::Nothing));
    clauses.extend(unprovisioned(c::AGENT_POOLS_READY));
    clauses
}

/// AzureClusterIdentity: ready when it exists, unless a controller reports a problem with it.
pub(super) fn identity() -> Vec<Clause> {
    let refused = Test::Condition(c::READY, vec![Of::False]);
    let why = Why::Condition(c::READY);
    vec![
        clause(refused, Failed { terminal: false }, why),
        clause(ALWAYS, Ready, Why::Nothing),
    ]
}

/// A condition is false for a reason that is a failure of this sort: of the newest spec or not, since nothing else is
/// reported then.
fn failing(failures: &[(&'static str, Failure)]) -> Vec<Clause> {
    let refused = |(kind, failure): &(&'static str, Failure)| {
        let reasons = Of::Reason(c::failing(kind, *failure));
        let refused = Test::Condition(kind, vec![Of::False, reasons]);
        let terminal = *failure == Terminal;
        clause(refused, Failed { terminal }, Why::Condition(kind))
    };
    failures.iter().map(refused).collect()
}

/// Cluster API has not taken the object up. Nothing is done for it until then, so its other conditions are missing.
fn without_owner() -> Clause {
    let reason = Of::Reason(c::WITHOUT_OWNER.to_vec());
    let waits = Test::Condition(c::READY, vec![Of::False, reason]);
    clause(waits, Waiting, Why::Condition(c::READY))
}

/// External authentication waits for a Secret that a person makes. The cluster works without it: it counts as ready, and
/// the condition says what to do.
fn awaits_secret() -> Clause {
    let reason = Of::Reason(vec![c::AWAITING_SECRET]);
    let awaits = vec![Of::False, Of::Current, reason];
    let awaits = Test::Condition(c::EXTERNAL_AUTH_READY, awaits);
    clause(awaits, Ready, Why::Condition(c::EXTERNAL_AUTH_READY))
}

/// The health that follows from a condition that is not true of the newest spec.
///
/// Capstan's own reasons first; the others are ASO's, with the severity in brackets before the message.
fn unmet(kind: &'static str) -> Vec<Clause> {
    let is = |of| Test::Condition(kind, vec![of]);
    let why = Why::Condition(kind);
    let waits = is(Of::ReasonStarts(c::WAITING_FOR));
    let failed = is(Of::Reason(c::failing(kind, Failure::RetriedIfCurrent)));
    let mut false_clauses = vec![clause(waits, Waiting, why)];
    false_clauses.extend(aso::failure(kind, |severity| match severity {
        words::ERROR => Of::MessageStarts("[Error] "),
        _ => Of::MessageStarts("[Warning] "),
    }));
    // What waiting does not end comes first.
    false_clauses.insert(2, clause(failed, Failed { terminal: false }, why));
    let mut clauses = vec![clause(
        not(is(Of::Current)),
        Progressing,
        Why::Unobserved(kind),
    )];
    clauses.extend(only_if(&is(Of::NotTrue), false_clauses));
    clauses
}

/// A lasting field is not true yet; the condition that explains it best gives reason and message.
fn unprovisioned(kind: &'static str) -> Vec<Clause> {
    let explained = Test::Condition(kind, vec![Of::NotTrue]);
    let words = Why::Words(c::PROVISIONING, "provisioned is not true yet");
    vec![
        clause(explained, Progressing, Why::Condition(kind)),
        clause(ALWAYS, Progressing, words),
    ]
}
