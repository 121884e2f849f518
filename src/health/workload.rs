//! The kinds that keep a number of pods running.
//!
//! In: a live object of the kind. Out: its health, by comparing counts in kstatus' order.

use super::{Live, from_condition, progressing};
use crate::model::{Health, HealthState};

/// One comparison of two counts: progressing while `have < want`.
struct Count {
    reason: &'static str,
    what: &'static str,
    have: i64,
    want: i64,
}

fn count(reason: &'static str, what: &'static str, have: i64, want: i64) -> Count {
    Count {
        reason,
        what,
        have,
        want,
    }
}

/// A count in the status.
fn status(live: Live<'_>, name: &str) -> i64 {
    live.count(&["status", name])
}

fn wanted(live: Live<'_>) -> i64 {
    live.number(&["spec", "replicas"]).unwrap_or(1)
}

/// The first count that falls short.
fn short(counts: &[Count]) -> Option<Health> {
    let count = counts.iter().find(|count| count.have < count.want)?;
    let message = format!("{}: {}/{}", count.what, count.have, count.want);
    Some(progressing(count.reason, message))
}

fn surplus(live: Live<'_>) -> Count {
    // More pods than wanted: the wanted number falls short of the present one.
    count(
        "ExtraPods",
        "Wanted of present",
        wanted(live),
        status(live, "replicas"),
    )
}

/// A deployment: all pods of the newest template are available, and the rollout is complete.
pub(super) fn deployment(live: Live<'_>) -> Health {
    let rollout = live.condition("Progressing");
    if let Some(late) = rollout.filter(|c| c.reason() == "ProgressDeadlineExceeded") {
        return from_condition(HealthState::Failed { terminal: false }, late);
    }
    let (want, updated) = (wanted(live), status(live, "updatedReplicas"));
    let counts = [
        count("LessReplicas", "Replicas", status(live, "replicas"), want),
        count("LessUpdated", "Updated", updated, want),
        surplus(live),
        count(
            "LessAvailable",
            "Available",
            status(live, "availableReplicas"),
            updated,
        ),
        count("LessReady", "Ready", status(live, "readyReplicas"), want),
    ];
    short(&counts).unwrap_or_else(|| rolled_out(live))
}

/// Without a deadline the controller never reports completion, so it is not required.
fn rolled_out(live: Live<'_>) -> Health {
    let deadline = live
        .number(&["spec", "progressDeadlineSeconds"])
        .filter(|seconds| *seconds != i64::from(i32::MAX));
    let done = live
        .condition("Progressing")
        .is_some_and(|c| c.is_true() && c.reason() == "NewReplicaSetAvailable");
    if deadline.is_some() && !done {
        return progressing(
            "ReplicaSetNotAvailable",
            "the new replica set is not available",
        );
    }
    match live.condition("Available").is_some_and(|c| c.is_true()) {
        true => Health::ready(),
        false => progressing("DeploymentNotAvailable", "the deployment is not available"),
    }
}

/// A replica set: all pods are labelled, available and ready.
pub(super) fn replica_set(live: Live<'_>) -> Health {
    if let Some(failure) = live.condition("ReplicaFailure").filter(|c| c.is_true()) {
        return from_condition(HealthState::Progressing, failure);
    }
    let want = wanted(live);
    let counts = [
        count(
            "LessLabelled",
            "Labelled",
            status(live, "fullyLabeledReplicas"),
            want,
        ),
        count(
            "LessAvailable",
            "Available",
            status(live, "availableReplicas"),
            want,
        ),
        count("LessReady", "Ready", status(live, "readyReplicas"), want),
        surplus(live),
    ];
    short(&counts).unwrap_or_else(Health::ready)
}

/// A stateful set: all pods are ready and, as far as its update strategy goes, of the newest revision.
pub(super) fn stateful_set(live: Live<'_>) -> Health {
    if live.text(&["spec", "updateStrategy", "type"]) == "OnDelete" {
        return Health::ready();
    }
    let want = wanted(live);
    let counts = [
        count("LessReplicas", "Replicas", status(live, "replicas"), want),
        count("LessReady", "Ready", status(live, "readyReplicas"), want),
        surplus(live),
    ];
    short(&counts).unwrap_or_else(|| revision(live, want))
}

fn revision(live: Live<'_>, want: i64) -> Health {
    let partition = live.number(&["spec", "updateStrategy", "rollingUpdate", "partition"]);
    if let Some(partition) = partition {
        let updated = status(live, "updatedReplicas");
        let part = count("PartitionRollout", "Updated", updated, want - partition);
        return short(&[part]).unwrap_or_else(Health::ready);
    }
    let current = count(
        "LessCurrent",
        "Current",
        status(live, "currentReplicas"),
        want,
    );
    let same =
        live.text(&["status", "currentRevision"]) == live.text(&["status", "updateRevision"]);
    short(&[current]).unwrap_or_else(|| match same {
        true => Health::ready(),
        false => progressing("RevisionMismatch", "some pods are of an old revision"),
    })
}

/// A daemon set: its pods run on every desired node, and all of them are ready.
pub(super) fn daemon_set(live: Live<'_>) -> Health {
    if live.number(&["status", "observedGeneration"]).is_none() {
        return progressing(
            "NoObservedGeneration",
            "the controller has not observed the daemon set yet",
        );
    }
    let Some(want) = live.number(&["status", "desiredNumberScheduled"]) else {
        return progressing(
            "NoDesiredNumber",
            "the desired number of nodes is not known yet",
        );
    };
    let counts = [
        count(
            "LessCurrent",
            "Current",
            status(live, "currentNumberScheduled"),
            want,
        ),
        count(
            "LessUpdated",
            "Updated",
            status(live, "updatedNumberScheduled"),
            want,
        ),
        count(
            "LessAvailable",
            "Available",
            status(live, "numberAvailable"),
            want,
        ),
        count("LessReady", "Ready", status(live, "numberReady"), want),
    ];
    short(&counts).unwrap_or_else(Health::ready)
}
