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
    let mut clauses = unwritten();
    clauses.extend(refused(
        c::NETWORK_INFRASTRUCTURE_READY,
        &[c::UNSUPPORTED_CONTROL_PLANE],
        true,
    ));
    let invalid = &[c::INVALID_RESOURCE, c::DUPLICATE_RESOURCE];
    clauses.extend(refused(c::RESOURCES_READY, invalid, true));
    clauses.extend(refused(c::RESOURCES_READY, NOT_APPLIED, false));
    let invalid_endpoint = &[c::INVALID_ENDPOINT];
    clauses.extend(refused(
        c::NETWORK_INFRASTRUCTURE_READY,
        invalid_endpoint,
        false,
    ));
    clauses.extend(refused(c::IDENTITY_READY, IDENTITY_REFUSED, false));
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
    let awaited = Why::Words("KubeconfigAwaited", "the kubeconfig does not exist yet");
    let mut clauses = unwritten();
    clauses.extend(refused(c::IDENTITY_READY, IDENTITY_REFUSED, false));
    clauses.extend(refused(c::ENCRYPTION_KEY_READY, KEY_REFUSED, true));
    clauses.extend(refused(c::ENCRYPTION_KEY_READY, KEY_FAILED, false));
    clauses.extend(refused(c::HCP_CLUSTER_READY, SPEC_REFUSED, true));
    clauses.extend(refused(c::HCP_CLUSTER_READY, NOT_APPLIED, false));
    clauses.extend(unmet(c::HCP_CLUSTER_READY));
    clauses.extend(refused(
        c::KUBECONFIG_READY,
        &[c::KUBECONFIG_INVALID, c::KUBECONFIG_EXPIRED],
        false,
    ));
    clauses.push(clause(not(has_kubeconfig), Progressing, awaited));
    clauses.push(awaits_secret());
    clauses.extend(only_if(&has_auth, unmet(c::EXTERNAL_AUTH_READY)));
    clauses.push(clause(ALWAYS, Ready, Why::Nothing));
    clauses
}

/// AROMachinePool: the node pool is ready, and it has been provisioned once.
pub(super) fn machine_pool() -> Vec<Clause> {
    let is_there = Test::All(vec![Test::Flag(PROVISIONED), Test::Flag(READY)]);
    let mut clauses = unwritten();
    clauses.extend(refused(c::NODE_POOL_READY, POOL_REFUSED, true));
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

/// Reasons why a person has to look at the identity of a cluster.
const IDENTITY_REFUSED: &[&str] = &[
    c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY,
    c::IDENTITY_NOT_FOUND,
    c::CREDENTIALS_REFUSED,
    c::CREDENTIALS_INVALID,
    c::CREDENTIALS_NOT_FOUND,
    c::CREDENTIAL_SECRET_FAILED,
    c::UNKNOWN_CLOUD,
];

/// Reasons why a person has to change the encryption key, or its vault.
const KEY_REFUSED: &[&str] = &[
    c::ACTIVE_KEY_MISSING,
    c::KEY_VERSION_MISSING,
    c::VAULT_NAME_MISSING,
    c::KEY_NAME_MISSING,
    c::VAULT_NOT_DECLARED,
    c::INCOMPATIBLE_VALUE,
];

/// Reasons for a missing encryption key that a person has to act on.
const KEY_FAILED: &[&str] = &[
    c::IDENTITY_NOT_FOUND,
    c::KEY_FAILED,
    c::KEY_ACCESS_DENIED,
    c::VAULT_NETWORK_DENIED,
    c::VAULT_UNREACHABLE,
    c::KEY_DELETED,
    c::KEY_UNUSABLE,
    c::KEY_MANAGEMENT_NOT_CONFIGURED,
];

/// Reasons why a person has to look at embedded resources, which may help.
const NOT_APPLIED: &[&str] = &[c::NOT_OWNED, c::KIND_NOT_SERVED, c::APPLY_REFUSED];

/// Reasons why a person has to change the resources of a control plane.
const SPEC_REFUSED: &[&str] = &[
    c::INCOMPATIBLE_VALUE,
    c::INVALID_RESOURCE,
    c::DUPLICATE_RESOURCE,
    c::HCP_CLUSTER_INVALID,
    c::UNSUPPORTED_INFRASTRUCTURE,
];

/// Reasons why a person has to change the resources of a machine pool.
const POOL_REFUSED: &[&str] = &[c::INCOMPATIBLE_VALUE, c::NODE_POOL_INVALID];

/// A condition is false for one of these reasons: of the newest spec or not, since nothing else is reported then.
fn refused(kind: &'static str, reasons: &'static [&'static str], terminal: bool) -> Vec<Clause> {
    let refused = Test::Condition(kind, vec![Of::False, Of::Reason(reasons)]);
    vec![clause(refused, Failed { terminal }, Why::Condition(kind))]
}

/// The cluster refuses writes to the object itself, so that nothing is done for it.
fn unwritten() -> Vec<Clause> {
    refused(c::READY, &[c::WRITE_REFUSED], false)
}

/// External authentication waits for a Secret that a person makes. The cluster works without it: it counts as ready, and
/// the condition says what to do.
fn awaits_secret() -> Clause {
    let reason = Of::Reason(&[c::AWAITING_SECRET]);
    let awaits = vec![Of::False, Of::Current, reason];
    let awaits = Test::Condition(c::EXTERNAL_AUTH_READY, awaits);
    clause(awaits, Ready, Why::Condition(c::EXTERNAL_AUTH_READY))
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
