//! The state of one object.

use jiff::Timestamp;
use serde_json::Value as Json;

use super::found::Presence;
use crate::api::conditions as c;
use crate::health::{self, Condition, Live};
use crate::model::{Health, HealthState, ObjectId};

/// The state of an object, ordered by how much it needs attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// It is in the requested state.
    Ready,
    /// It could not be read.
    Unknown,
    /// Its controller is working on it.
    Progressing,
    /// Its controller has not created it yet.
    NotMade,
    /// It is being deleted.
    Deleting,
    /// It waits for something else.
    Waiting,
    /// It failed and is retried.
    Retrying,
    /// It does not exist and no controller creates it.
    Missing,
    /// The cluster does not serve its kind.
    NotServed,
    /// It failed, and waiting does not help.
    Failed,
}

impl Phase {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Unknown => "Unknown",
            Self::Progressing => "Progressing",
            Self::NotMade => "NotMade",
            Self::Deleting => "Deleting",
            Self::Waiting => "Waiting",
            Self::Retrying => "Retrying",
            Self::Missing => "Missing",
            Self::NotServed => "NotServed",
            Self::Failed => "Failed",
        }
    }

    /// Whether something is missing, or failed so that waiting does not help.
    pub(super) const fn is_broken(self) -> bool {
        matches!(self, Self::Missing | Self::NotServed | Self::Failed)
    }

    /// Whether waiting does not help, or has not helped so far.
    pub(super) const fn is_stuck(self) -> bool {
        matches!(
            self,
            Self::Retrying | Self::Missing | Self::NotServed | Self::Failed
        )
    }
}

/// The state of one object, with the condition that decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectStatus {
    /// The state.
    pub phase: Phase,
    /// The type of the condition; empty if no condition decided it.
    pub condition: String,
    /// A CamelCase reason; may be empty.
    pub reason: String,
    /// A message; may be empty.
    pub message: String,
    /// Since when.
    pub since: Option<Timestamp>,
}

impl ObjectStatus {
    /// `reason: message` on one line, without empty parts.
    #[must_use]
    pub fn words(&self) -> String {
        let parts = [self.reason.as_str(), self.message.as_str()];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let joined = parts.collect::<Vec<_>>().join(": ");
        joined.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// An object that exists, that no controller creates, or that could not be read.
    pub(super) fn of(presence: &Presence<'_>) -> Self {
        match presence {
            Presence::Live(live) => there(Live(live)),
            Presence::Absent => plain(Phase::Missing, "it does not exist"),
            Presence::NotServed => plain(Phase::NotServed, "the cluster does not serve this kind"),
            Presence::Unread => plain(Phase::Unknown, "it could not be read"),
        }
    }

    /// An object that cannot be applied.
    pub(super) fn refused(message: &str) -> Self {
        plain(Phase::Failed, message)
    }

    /// An object that is embedded in `owner`, which has not created it yet.
    pub(super) fn not_made(owner: &ObjectId, live: Option<&Json>) -> Self {
        let mut status = plain(Phase::NotMade, &format!("{owner} has not created it yet"));
        let Some(live) = live.map(Live) else {
            return status;
        };
        status.since = time(live.text(&["metadata", "creationTimestamp"]));
        let holds_back = |condition: &Condition<'_>| {
            let reason = condition.reason();
            !condition.is_true() && (reason.starts_with("WaitingFor") || reason == c::CREATING_KEY)
        };
        if let Some(condition) = live.conditions().find(holds_back) {
            condition.kind().clone_into(&mut status.condition);
            condition.reason().clone_into(&mut status.reason);
            status.message = format!("{} ({owner} has not created it yet)", condition.message());
            status.since = time(condition.since()).or(status.since);
        }
        status
    }
}

fn plain(phase: Phase, message: &str) -> ObjectStatus {
    ObjectStatus {
        phase,
        condition: String::new(),
        reason: String::new(),
        message: message.to_owned(),
        since: None,
    }
}

fn there(live: Live<'_>) -> ObjectStatus {
    if live.is_deleting() {
        return deleting(live);
    }
    let health = health::health(live.0);
    let phase = match health.state {
        HealthState::Ready => Phase::Ready,
        HealthState::Unknown | HealthState::Progressing => Phase::Progressing,
        HealthState::Waiting => Phase::Waiting,
        HealthState::Failed { terminal: false } => Phase::Retrying,
        HealthState::Failed { terminal: true } => Phase::Failed,
    };
    let condition = deciding(live, &health);
    let since = condition.map_or("", Condition::since);
    let made = live.text(&["metadata", "creationTimestamp"]);
    ObjectStatus {
        phase,
        condition: condition.map_or("", Condition::kind).to_owned(),
        since: time(since).or_else(|| time(made)),
        reason: health.reason,
        message: health.message,
    }
}

/// The condition that decided a health.
fn deciding<'a>(live: Live<'a>, health: &Health) -> Option<Condition<'a>> {
    let silent = health.reason.is_empty() && health.message.is_empty();
    let same = |condition: &Condition<'_>| {
        condition.reason() == health.reason && condition.message() == health.message
    };
    live.conditions().find(same).filter(|_| !silent)
}

/// What blocks a deletion: the finalizers, and the controller's message. The reason is that of a failure.
fn deleting(live: Live<'_>) -> ObjectStatus {
    let held = health::held(live);
    let condition = health::obstacle(live);
    let message = match condition {
        Some(condition) => format!("{held}: {}", condition.message()),
        None => held,
    };
    let failure = condition.filter(|condition| health::is_failure(live, *condition));
    ObjectStatus {
        phase: Phase::Deleting,
        condition: condition.map_or("", Condition::kind).to_owned(),
        reason: failure.map_or("", Condition::reason).to_owned(),
        message,
        since: time(live.text(&["metadata", "deletionTimestamp"])),
    }
}

fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
