//! Cluster API's own kinds, contract v1beta2 and, where it is read in that version, v1beta1.
//!
//! In: nothing. Out: the clauses of Cluster and MachinePool. A cluster that is not initialized is progressing
//! whatever its summary condition is, since that may be missing or old.

use super::rule::{
    ALWAYS, Clause, FAILURE, Keys, NODES, Of, READY_NODES, Test, WANTED_NODES, Why, clause, not,
    only_if,
};
use crate::api::capi;
use crate::api::labels::REPLICAS_MANAGED_BY;
use crate::model::HealthState::{Failed, Progressing, Ready};

const PAUSED: Keys = &["spec", "paused"];
const PHASE: Keys = &["status", "phase"];
const OLDER: Test = Test::Version(capi::V1BETA1);
const PROVISIONED: Keys = &["status", "initialization", "infrastructureProvisioned"];
const OLDER_PROVISIONED: Keys = &["status", "infrastructureReady"];

/// A Cluster: infrastructure and control plane were initialized once, and all of it is available now.
pub(super) fn cluster() -> Vec<Clause> {
    let is = |of| Test::Condition(capi::AVAILABLE, vec![of]);
    let why = Why::Condition(capi::AVAILABLE);
    let mut clauses = only_if(&Test::Flag(PAUSED), vec![paused()]);
    clauses.push(unread());
    clauses.extend(only_if(&OLDER, older_cluster()));
    clauses.extend(step(
        PROVISIONED,
        capi::INFRASTRUCTURE_READY,
        "infrastructureProvisioned is not true yet",
    ));
    clauses.extend(step(
        &["status", "initialization", "controlPlaneInitialized"],
        capi::CONTROL_PLANE_INITIALIZED,
        "controlPlaneInitialized is not true yet",
    ));
    clauses.extend([
        clause(
            not(is(Of::Current)),
            Progressing,
            Why::Unobserved(capi::AVAILABLE),
        ),
        clause(is(Of::True), Ready, Why::Nothing),
        clause(ALWAYS, Progressing, why),
    ]);
    clauses
}

/// A Cluster of the previous contract: infrastructure and control plane are ready, and so is the summary if there is
/// one. Its conditions have no generation.
fn older_cluster() -> Vec<Clause> {
    let unwell = Test::Condition(capi::READY, vec![Of::NotTrue]);
    let phase = Why::Words("NotProvisioned", "the phase is not Provisioned yet");
    let mut clauses = vec![failed()];
    clauses.extend(step(
        OLDER_PROVISIONED,
        capi::INFRASTRUCTURE_READY,
        "infrastructureReady is not true yet",
    ));
    clauses.extend(step(
        &["status", "controlPlaneReady"],
        capi::CONTROL_PLANE_READY,
        "controlPlaneReady is not true yet",
    ));
    clauses.extend([
        clause(unwell, Progressing, Why::Condition(capi::READY)),
        clause(Test::Text(PHASE, "Provisioned"), Ready, Why::Nothing),
        clause(ALWAYS, Progressing, phase),
    ]);
    clauses
}

/// A MachinePool: its infrastructure was provisioned once, and all of its nodes are ready. With an
/// autoscaler, the wanted number of nodes is the number that the pool has.
pub(super) fn machine_pool() -> Vec<Clause> {
    let provisioned = Test::Any(vec![
        Test::All(vec![OLDER, Test::Flag(OLDER_PROVISIONED)]),
        Test::All(vec![not(OLDER), Test::Flag(PROVISIONED)]),
    ]);
    let free = Test::Any(vec![
        Test::Present(&["metadata", "annotations", REPLICAS_MANAGED_BY]),
        not(Test::Number(WANTED_NODES)),
    ]);
    let unknown = Test::All(vec![free.clone(), not(Test::Number(NODES))]);
    let complete = Test::All(vec![
        Test::Number(NODES),
        Test::Any(vec![free, Test::Equal(WANTED_NODES, NODES)]),
        Test::AtLeast(READY_NODES, NODES),
    ]);
    let awaited = Why::Words(
        capi::INFRASTRUCTURE_READY,
        "the infrastructure of the pool is not provisioned yet",
    );
    let no_number = Why::Words(
        "NodesNotReady",
        "the pool does not report a number of nodes yet",
    );
    let mut clauses = vec![unread()];
    clauses.extend(only_if(&OLDER, vec![failed()]));
    clauses.extend([
        clause(not(provisioned), Progressing, awaited),
        clause(complete, Ready, Why::Nothing),
        clause(unknown, Progressing, no_number),
        clause(ALWAYS, Progressing, Why::Nodes),
    ]);
    clauses
}

/// The status is about an older spec, or there is none.
fn unread() -> Clause {
    clause(Test::Behind, Progressing, Why::Unobserved("status"))
}

/// The pause is a change of the spec, and nothing observes a change of a paused Cluster.
fn paused() -> Clause {
    let words = "the Cluster is paused: its controllers change nothing";
    clause(Test::Behind, Progressing, Why::Words("Paused", words))
}

/// What the previous contract reports if only a change of the spec can help.
fn failed() -> Clause {
    let [reason, message] = FAILURE;
    let failed = Test::Any(vec![
        Test::Present(reason),
        Test::Present(message),
        Test::Text(PHASE, "Failed"),
    ]);
    clause(failed, Failed { terminal: true }, Why::Failure)
}

/// A first step is not done; its condition gives reason and message, if it explains that.
fn step(done: Keys, kind: &'static str, message: &'static str) -> Vec<Clause> {
    let explained = Test::Condition(kind, vec![Of::NotTrue]);
    let clauses = vec![
        clause(explained, Progressing, Why::Condition(kind)),
        clause(ALWAYS, Progressing, Why::Words(kind, message)),
    ];
    only_if(&not(Test::Flag(done)), clauses)
}
