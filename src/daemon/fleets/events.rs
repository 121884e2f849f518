//! Events about one Fleet.
//!
//! In: its status, as it is written. Out: one Event in its namespace when the reason or the revision is another one. It does not
//! know what the status is made of.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Client, Resource as _};
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use crate::adapters::kubernetes::{FleetObject, Reporter, report_event};
use crate::api::fleet::{Fleet, FleetStatus};
use crate::daemon::wall_time;
use crate::model::ObjectId;
use crate::model::cut::shortened;
use crate::reconcile::outcome::Event;

/// The most Events at once.
const AT_ONCE: u32 = 25;
/// After that, the time until another one.
const EACH: Duration = Duration::from_secs(5 * 60);
/// The reasons of each start, which pass within seconds.
const PASSING: [&str; 3] = ["", "Starting", "NoLease"];
/// The writer of the Events.
pub(super) const REPORTER: Reporter<'_> = Reporter {
    controller: "capstan.dev/daemon",
    instance: "capstan",
    action: "Reconcile",
};
/// The most characters of a message. A note has at most 1024 bytes.
const LONGEST: usize = 400;

/// Events about a Fleet: each change of its result once, also over restarts.
pub(super) struct Events {
    id: ObjectId,
    regarding: Json,
    last: Outcome,
    /// Nothing was decided since the process began: the revision that it found is looked at again.
    is_new: bool,
    budget: Budget,
    /// The last one could not be written.
    is_mute: bool,
}

impl Events {
    /// Events about changes since this status, which the Fleet had before.
    pub(super) fn since(fleet: &FleetObject, before: &FleetStatus) -> Self {
        Self {
            id: fleet.id.clone(),
            regarding: regarding(fleet),
            last: Outcome::recorded(before),
            is_new: true,
            budget: Budget::full(Instant::now()),
            is_mute: false,
        }
    }

    /// Writes an Event if the status says something else than before, as well as can be.
    pub(super) async fn report(&mut self, client: &Client, status: &FleetStatus) {
        let Some(event) = self.due(status, Instant::now()) else {
            return;
        };
        match report_event(client, REPORTER, &event, wall_time()).await {
            Ok(()) => self.is_mute = false,
            Err(error) if !std::mem::replace(&mut self.is_mute, true) => {
                tracing::warn!(fleet = self.id.name, namespace = self.id.namespace, %error, "cannot write an Event about the Fleet, whose status says the same; let the daemon create events of events.k8s.io in this namespace");
            }
            Err(error) => tracing::debug!(%error, "cannot write an Event about the Fleet"),
        }
    }

    /// The Event that the status is worth, if any. One that the budget does not allow is due until the status changes again.
    fn due(&mut self, status: &FleetStatus, now: Instant) -> Option<Event> {
        let outcome = Outcome::of(status);
        if PASSING.contains(&outcome.reason.as_str()) {
            return None;
        }
        let is_under_way = outcome.reason == "Progressing";
        self.is_new &= is_under_way && outcome.revision == self.last.revision;
        if outcome == self.last || self.is_new || !self.budget.take(now) {
            return None;
        }
        self.last = outcome;
        Some(self.event(status))
    }

    fn event(&self, status: &FleetStatus) -> Event {
        let condition = telling(status);
        let is_warning =
            condition.is_some_and(|one| one.type_ == "Stalled" || one.status == "False");
        let message = condition.map_or("", |one| one.message.as_str());
        Event {
            regarding: self.regarding.clone(),
            is_warning,
            reason: self.last.reason.clone(),
            message: self.last.note(message),
        }
    }
}

/// A reference to a Fleet.
pub(super) fn regarding(fleet: &FleetObject) -> Json {
    let id = &fleet.id;
    json!({"apiVersion": Fleet::api_version(&()), "kind": id.kind,
        "namespace": id.namespace, "name": id.name, "uid": fleet.uid})
}

/// The part of a status that an Event is written about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outcome {
    reason: String,
    /// The newest revision that was examined; empty if there is none.
    revision: String,
    /// That revision is applied.
    is_applied: bool,
}

impl Outcome {
    fn of(status: &FleetStatus) -> Self {
        let attempted = status.attempted_revision.as_ref();
        Self {
            reason: telling(status).map_or_else(String::new, |one| one.reason.clone()),
            revision: attempted.cloned().unwrap_or_default(),
            is_applied: attempted.is_some() && attempted == status.applied_revision.as_ref(),
        }
    }

    /// The same of a status that an earlier process wrote. If that one was only about to begin, its last result counts.
    fn recorded(status: &FleetStatus) -> Self {
        let now = Self::of(status);
        match status.history.first() {
            Some(last) if PASSING.contains(&now.reason.as_str()) => Self {
                reason: last.reason.clone(),
                revision: last.revision.clone(),
                is_applied: Some(&last.revision) == status.applied_revision.as_ref(),
            },
            _ => now,
        }
    }

    /// The outcome in words that do not change from one minute to the next.
    fn note(&self, message: &str) -> String {
        let Self {
            reason,
            revision,
            is_applied,
        } = self;
        let message = shortened(without_count(message), LONGEST, "...");
        match reason.as_str() {
            "Succeeded" => format!("revision {revision} is applied, and everything is ready"),
            "CheckOnly" => format!("revision {revision} has no errors"),
            "Progressing" if *is_applied => {
                format!("revision {revision} is applied, and not everything is ready yet")
            }
            "Progressing" => format!("revision {revision} is being applied"),
            "Suspended" => format!("revision {revision} waits: the fleet is suspended"),
            _ if revision.is_empty() => message,
            _ => format!("revision {revision}: {message}"),
        }
    }
}

/// The condition with the reason that a person looks for.
fn telling(status: &FleetStatus) -> Option<&Condition> {
    let of = |kind: &str| status.conditions.iter().find(|one| one.type_ == kind);
    of("Stalled").or_else(|| of("Ready"))
}

/// The title of a check without `51/54 ready, ` at its beginning.
fn without_count(message: &str) -> &str {
    let is_count = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '/');
    match message.split_once(" ready, ") {
        Some((count, rest)) if is_count(count) => rest,
        _ => message,
    }
}

/// The Events that may still be written.
struct Budget {
    left: u32,
    /// The time since which more are earned.
    since: Instant,
}

impl Budget {
    const fn full(now: Instant) -> Self {
        Self {
            left: AT_ONCE,
            since: now,
        }
    }

    fn take(&mut self, now: Instant) -> bool {
        let earned = now.duration_since(self.since).as_secs() / EACH.as_secs();
        let earned = u32::try_from(earned).unwrap_or(AT_ONCE).min(AT_ONCE);
        self.since = if self.left + earned >= AT_ONCE {
            now
        } else {
            self.since + EACH * earned
        };
        self.left = (self.left + earned).min(AT_ONCE);
        let is_left = self.left > 0;
        self.left -= u32::from(is_left);
        is_left
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::api::fleet::FleetResult;

    fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Condition {
        Condition {
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            message: message.to_owned(),
            observed_generation: None,
            reason: reason.to_owned(),
            status: status.to_owned(),
            type_: kind.to_owned(),
        }
    }

    /// A status, and the applied and the attempted revision.
    fn status(ready: (&str, &str, &str), revisions: (&str, &str)) -> FleetStatus {
        let (state, reason, message) = ready;
        FleetStatus {
            applied_revision: Some(revisions.0.to_owned()),
            attempted_revision: Some(revisions.1.to_owned()),
            conditions: vec![condition("Ready", state, reason, message)],
            ..FleetStatus::default()
        }
    }

    fn events(before: &FleetStatus) -> Events {
        let fleet = FleetObject {
            id: ObjectId::new("capstan.dev", "Fleet", "n", "f"),
            uid: "u".to_owned(),
            generation: Some(1),
            json: json!({}),
        };
        Events::since(&fleet, before)
    }

    /// `Normal Succeeded: note` for each status that is worth an Event.
    fn due(events: &mut Events, statuses: &[FleetStatus]) -> Vec<String> {
        let due = statuses
            .iter()
            .filter_map(|status| events.due(status, Instant::now()));
        let shown = due.map(|event| {
            let kind = if event.is_warning {
                "Warning"
            } else {
                "Normal"
            };
            format!("{kind} {}: {}", event.reason, event.message)
        });
        shown.collect()
    }

    #[test]
    fn an_event_is_due_when_the_reason_or_the_revision_changes_and_never_again() {
        let (starting, ready) = (
            ("Unknown", "Starting", ""),
            ("True", "Succeeded", "5/5 ready"),
        );
        let progress = |title| ("Unknown", "Progressing", title);
        let failed = ("False", "Failed", "3/5 ready, Vault/n/a failed: no");
        let mut course = events(&FleetStatus::default());
        let told = due(
            &mut course,
            &[
                status(starting, ("", "")),
                status(progress("0/5 ready, Vault, about 9 min left"), ("0", "1")),
                status(progress("1/5 ready, Vault, about 8 min left"), ("0", "1")),
                status(progress("1/5 ready, Vault, about 7 min left"), ("1", "1")),
                status(ready, ("1", "1")),
                status(ready, ("1", "1")),
                status(progress("4/5 ready"), ("1", "1")),
                status(failed, ("1", "1")),
                status(("False", "Refused", "a.yaml:3: error C01: no"), ("1", "2")),
            ],
        );
        assert_eq!(
            told,
            [
                "Normal Progressing: revision 1 is being applied",
                "Normal Progressing: revision 1 is applied, and not everything is ready yet",
                "Normal Succeeded: revision 1 is applied, and everything is ready",
                "Normal Progressing: revision 1 is applied, and not everything is ready yet",
                "Warning Failed: revision 1: Vault/n/a failed: no",
                "Warning Refused: revision 2: a.yaml:3: error C01: no",
            ]
        );
    }

    #[test]
    fn a_restart_repeats_nothing_that_the_status_says() {
        let ready = status(("True", "Succeeded", ""), ("1", "1"));
        let again = [
            status(("Unknown", "Starting", ""), ("1", "1")),
            status(("Unknown", "NoLease", ""), ("1", "1")),
            status(("Unknown", "Progressing", ""), ("1", "1")),
            ready.clone(),
        ];
        // An earlier process ended while it began: its last result is in the history.
        let begun = FleetStatus {
            history: vec![FleetResult {
                revision: "1".to_owned(),
                reason: "Succeeded".to_owned(),
                time: String::new(),
            }],
            ..again[0].clone()
        };
        for before in [&ready, &begun] {
            assert_eq!(due(&mut events(before), &again), Vec::<String>::new());
        }
        let newer = [
            again[0].clone(),
            status(("Unknown", "Progressing", ""), ("1", "2")),
        ];
        let told = due(&mut events(&ready), &newer);
        assert_eq!(told, ["Normal Progressing: revision 2 is being applied"]);
    }

    #[test]
    fn what_a_person_must_change_is_a_warning_although_the_fleet_is_ready() {
        let ready = status(("True", "Succeeded", ""), ("1", "1"));
        let mut denied = ready.clone();
        let stalled = condition(
            "Stalled",
            "True",
            "SourceNotReady",
            &"the token was revoked. ".repeat(100),
        );
        denied.conditions.push(stalled);
        let mut course = events(&ready);
        let told = due(&mut course, &[denied.clone(), denied, ready]);
        assert!(
            told[0].starts_with("Warning SourceNotReady: revision 1: the token"),
            "{told:?}"
        );
        assert!(told[0].len() < 600, "{told:?}");
        assert_eq!(
            told[1..],
            ["Normal Succeeded: revision 1 is applied, and everything is ready"]
        );
    }

    #[test]
    fn there_are_25_events_at_once_and_then_one_in_5_minutes() {
        let start = Instant::now();
        let mut budget = Budget::full(start);
        let mut taken = |seconds| {
            let at = start + Duration::from_secs(seconds);
            (0..100).filter(|_| budget.take(at)).count()
        };
        let counts = [1, 299, 302, 599, 605, 899, 902, 100_000].map(&mut taken);
        assert_eq!(counts, [25, 0, 1, 0, 1, 0, 1, 25]);
        // What is not allowed yet is due until it is.
        let mut course = events(&FleetStatus::default());
        course.budget.left = 0;
        let ready = status(("True", "Succeeded", ""), ("1", "1"));
        assert!(course.due(&ready, start).is_none());
        assert!(course.due(&ready, start + EACH * 2).is_some());
    }
}
