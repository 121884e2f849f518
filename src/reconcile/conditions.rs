//! Writes `status.conditions` as controllers do.
//!
//! In: an object's conditions and new ones. Out: the new list, and an event for each that a person should know of; the
//! time of a condition changes only with its status, its generation is the object's. It does not know which conditions
//! there are.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::outcome::{self, Outcome};
use crate::api::conditions::{
    FALSE, IS_DELETED, PROVISIONING, READY, SEE_DELETING, SUCCEEDED, TRUE, UNKNOWN, needs_a_person,
    part_is_false,
};
use crate::health::Live;
use crate::model::words::message_line;

/// The longest reason that Kubernetes accepts, in bytes.
const LONGEST_REASON: usize = 1024;

/// The conditions of an object, being rewritten.
pub(crate) struct Conditions {
    generation: i64,
    now: Timestamp,
    list: Vec<Value>,
    /// The conditions as they were.
    before: Vec<Value>,
    /// The types whose status or reason is another one now.
    changed: Vec<String>,
}

/// What a condition is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewCondition {
    status: &'static str,
    reason: String,
    message: String,
    severity: &'static str,
}

/// A condition with its type.
pub(crate) type Typed = (&'static str, NewCondition);

impl NewCondition {
    fn new(status: &'static str, reason: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            reason: valid_reason(reason),
            message: message_line(&message.into()),
            severity: "",
        }
    }

    /// It holds.
    pub(crate) fn yes(reason: &str, message: impl Into<String>) -> Self {
        Self::new(TRUE, reason, message)
    }

    /// It does not hold.
    pub(crate) fn no(reason: &str, message: impl Into<String>) -> Self {
        Self::new(FALSE, reason, message)
    }

    /// Whether it holds cannot be known.
    pub(crate) fn unknown(reason: &str, message: impl Into<String>) -> Self {
        Self::new(UNKNOWN, reason, message)
    }

    /// It holds, or it does not.
    pub(crate) fn either(holds: bool, yes: &str, no: &str, message: impl Into<String>) -> Self {
        if holds {
            Self::yes(yes, "")
        } else {
            Self::no(no, message)
        }
    }

    /// With ASO's severity.
    pub(crate) fn severe(mut self, severity: &'static str) -> Self {
        self.severity = severity;
        self
    }

    /// `True`, `False` or `Unknown`.
    pub(crate) const fn status(&self) -> &'static str {
        self.status
    }

    /// Whether it holds.
    pub(crate) fn holds(&self) -> bool {
        self.status == TRUE
    }

    /// Whether it is known not to hold.
    pub(crate) fn is_false(&self) -> bool {
        self.status == FALSE
    }

    /// Its reason.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// Its message.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The same with another message.
    pub(crate) fn saying(self, message: impl Into<String>) -> Self {
        let message = message_line(&message.into());
        Self { message, ..self }
    }
}

impl Conditions {
    /// The conditions the object has.
    pub(crate) fn of(live: Live<'_>, now: Timestamp) -> Self {
        let list = live.list(&["status", "conditions"]).to_vec();
        Self {
            generation: live.generation(),
            now,
            before: list.clone(),
            list,
            changed: Vec::new(),
        }
    }

    /// The same, with a list that was decided and is not written yet.
    pub(crate) fn going_on(live: Live<'_>, list: Vec<Value>, now: Timestamp) -> Self {
        Self {
            list,
            ..Self::of(live, now)
        }
    }

    /// From here on the conditions are about this generation at most: the newest spec is not applied yet.
    pub(crate) fn about(&mut self, generation: i64) {
        self.generation = self.generation.min(generation);
    }

    /// Sets the condition of a type, in its place. What was set or removed before in this pass does not count as a change.
    pub(crate) fn set(&mut self, kind: &str, condition: NewCondition) {
        let NewCondition {
            status,
            reason,
            message,
            severity,
        } = condition;
        let place = self.list.iter().position(|held| held["type"] == kind);
        let held = self.before.iter().find(|held| held["type"] == kind);
        let same = held.filter(|held| held["status"] == status);
        self.changed.retain(|changed| changed != kind);
        if same.is_none_or(|held| held["reason"] != reason.as_str()) {
            self.changed.push(kind.to_owned());
        }
        let since = same.and_then(|held| held["lastTransitionTime"].as_str());
        let since = since.map_or_else(|| stamp(self.now), str::to_owned);
        let mut condition = json!({
            "type": kind,
            "status": status,
            "observedGeneration": self.generation,
        });
        condition["reason"] = Value::String(reason);
        condition["message"] = Value::String(message);
        condition["lastTransitionTime"] = Value::String(since);
        if !severity.is_empty() {
            condition["severity"] = json!(severity);
        }
        match place {
            Some(place) => self.list[place] = condition,
            None => self.list.push(condition),
        }
    }

    /// Takes a condition away that is about nothing any more.
    pub(crate) fn remove(&mut self, kind: &str) {
        self.list.retain(|held| held["type"] != kind);
        self.changed.retain(|changed| changed != kind);
    }

    /// Reason and message of the condition of a type, if it is false.
    pub(crate) fn refuted(&self, kind: &str) -> Option<(&str, &str)> {
        let mut held = self.list.iter().map(Live);
        let held = held.find(|held| held.text(&["type"]) == kind)?;
        let is_false = held.text(&["status"]) == FALSE;
        is_false.then(|| (held.text(&["reason"]), held.text(&["message"])))
    }

    /// Events for what changed: a warning for a false condition that needs a person, a note for one that became true.
    /// The summary counts if no other condition says the same, or gives the same reason.
    fn report(&self, live: Live<'_>, outcome: &mut Outcome) {
        let mut said: Vec<&str> = Vec::new();
        let summary = self.refuted(READY);
        let others = self.list.iter().map(Live);
        let mut others = others.filter(|held| held.text(&["type"]) != READY);
        let is_news = summary.is_some_and(|(reason, text)| {
            !others.any(|held| {
                let explains = held.text(&["status"]) == FALSE && held.text(&["reason"]) == reason;
                explains || held.text(&["message"]) == text
            })
        });
        for kind in self.changed.iter().filter(|kind| *kind != READY || is_news) {
            let found = self.list.iter().map(Live);
            let Some(held) = found.clone().find(|held| held.text(&["type"]) == kind) else {
                continue;
            };
            let (reason, message) = (held.text(&["reason"]), held.text(&["message"]));
            match held.text(&["status"]) {
                TRUE => {
                    let text = if message.is_empty() { kind } else { message };
                    outcome.event(live, false, kind, text);
                }
                FALSE if needs_a_person(reason, message) && !said.contains(&message) => {
                    said.push(message);
                    outcome.event(live, true, reason, message);
                }
                _ => {}
            }
        }
    }

    /// Whether there is a condition of this type.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.list.iter().any(|held| held["type"] == kind)
    }

    /// Sets the summary: if it does not hold, it names the first of these types that is false, and its reason.
    pub(crate) fn summarize(&mut self, holds: bool, parts: &[&str]) {
        let found = parts.iter().find(|part| self.refuted(part).is_some());
        let found = found.and_then(|part| Some((part, self.refuted(part)?.0)));
        let summary = match found {
            _ if holds => NewCondition::yes(SUCCEEDED, ""),
            Some((part, reason)) => NewCondition::no(reason, part_is_false(part)),
            None => NewCondition::no(PROVISIONING, ""),
        };
        self.set(READY, summary);
    }

    /// What is being deleted is not ready, whatever was said of it before.
    fn end(&mut self, live: Live<'_>, status: &mut Value) {
        if !live.is_deleting() {
            return;
        }
        status["ready"] = json!(false);
        let mut held = self.list.iter().map(Live);
        let is_ready =
            held.any(|held| held.text(&["type"]) == READY && held.text(&["status"]) == TRUE);
        if is_ready {
            self.set(READY, NewCondition::no(IS_DELETED, SEE_DELETING));
        }
    }

    /// Writes the status with these conditions unless it is there already, and reports what changed.
    pub(crate) fn write(mut self, live: Live<'_>, mut status: Value, outcome: &mut Outcome) {
        self.end(live, &mut status);
        self.report(live, outcome);
        status["conditions"] = self.into_value();
        outcome.maybe(outcome::status(live, status));
    }

    /// The same for a kind whose conditions are as in Cluster API's first versions: without generations and empty
    /// messages.
    pub(crate) fn write_plain(mut self, live: Live<'_>, mut status: Value, outcome: &mut Outcome) {
        for condition in &mut self.list {
            if let Some(fields) = condition.as_object_mut() {
                fields.remove("observedGeneration");
                if fields.get("message").is_some_and(|message| message == "") {
                    fields.remove("message");
                }
            }
        }
        status["conditions"] = self.into_value();
        outcome.maybe(outcome::status(live, status));
    }

    /// The new list.
    pub(crate) fn into_value(self) -> Value {
        Value::Array(self.list)
    }
}

/// A reason as the schema of a condition wants it, whatever Azure says: what it does not allow is left out.
fn valid_reason(reason: &str) -> String {
    let is_allowed = |c: &char| c.is_ascii_alphanumeric() || "_,:".contains(*c);
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let allowed: String = reason.chars().filter(is_allowed).collect();
    let from = allowed.trim_start_matches(|c| !is_letter(c));
    let reason: String = from.chars().take(LONGEST_REASON).collect();
    let reason = reason.trim_end_matches([',', ':']);
    if reason.is_empty() { UNKNOWN } else { reason }.to_owned()
}

/// A time as Kubernetes writes it, in whole seconds.
pub(crate) fn stamp(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).map_or_else(|_| time.to_string(), |t| t.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::api::conditions as c;

    fn held() -> Value {
        json!({"metadata": {"generation": 3}, "status": {"conditions": [
            {"type": "A", "status": "False", "reason": "Why", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "B", "status": "False", "reason": "Why", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
    }

    fn now() -> Timestamp {
        "2026-01-01T00:00:09.5Z".parse().unwrap()
    }

    #[test]
    fn the_time_changes_only_with_the_status() {
        let object = held();
        let mut conditions = Conditions::of(Live(&object), now());
        conditions.set("A", NewCondition::no("Why", "still").severe("Info"));
        conditions.set("B", NewCondition::yes("Done", ""));
        let list = conditions.into_value();
        assert_eq!(list[0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
        assert_eq!(
            (&list[0]["severity"], &list[0]["observedGeneration"]),
            (&json!("Info"), &json!(3))
        );
        assert_eq!(list[1]["lastTransitionTime"], "2026-01-01T00:00:09Z");
        assert_eq!(list[1].get("severity"), None);
    }

    #[test]
    fn issue_15_a_condition_that_ends_as_it_was_did_not_change() {
        let object = held();
        let live = Live(&object);
        let mut conditions = Conditions::of(live, now());
        conditions.set("A", NewCondition::yes("Done", ""));
        conditions.set("A", NewCondition::no("Why", "[Error] as before"));
        conditions.remove("B");
        conditions.set("B", NewCondition::no("Why", ""));
        let mut outcome = Outcome::default();
        conditions.report(live, &mut outcome);
        assert_eq!(outcome.events, []);
        for condition in conditions.into_value().as_array().unwrap() {
            assert_eq!(condition["lastTransitionTime"], "2026-01-01T00:00:00Z");
        }
    }

    #[test]
    fn only_what_changed_is_an_event() {
        let object = held();
        let live = Live(&object);
        let mut conditions = Conditions::of(live, now());
        conditions.set("A", NewCondition::no("Why", "[Error] the same again"));
        conditions.set("B", NewCondition::yes("Done", ""));
        conditions.set("C", NewCondition::no("Denied", "[Error] no"));
        conditions.set("D", NewCondition::no("Denied", "[Error] no"));
        conditions.set("E", NewCondition::no("Reconciling", "working"));
        conditions.set("Ready", NewCondition::no("Denied", "[Error] no"));
        let mut outcome = Outcome::default();
        conditions.report(live, &mut outcome);
        let events = outcome.events.iter();
        let events: Vec<_> = events
            .map(|event| (event.is_warning, event.reason.as_str()))
            .collect();
        assert_eq!(events, [(false, "B"), (true, "Denied")]);
    }

    #[test]
    fn a_summary_is_an_event_if_nothing_else_says_the_same() {
        let object = held();
        for (message, other, expected) in [
            ("the owner is gone", "", 1),
            ("the owner is gone", "the owner is gone", 0),
        ] {
            let mut conditions = Conditions::of(Live(&object), now());
            conditions.set("A", NewCondition::no("Why", other));
            let missing = NewCondition::no(c::CLUSTER_NOT_FOUND, message);
            conditions.set(READY, missing);
            let mut outcome = Outcome::default();
            conditions.report(Live(&object), &mut outcome);
            assert_eq!(outcome.events.len(), expected, "{other}");
        }
    }

    #[test]
    fn a_condition_about_an_older_spec_keeps_its_generation() {
        let object = held();
        let mut conditions = Conditions::of(Live(&object), now());
        conditions.about(2);
        conditions.set("A", NewCondition::yes("Done", ""));
        conditions.remove("B");
        let list = conditions.into_value();
        assert_eq!(list[0]["observedGeneration"], 2);
        assert_eq!(list.as_array().map(Vec::len), Some(1));
    }
    #[test]
    fn a_reason_or_message_of_azure_that_the_schema_refuses_is_made_valid() {
        for (given, valid) in [
            ("Conflict", "Conflict"),
            ("Disk.Quota-Exceeded now", "DiskQuotaExceedednow"),
            ("409Conflict:", "Conflict"),
            ("_a,b:c_", "a,b:c_"),
            ("", "Unknown"),
            ("4.0.9", "Unknown"),
        ] {
            assert_eq!(NewCondition::no(given, "").reason(), valid, "{given}");
        }
        let long = NewCondition::no(&"r".repeat(2000), "é".repeat(20_000) + "!");
        assert_eq!((long.reason().len(), long.message().len()), (1024, 8_001));
        let long = NewCondition::no("A", "").saying("a".to_owned() + &"é".repeat(20_000));
        assert_eq!(long.message().len(), 8_000);
    }
}
