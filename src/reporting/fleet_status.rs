//! The status of a Fleet object.
//!
//! In: what the daemon sees of the fleet, the status before, and the time. Out: the status. It does not know who writes it.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::api::fleet::{FleetObjects, FleetResult, FleetStatus};
use crate::apply::{Parent, Summary};
use crate::model::cut::shortened;
use crate::model::{AdapterError, Check, CheckDetail, CheckState, ErrorClass};

/// The most results of revisions that are kept.
const MOST_RESULTS: usize = 5;
/// The most characters of a message. Kubernetes allows 32,768; a status must stay far below 20 KB.
const LONGEST: usize = 2_000;

/// A fleet as its daemon sees it.
#[derive(Clone, Copy, Default)]
pub(crate) struct ObservedFleet<'a> {
    /// The generation of the spec that is carried out.
    pub(crate) generation: Option<i64>,
    /// Ok if the source was read, else the error; `None` before the first answer.
    pub(crate) source: Option<Result<(), &'a AdapterError>>,
    /// The newest revision that was examined.
    pub(crate) revision: Option<&'a str>,
    /// Its sync check.
    pub(crate) check: Option<&'a Check>,
    /// Its objects, once it is being applied.
    pub(crate) summary: Option<&'a Summary>,
    /// The record of the fleet in the cluster.
    pub(crate) parent: Option<&'a Parent>,
    /// The cluster was asked for that.
    pub(crate) is_parent_read: bool,
    /// The spec suspends the fleet.
    pub(crate) is_suspended: bool,
    /// Nothing is applied: spec.mode is check.
    pub(crate) is_check_only: bool,
}

/// Nothing is done, because something is wrong with the spec or what it names.
pub(crate) struct Stall<'a> {
    /// In CamelCase.
    pub(crate) reason: &'a str,
    /// In words, with the change that helps.
    pub(crate) message: &'a str,
    /// It may pass without a person.
    pub(crate) may_pass: bool,
}

/// The status, of which only what changed has a new time.
pub(crate) fn fleet_status(
    before: &FleetStatus,
    observed: &ObservedFleet<'_>,
    now: Timestamp,
) -> FleetStatus {
    let parent = observed.parent;
    let recorded = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let refused = parent.and_then(Parent::pending);
    // One that was refused before the newest says nothing about that.
    let is_newest = |revision: &str| observed.revision.is_none_or(|newest| newest == revision);
    let refused = refused.filter(|newest| newest.is_refused && is_newest(&newest.revision));
    // What the cluster was not asked for yet stays as it was.
    let kept = |recorded: Option<String>, before: &Option<String>| {
        if observed.is_parent_read {
            recorded
        } else {
            before.clone()
        }
    };
    let attempted = observed.revision.map(str::to_owned);
    let attempted = attempted.or_else(|| before.attempted_revision.clone());
    let ready = ready(observed, refused.map(|newest| newest.why.as_str()));
    let summary = observed.summary;
    let mut status = FleetStatus {
        observed_generation: observed.generation,
        applied_revision: kept(
            parent.and_then(|parent| recorded(&parent.applied)),
            &before.applied_revision,
        ),
        ready_revision: kept(
            parent.and_then(|parent| recorded(&parent.ready)),
            &before.ready_revision,
        ),
        refused_revision: refused.map(|newest| newest.revision.clone()),
        suspended_since: kept(
            parent.and_then(|parent| recorded(&parent.suspended)),
            &before.suspended_since,
        ),
        objects: summary.map(counts),
        blocked_by: summary.and_then(|summary| recorded(&summary.stage)),
        history: before.history.clone(),
        attempted_revision: attempted,
        ..FleetStatus::default()
    };
    let applied = applied(&status, observed);
    let mut conditions = vec![ready.clone(), source(observed), applied];
    let source_error = observed.source.and_then(Result::err);
    let is_source_wrong = source_error.is_some_and(|error| !may_recover(error));
    let is_stalled = ready.status == "False" && !may_pass(observed) || is_source_wrong;
    if ready.status == "Unknown" && ready.reason != "Suspended" {
        conditions.push(Draft::new(
            "Reconciling",
            "True",
            ready.reason,
            &ready.message,
        ));
    }
    if is_stalled {
        conditions.push(match source_error {
            Some(error) => Draft::new("Stalled", "True", "SourceNotReady", &error.to_string()),
            None => Draft::new("Stalled", "True", ready.reason, &ready.message),
        });
    }
    remember(&mut status, &ready, now);
    status.conditions = dated(conditions, before, observed.generation, now);
    status
}

/// The status of a fleet of which nothing is done.
pub(crate) fn stalled(
    before: &FleetStatus,
    stall: &Stall<'_>,
    generation: Option<i64>,
    now: Timestamp,
) -> FleetStatus {
    let (ready, other) = if stall.may_pass {
        ("Unknown", "Reconciling")
    } else {
        ("False", "Stalled")
    };
    let conditions = vec![
        Draft::new("Ready", ready, stall.reason, stall.message),
        Draft::new(other, "True", stall.reason, stall.message),
    ];
    FleetStatus {
        observed_generation: generation,
        conditions: dated(conditions, before, generation, now),
        ..before.clone()
    }
}

/// A condition without times.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Draft<'a> {
    kind: &'static str,
    status: &'static str,
    reason: &'a str,
    message: String,
}

impl<'a> Draft<'a> {
    fn new(kind: &'static str, status: &'static str, reason: &'a str, message: &str) -> Self {
        Self {
            kind,
            status,
            reason,
            message: shortened(message, LONGEST, "..."),
        }
    }
}

/// The condition Ready: whether the newest revision is applied and all its objects are ready.
fn ready(observed: &ObservedFleet<'_>, refused: Option<&str>) -> Draft<'static> {
    let of = |status, reason, message: &str| Draft::new("Ready", status, reason, message);
    if let Some(Err(error)) = observed.source
        && observed.check.is_none()
    {
        return of(status_of(error), "SourceNotReady", &error.to_string());
    }
    if let Some(why) = refused {
        return of("False", "Refused", why);
    }
    let Some(check) = observed.check else {
        return of("Unknown", "Starting", "no revision was examined yet");
    };
    let (status, reason) = match (check.state, check.detail) {
        (CheckState::Success, _) if observed.is_check_only => ("True", "CheckOnly"),
        (CheckState::Success | CheckState::Pending, _) if is_waiting(observed) => {
            ("Unknown", "Suspended")
        }
        // The check and the record are seen one after the other.
        (CheckState::Success, _) if !is_recorded(observed) => ("Unknown", "Progressing"),
        (CheckState::Success, _) => ("True", "Succeeded"),
        (CheckState::Pending, _) => ("Unknown", "Progressing"),
        (CheckState::Failure, Some(CheckDetail::Approval)) => ("False", "ApprovalNeeded"),
        (CheckState::Failure, _) => ("False", "Failed"),
        (CheckState::Error, _) => ("False", "Error"),
    };
    of(status, reason, &check.title)
}

/// Returns true if the cluster records that the revision is applied.
fn is_recorded(observed: &ObservedFleet<'_>) -> bool {
    let applied = observed.parent.map(|parent| parent.applied.as_str());
    applied.is_some() && applied == observed.revision
}

fn is_suspended(observed: &ObservedFleet<'_>) -> bool {
    let parent = observed.parent;
    observed.is_suspended || parent.is_some_and(|parent| !parent.suspended.is_empty())
}

/// Returns true if the revision is not applied because the fleet is suspended.
fn is_waiting(observed: &ObservedFleet<'_>) -> bool {
    is_suspended(observed) && !is_recorded(observed)
}

/// The condition SourceReady: whether the repository can be read.
fn source(observed: &ObservedFleet<'_>) -> Draft<'static> {
    match observed.source {
        None => Draft::new("SourceReady", "Unknown", "Starting", ""),
        Some(Ok(())) => Draft::new("SourceReady", "True", "Fetched", "the source was read"),
        Some(Err(error)) => {
            Draft::new("SourceReady", "False", reason_of(error), &error.to_string())
        }
    }
}

/// The condition Applied: whether the newest revision is applied, with its removals.
fn applied(status: &FleetStatus, observed: &ObservedFleet<'_>) -> Draft<'static> {
    let (is_applied, reason) = match (&status.attempted_revision, &status.applied_revision) {
        _ if observed.is_check_only => ("False", "CheckOnly"),
        (None, _) => ("Unknown", "Starting"),
        (Some(attempted), Some(applied)) if attempted == applied => ("True", "Succeeded"),
        _ if status.refused_revision.is_some() => ("False", "Refused"),
        _ if is_suspended(observed) => ("False", "Suspended"),
        _ => ("False", "Progressing"),
    };
    let message = match &status.applied_revision {
        _ if observed.is_check_only => "nothing is applied (spec.mode: check)".to_owned(),
        Some(revision) if is_applied == "True" => format!("revision {revision} is applied"),
        Some(revision) => format!("the newest revision is not applied; revision {revision} is"),
        None => "no revision is applied".to_owned(),
    };
    Draft::new("Applied", is_applied, reason, &message)
}

const fn reason_of(error: &AdapterError) -> &'static str {
    match error.class() {
        ErrorClass::Transient | ErrorClass::Conflict => "Unreachable",
        ErrorClass::Denied => "Denied",
        ErrorClass::Gone => "NotFound",
        ErrorClass::Invalid => "Invalid",
        ErrorClass::Bug => "Bug",
    }
}

/// Returns Unknown for an error that passes by itself: nobody has seen that anything is wrong.
fn status_of(error: &AdapterError) -> &'static str {
    if may_recover(error) {
        "Unknown"
    } else {
        "False"
    }
}

const fn may_recover(error: &AdapterError) -> bool {
    matches!(error.class(), ErrorClass::Transient | ErrorClass::Conflict)
}

/// Returns true if what is not ready may become so without a person.
fn may_pass(observed: &ObservedFleet<'_>) -> bool {
    let check = observed.check;
    check.is_some_and(|check| check.state == CheckState::Error)
}

fn counts(summary: &Summary) -> FleetObjects {
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    FleetObjects {
        total: count(summary.total),
        ready: count(summary.ready),
        failed: count(summary.failed.len()),
    }
}

/// Adds the result of a revision once it is decided.
fn remember(status: &mut FleetStatus, ready: &Draft<'_>, now: Timestamp) {
    let Some(revision) = &status.attempted_revision else {
        return;
    };
    let is_known = status
        .history
        .first()
        .is_some_and(|last| last.revision == *revision && last.reason == ready.reason);
    if is_known || !matches!(ready.status, "True" | "False") {
        return;
    }
    status.history.retain(|result| result.revision != *revision);
    let result = FleetResult {
        revision: revision.clone(),
        reason: ready.reason.to_owned(),
        time: now.to_string(),
    };
    status.history.insert(0, result);
    status.history.truncate(MOST_RESULTS);
}

/// The conditions with the times of their last changes.
fn dated(
    conditions: Vec<Draft<'_>>,
    before: &FleetStatus,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let dated = |new: Draft<'_>| {
        let same = |old: &&Condition| old.type_ == new.kind && old.status == new.status;
        let old = before.conditions.iter().find(same);
        Condition {
            last_transition_time: old.map_or(Time(now), |old| old.last_transition_time.clone()),
            message: new.message,
            observed_generation: generation,
            reason: new.reason.to_owned(),
            status: new.status.to_owned(),
            type_: new.kind.to_owned(),
        }
    };
    conditions.into_iter().map(dated).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::apply::Newest;

    fn check(revision: &str, state: CheckState, title: &str) -> Check {
        Check {
            title: title.to_owned(),
            ..Check::new("capstan/f/sync", revision, state, "")
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    /// `Ready=True Succeeded | ...`
    fn shown(status: &FleetStatus) -> String {
        let conditions = status.conditions.iter();
        let conditions =
            conditions.map(|one| format!("{}={} {}", one.type_, one.status, one.reason));
        conditions.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn a_fleet_is_ready_of_the_revision_that_it_names() {
        let parent = |applied: &str| Parent {
            applied: applied.to_owned(),
            ready: applied.to_owned(),
            ..Parent::default()
        };
        let (one, old) = (parent("1"), parent("0"));
        let summary = Summary {
            ready: 54,
            total: 55,
            stage: "HcpOpenShiftCluster".to_owned(),
            left: Duration::ZERO,
            failed: Vec::new(),
            terminal: false,
        };
        let pending = check("1", CheckState::Pending, "54/55 ready");
        let begun = ObservedFleet {
            generation: Some(3),
            source: Some(Ok(())),
            revision: Some("1"),
            check: Some(&pending),
            summary: Some(&summary),
            parent: Some(&old),
            is_parent_read: true,
            ..ObservedFleet::default()
        };
        let first = fleet_status(&FleetStatus::default(), &begun, at(10));
        assert_eq!(
            shown(&first),
            "Ready=Unknown Progressing | SourceReady=True Fetched | Applied=False Progressing | Reconciling=True Progressing"
        );
        assert_eq!(first.blocked_by.as_deref(), Some("HcpOpenShiftCluster"));
        assert_eq!(first.applied_revision.as_deref(), Some("0"));
        assert_eq!(first.history, []);
        let done = check("1", CheckState::Success, "55/55 ready");
        let ended = ObservedFleet {
            check: Some(&done),
            parent: Some(&one),
            ..begun
        };
        let unrecorded = ObservedFleet {
            parent: Some(&old),
            ..ended
        };
        let early = fleet_status(&first, &unrecorded, at(15));
        assert!(shown(&early).starts_with("Ready=Unknown Progressing"));
        let second = fleet_status(&first, &ended, at(20));
        assert_eq!(
            shown(&second),
            "Ready=True Succeeded | SourceReady=True Fetched | Applied=True Succeeded"
        );
        let times: Vec<i64> = second
            .conditions
            .iter()
            .map(|one| one.last_transition_time.0.as_second())
            .collect();
        assert_eq!(times, [20, 10, 20]);
        assert_eq!(second.history.len(), 1);
        assert_eq!(
            fleet_status(&second, &ended, at(30)),
            second,
            "nothing changed"
        );
    }

    #[test]
    fn what_is_refused_or_needs_a_person_stalls() {
        let parent = Parent {
            applied: "0".to_owned(),
            newest: Some(Newest::refused("1", "a.yaml:3: error C01: no")),
            ..Parent::default()
        };
        let failed = check("1", CheckState::Failure, "1 error");
        let refused = ObservedFleet {
            source: Some(Ok(())),
            revision: Some("1"),
            check: Some(&failed),
            parent: Some(&parent),
            is_parent_read: true,
            ..ObservedFleet::default()
        };
        let status = fleet_status(&FleetStatus::default(), &refused, at(0));
        assert_eq!(
            shown(&status),
            "Ready=False Refused | SourceReady=True Fetched | Applied=False Refused | Stalled=True Refused"
        );
        assert_eq!(status.refused_revision.as_deref(), Some("1"));
        assert_eq!(status.conditions[0].message, "a.yaml:3: error C01: no");
        // What mends it is not refused, though the cluster does not record that yet.
        let waits = check("2", CheckState::Pending, "0/1 ready");
        let mended = ObservedFleet {
            revision: Some("2"),
            check: Some(&waits),
            ..refused
        };
        let status = fleet_status(&status, &mended, at(1));
        let conditions = shown(&status);
        assert!(
            conditions.starts_with("Ready=Unknown Progressing"),
            "{conditions}"
        );
        assert!(!conditions.contains("Stalled"), "{conditions}");
        assert_eq!(status.refused_revision, None);
        // Another attempt may succeed after an error.
        let error = check("1", CheckState::Error, "the commit cannot be read");
        let status = fleet_status(
            &FleetStatus::default(),
            &ObservedFleet {
                check: Some(&error),
                parent: None,
                ..refused
            },
            at(0),
        );
        assert!(!shown(&status).contains("Stalled"), "{}", shown(&status));
    }

    #[test]
    fn a_source_that_is_away_is_told_from_one_that_is_named_wrongly() {
        let of = |class| {
            let error = AdapterError::new(class, "it is away");
            let observed = ObservedFleet {
                source: Some(Err(&error)),
                ..ObservedFleet::default()
            };
            shown(&fleet_status(&FleetStatus::default(), &observed, at(0)))
        };
        assert_eq!(
            of(ErrorClass::Transient),
            "Ready=Unknown SourceNotReady | SourceReady=False Unreachable | Applied=Unknown Starting | Reconciling=True SourceNotReady"
        );
        assert_eq!(
            of(ErrorClass::Gone),
            "Ready=False SourceNotReady | SourceReady=False NotFound | Applied=Unknown Starting | Stalled=True SourceNotReady"
        );
        // What was ready stays so: it is about a revision.
        let (error, done) = (
            AdapterError::new(ErrorClass::Transient, "it is away"),
            check("1", CheckState::Success, "55/55 ready"),
        );
        let parent = Parent {
            applied: "1".to_owned(),
            ..Parent::default()
        };
        let observed = ObservedFleet {
            source: Some(Err(&error)),
            revision: Some("1"),
            check: Some(&done),
            parent: Some(&parent),
            ..ObservedFleet::default()
        };
        let status = fleet_status(&FleetStatus::default(), &observed, at(0));
        assert!(
            shown(&status).starts_with("Ready=True Succeeded | SourceReady=False Unreachable"),
            "{}",
            shown(&status)
        );
        assert!(!shown(&status).contains("Stalled"));
        let denied = AdapterError::new(ErrorClass::Denied, "the token was revoked");
        let observed = ObservedFleet {
            source: Some(Err(&denied)),
            ..observed
        };
        let status = fleet_status(&FleetStatus::default(), &observed, at(0));
        assert!(shown(&status).ends_with("Stalled=True SourceNotReady"));
    }

    #[test]
    fn what_was_not_read_yet_stays_and_what_is_only_checked_is_judged_by_its_check() {
        let before = FleetStatus {
            applied_revision: Some("1".to_owned()),
            ..FleetStatus::default()
        };
        let early = fleet_status(&before, &ObservedFleet::default(), at(0));
        assert_eq!(early.applied_revision, before.applied_revision);
        let of = |state| {
            let check = check("1", state, "checked");
            let observed = ObservedFleet {
                source: Some(Ok(())),
                revision: Some("1"),
                check: Some(&check),
                is_check_only: true,
                is_parent_read: true,
                ..ObservedFleet::default()
            };
            shown(&fleet_status(&FleetStatus::default(), &observed, at(0)))
        };
        assert!(of(CheckState::Success).starts_with("Ready=True CheckOnly"));
        assert!(of(CheckState::Failure).starts_with("Ready=False Failed"));
        // Nothing of a suspended fleet is on its way.
        let pending = check("2", CheckState::Pending, "suspended");
        let suspended = ObservedFleet {
            source: Some(Ok(())),
            revision: Some("2"),
            check: Some(&pending),
            is_suspended: true,
            is_parent_read: true,
            ..ObservedFleet::default()
        };
        assert_eq!(
            shown(&fleet_status(&before, &suspended, at(0))),
            "Ready=Unknown Suspended | SourceReady=True Fetched | Applied=False Suspended"
        );
    }

    #[test]
    fn the_last_five_results_are_kept() {
        let mut status = FleetStatus::default();
        for number in 0..8 {
            let revision = number.to_string();
            let done = check(&revision, CheckState::Failure, "1 failed");
            let observed = ObservedFleet {
                revision: Some(&revision),
                check: Some(&done),
                ..ObservedFleet::default()
            };
            status = fleet_status(&status, &observed, at(number));
        }
        let revisions: Vec<&str> = status
            .history
            .iter()
            .map(|result| result.revision.as_str())
            .collect();
        assert_eq!(revisions, ["7", "6", "5", "4", "3"]);
        let stall = Stall {
            reason: "InvalidSpec",
            message: "spec.serve belongs to the process",
            may_pass: false,
        };
        let stalled = stalled(&status, &stall, Some(4), at(9));
        assert_eq!(
            shown(&stalled),
            "Ready=False InvalidSpec | Stalled=True InvalidSpec"
        );
        assert_eq!(stalled.history, status.history);
    }
}
