//! The table, without the states that a cluster which is well only seems to have.
//!
//! In: a HostedCluster or a NodePool, how far the first release is, and the time. Out: what it says by itself. It does not know
//! the other objects.
//!
//! Until the first release is complete a cluster is being brought up: `Degraded` for want of replicas, an `Available` that is
//! not true yet, and pools without nodes are that. A spec that the operator refuses is a failure at once. After that the
//! table counts: an update of an available cluster is PROVISIONING, and `Degraded` is a failure once it has lasted. Of a
//! cluster without a history nothing is known but its conditions, and the table counts as well.

use jiff::{SignedDuration, Timestamp};

use super::state::State;
use super::table::{self, AVAILABLE, Answer, DEGRADED, PROGRESSING, READY, answer};
use super::verdict::Verdict;
use crate::health::{Condition, Live};

/// How long the first release may take before `Degraded` is a failure, and before the table decides about an available cluster
/// and about pools that have never been ready.
const GRACE: SignedDuration = SignedDuration::from_mins(45);
/// The time for which `Degraded` lasts in a complete cluster before it is a failure.
const LASTING: SignedDuration = SignedDuration::from_mins(2);
/// The reason for which a cluster that comes up is degraded.
const MISSING: &str = "UnavailableReplicas";
/// The reason for which the operator does not go on.
const BLOCKED: &str = "Blocked";
/// The conditions that are false of a spec the operator refuses.
const VALIDITY: [&str; 5] = [
    "ValidReleaseImage",
    "ValidConfiguration",
    "SupportedHostedCluster",
    "PlatformCredentialsFound",
    "ValidReleaseInfo",
];
/// Tells if the operator works on the cluster, or it is paused.
const ACTIVE: &str = "ReconciliationActive";

/// How far the first release of a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rollout {
    /// The cluster has conditions and no history.
    Unknown,
    /// It has not been complete yet, or nothing is reported of the cluster.
    First,
    /// Some release has been complete, first at this time if that is known.
    Complete(Option<Timestamp>),
}

impl Rollout {
    pub(super) fn of(cluster: Live<'_>) -> Self {
        let history = cluster.list(&["status", "version", "history"]);
        let complete = history.iter().map(Live);
        let mut complete = complete.filter(|entry| entry.text(&["state"]) == "Completed");
        // The newest comes first.
        match complete.next_back() {
            Some(first) => Self::Complete(first.text(&["completionTime"]).parse().ok()),
            None if history.is_empty() && cluster.conditions().next().is_some() => Self::Unknown,
            None => Self::First,
        }
    }
}

/// What an apparent failure is held for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// It is not held any more.
    Over,
    /// It is held until then.
    Until(Timestamp),
    /// It is held as long as the cluster is paused.
    Paused,
}

impl Hold {
    /// A hold from `start` on; without a start it is over.
    fn from(start: Option<Timestamp>, length: SignedDuration, now: Timestamp) -> Self {
        let end = start.and_then(|start| start.saturating_add(length).ok());
        end.filter(|end| now < *end).map_or(Self::Over, Self::Until)
    }

    const fn end(self) -> Option<Timestamp> {
        match self {
            Self::Until(end) => Some(end),
            Self::Over | Self::Paused => None,
        }
    }
}

/// The verdict of a HostedCluster.
pub(super) fn cluster(live: Live<'_>, rollout: Rollout, now: Timestamp) -> Verdict<'_> {
    if live.is_deleting() {
        return table::cluster(live);
    }
    let verdict = match rollout {
        Rollout::Unknown => table::cluster(live),
        Rollout::First => incomplete(live, now),
        Rollout::Complete(first) => complete(live, first, now),
    };
    let is_open = matches!(verdict.state, State::Pending | State::Provisioning);
    if is_open && is_paused(live) {
        return Verdict {
            message: table::message(live, ACTIVE),
            ..verdict
        };
    }
    verdict
}

/// The verdict of a NodePool, with how far its cluster is; `None` as long as it has no conditions. One that has not been ready since
/// before the first release was complete is being brought up: nodes come one by one, and the first completes the release.
pub(super) fn pool(live: Live<'_>, rollout: Rollout, now: Timestamp) -> Option<Verdict<'_>> {
    let verdict = table::pool(live)?;
    let coming = Verdict {
        state: State::Provisioning,
        ..verdict
    };
    match rollout {
        _ if verdict.state != State::Unavailable => Some(verdict),
        Rollout::Unknown => Some(verdict),
        Rollout::First => Some(coming),
        Rollout::Complete(first) => {
            let since = live.condition(READY).and_then(since);
            let is_new = first.is_some_and(|first| since.is_some_and(|since| since <= first));
            let hold = Hold::from(first.filter(|_| is_new), GRACE, now);
            Some(hold.end().map_or(verdict, |end| Verdict {
                again: Some(end),
                ..coming
            }))
        }
    }
}

fn incomplete(live: Live<'_>, now: Timestamp) -> Verdict<'_> {
    if let Some(fault) = fault(live) {
        return Verdict::new(State::Failed, fault.message());
    }
    let grace = grace(live, now);
    let coming = Verdict {
        again: grace.end(),
        ..Verdict::new(State::Provisioning, "")
    };
    if let Some(degraded) = degraded(live) {
        if degraded.reason() == MISSING && grace != Hold::Over {
            return coming;
        }
        return Verdict::new(State::Failed, degraded.message());
    }
    let progressing = progressing(live);
    let verdict = table::serving(live, progressing);
    match verdict.state {
        State::Ready if grace != Hold::Over => coming,
        State::Unavailable => Verdict::new(State::Provisioning, ""),
        State::Pending if progressing == Answer::False => Verdict::new(State::Provisioning, ""),
        _ => verdict,
    }
}

fn complete(live: Live<'_>, first: Option<Timestamp>, now: Timestamp) -> Verdict<'_> {
    let serving = table::serving(live, progressing(live));
    let Some(degraded) = degraded(live) else {
        return serving;
    };
    match held(live, degraded, first, now) {
        Hold::Over => Verdict::new(State::Failed, degraded.message()),
        hold => Verdict {
            again: hold.end(),
            ..serving
        },
    }
}

/// The hold of a complete cluster that is degraded. What is left of its first release lasts from when that was complete.
fn held(live: Live<'_>, degraded: Condition<'_>, first: Option<Timestamp>, now: Timestamp) -> Hold {
    let since = since(degraded);
    let is_left = since.is_some_and(|since| first.is_some_and(|first| since <= first));
    if !is_left {
        return Hold::from(since, LASTING, now);
    }
    match (Hold::from(first, LASTING, now), grace(live, now)) {
        (lasting, _) if degraded.reason() != MISSING => lasting,
        (lasting, Hold::Over) => lasting,
        (_, grace) => grace,
    }
}

/// The hold of a cluster that is being brought up. Its time begins anew when a pause ends.
fn grace(live: Live<'_>, now: Timestamp) -> Hold {
    if is_paused(live) {
        return Hold::Paused;
    }
    let created = live.text(&["metadata", "creationTimestamp"]).parse().ok();
    let resumed = live.condition(ACTIVE).and_then(since);
    Hold::from(created.map(|at| resumed.unwrap_or(at).max(at)), GRACE, now)
}

fn is_paused(live: Live<'_>) -> bool {
    answer(live, ACTIVE) == Answer::False
}

/// The condition that says why the operator does not take the newest spec. An available cluster came up in spite of it.
fn fault(live: Live<'_>) -> Option<Condition<'_>> {
    if answer(live, AVAILABLE) == Answer::True {
        return None;
    }
    let blocked = live.condition(PROGRESSING);
    let blocked = blocked.filter(|condition| condition.reason() == BLOCKED);
    let invalid = VALIDITY.iter().filter_map(|kind| live.condition(kind));
    let mut faults = invalid.chain(blocked);
    faults.find(|condition| condition.is_false() && !is_outdated(live, *condition))
}

/// Returns true if a condition says that it is about an older spec.
fn is_outdated(live: Live<'_>, condition: Condition<'_>) -> bool {
    let observed = condition.observed();
    observed.is_some_and(|observed| observed < live.generation())
}

fn degraded(live: Live<'_>) -> Option<Condition<'_>> {
    live.condition(DEGRADED)
        .filter(|condition| condition.is_true())
}

/// The answer about progress. Where the operator reports only whether the cluster is available, there is none.
fn progressing(live: Live<'_>) -> Answer {
    match (answer(live, PROGRESSING), answer(live, AVAILABLE)) {
        (Answer::Absent, Answer::True | Answer::False) => Answer::False,
        (progressing, _) => progressing,
    }
}

fn since(condition: Condition<'_>) -> Option<Timestamp> {
    condition.since().parse().ok()
}
