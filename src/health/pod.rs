//! Pods and jobs.
//!
//! In: a live object of the kind. Out: its health. Two rules differ from kstatus: a running job is
//! progressing, not ready, since dependents need its result; and a pod that cannot be scheduled
//! is pending, since this module has no clock to count kstatus' 15 seconds.

use serde_json::Value;

use super::{Live, from_condition, progressing};
use crate::model::{Health, HealthState};

/// A pod: completed, or running and ready.
pub(super) fn pod(live: Live<'_>) -> Health {
    match live.text(&["status", "phase"]) {
        "Succeeded" | "Failed" => Health::new(HealthState::Ready, "PodCompleted", ""),
        "Running" => running(live),
        "Pending" => pending(live),
        _ => progressing("PodNotObserved", "the pod has no phase yet"),
    }
}

fn running(live: Live<'_>) -> Health {
    if live.condition("Ready").is_some_and(|c| c.is_true()) {
        return Health::ready();
    }
    match crash_looping(live) {
        Some(container) => Health::new(
            HealthState::Failed { terminal: false },
            "ContainerCrashLooping",
            format!("container {container} is in a crash loop"),
        ),
        None => progressing("PodRunningNotReady", "the pod is running but not ready"),
    }
}

/// The first container that is in a crash loop.
fn crash_looping(live: Live<'_>) -> Option<&str> {
    let waits = |container: &&Value| {
        Live(container).text(&["state", "waiting", "reason"]) == "CrashLoopBackOff"
    };
    let containers = live.list(&["status", "containerStatuses"]);
    containers
        .iter()
        .find(waits)
        .map(|container| Live(container).text(&["name"]))
}

fn pending(live: Live<'_>) -> Health {
    let scheduled = live.condition("PodScheduled");
    match scheduled.filter(|c| c.is_false() && c.reason() == "Unschedulable") {
        Some(condition) => from_condition(HealthState::Waiting, condition),
        None => progressing("PodPending", "the pod is pending"),
    }
}

/// A job: complete, suspended on purpose, failed, or progressing.
pub(super) fn job(live: Live<'_>) -> Health {
    let is = |kind| live.condition(kind).filter(|c| c.is_true());
    if is("Complete").is_some() {
        return Health::new(HealthState::Ready, "JobComplete", "");
    }
    if let Some(failed) = is("Failed") {
        return from_condition(HealthState::Failed { terminal: true }, failed);
    }
    if is("Suspended").is_some() && live.flag(&["spec", "suspend"]) {
        return Health::new(HealthState::Ready, "JobSuspended", "");
    }
    let (active, succeeded) = (
        live.count(&["status", "active"]),
        live.count(&["status", "succeeded"]),
    );
    match live.text(&["status", "startTime"]) {
        "" => progressing("JobNotStarted", "the job has not started"),
        _ => progressing(
            "JobRunning",
            format!("active: {active}, succeeded: {succeeded}"),
        ),
    }
}
