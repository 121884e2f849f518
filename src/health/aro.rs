//! The kinds of the ARO provider. Their lasting conditions decide, not `status.ready` of an AROCluster,
//! since CAPZ's controller clears it at the start of every reconciliation.
//!
//! In: nothing. Out: the clauses of each kind.

use super::aso;
use super::rule::{ALWAYS, Clause, Keys, Of, Test, Why, clause, not, only_if};
use crate::api::{aso as words, conditions as c};
use crate::model::HealthState::{Failed, Progressing, Ready, Waiting};

/// How the reasons begin that mean: waiting for something else.
const WAITING: &str = "WaitingFor";

const RESOURCES: Keys = &["spec", "resources"];
const READY: Keys = &["status", "ready"];
const PROVISIONED: Keys = &["status", "initialization", "provisioned"];

/// AROCluster: every embedded resource is ready, and the cluster has been provisioned once.
pub(super) fn cluster() -> Vec<Clause> {
    let mut clauses = only_if(&Test::Filled(RESOURCES), unmet(c::RESOURCES_READY));
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
    let awaited = Why::Words("KubeconfigAwaited", "the kubeconfig does not exist yet");
    let mut clauses = vec![refused_key()];
    clauses.extend(unmet(c::HCP_CLUSTER_READY));
    clauses.push(clause(not(has_kubeconfig), Progressing, awaited));
    clauses.extend(only_if(&has_auth, unmet(c::EXTERNAL_AUTH_READY)));
    clauses.push(clause(ALWAYS, Ready, Why::Nothing));
    clauses
}

/// AROMachinePool: the node pool is ready, and it has been provisioned once.
pub(super) fn machine_pool() -> Vec<Clause> {
    let is_there = Test::All(vec![Test::Flag(PROVISIONED), Test::Flag(READY)]);
    let mut clauses = unmet(c::NODE_POOL_READY);
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

/// A person has to supply an encryption key.
fn refused_key() -> Clause {
    let missing = Of::Reason(&[c::ACTIVE_KEY_MISSING, c::KEY_VERSION_MISSING]);
    let refused = Test::Condition(c::ENCRYPTION_KEY_READY, vec![Of::False, missing]);
    let why = Why::Condition(c::ENCRYPTION_KEY_READY);
    clause(refused, Failed { terminal: true }, why)
}

/// The health that follows from a condition that is not true of the newest spec.
///
/// Capstan's own reasons first; the others are ASO's, with the severity in brackets before the message
/// (facts/aro-controllers.md §3.2, step 9).
fn unmet(kind: &'static str) -> Vec<Clause> {
    let is = |of| Test::Condition(kind, vec![of]);
    let why = Why::Condition(kind);
    let mut false_clauses = vec![
        clause(is(Of::ReasonStarts(WAITING)), Waiting, why),
        clause(
            is(Of::Reason(&[c::FAILED])),
            Failed { terminal: false },
            why,
        ),
    ];
    false_clauses.extend(aso::failure(kind, |severity| match severity {
        words::ERROR => Of::MessageStarts("[Error] "),
        _ => Of::MessageStarts("[Warning] "),
    }));
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
    let words = Why::Words("Provisioning", "provisioned is not true yet");
    vec![
        clause(explained, Progressing, Why::Condition(kind)),
        clause(ALWAYS, Progressing, words),
    ]
}
