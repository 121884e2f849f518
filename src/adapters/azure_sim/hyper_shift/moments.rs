//! When things happened, and when they are over. All of it is remembered in the objects, so that a restart goes on where
//! it stopped.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::health::Live;
use crate::reconcile::conditions::{Conditions, NewCondition};
use crate::reconcile::outcome::{self, Outcome};

/// Since when the condition of a type is true, or false; `None` if it is not.
pub(super) fn since(live: Live<'_>, kind: &str, is_true: bool) -> Option<Timestamp> {
    let condition = live.condition(kind)?;
    let is_so = if is_true {
        condition.is_true()
    } else {
        condition.is_false()
    };
    is_so.then(|| condition.since().parse().ok()).flatten()
}

/// The time at a path.
pub(super) fn time(live: Live<'_>, path: &[&str]) -> Option<Timestamp> {
    live.text(path).parse().ok()
}

/// This long after `start`.
pub(super) fn after(start: Timestamp, duration: Duration) -> Timestamp {
    start.checked_add(duration).unwrap_or(Timestamp::MAX)
}

/// The time at which the deletion of an object was requested.
pub(super) fn deleted(live: Live<'_>, now: Timestamp) -> Timestamp {
    time(live, &["metadata", "deletionTimestamp"]).unwrap_or(now)
}

/// Says that the object is paused, and does nothing else, if it is: until a time, or until that is taken back.
pub(super) fn pause(live: Live<'_>, now: Timestamp) -> Option<Outcome> {
    let until = live.text(&["spec", "pausedUntil"]);
    let time = until.parse::<Timestamp>().ok();
    if until != "true" && time.is_none_or(|time| time <= now) {
        return None;
    }
    let mut outcome = Outcome::default();
    if let Some(time) = time {
        outcome.wake_at(time);
    }
    let mut conditions = Conditions::of(live, now);
    let message = format!("Reconciliation paused until {until}");
    conditions.set(
        "ReconciliationActive",
        NewCondition::no("ReconciliationPaused", message),
    );
    let status = with(held(live), conditions);
    outcome.maybe(outcome::status(live, status));
    Some(outcome)
}

/// The status as it is.
pub(super) fn held(live: Live<'_>) -> Value {
    let held = live.at(&["status"]).filter(|status| status.is_object());
    held.cloned().unwrap_or_else(|| json!({}))
}

/// A status with these conditions.
pub(super) fn with(mut status: Value, conditions: Conditions) -> Value {
    status["conditions"] = conditions.into_value();
    status
}
