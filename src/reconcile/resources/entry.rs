//! What is reported of embedded resources.
//!
//! In: entries, and live resources. Out: `status.resources`, and conditions. It does not know what is done about any of
//! it.

use serde_json::{Value, json};

use crate::api::{aso, conditions};
use crate::health::{Condition, Live};
use crate::model::ObjectId;
use crate::reconcile::conditions::NewCondition;

/// The group of an item that names none.
pub(super) const UNKNOWN_GROUP: &str = "unknown";

/// How far one embedded resource is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::reconcile) struct Entry {
    /// What names it.
    pub(in crate::reconcile) id: ObjectId,
    /// The version it is written at.
    pub(in crate::reconcile) version: String,
    /// Whether ASO reports its newest spec as ready.
    pub(in crate::reconcile) ready: bool,
    /// What there is to say about it; empty if nothing.
    pub(in crate::reconcile) message: String,
    /// The reason, if somebody should act on it.
    pub(in crate::reconcile) concern: Option<&'static str>,
    /// What is odd about its item although it is applied: a reason and a message.
    pub(in crate::reconcile) note: Option<(&'static str, String)>,
}

impl Entry {
    /// Its kind and name.
    pub(in crate::reconcile) fn title(&self) -> String {
        format!("{} {}", self.id.kind, self.id.name)
    }

    /// What the status says of it.
    pub(in crate::reconcile) fn text(&self) -> String {
        let note = self.note.iter().map(|(_, note)| note.as_str());
        let said = [self.message.as_str()].into_iter().chain(note);
        let said: Vec<&str> = said.filter(|text| !text.is_empty()).collect();
        said.join("; ")
    }
}

/// Entries as the status holds them.
pub(in crate::reconcile) fn listed(entries: &[Entry]) -> Value {
    let entry = |entry: &Entry| {
        let Entry {
            id, version, ready, ..
        } = entry;
        // The definition of the owner's kind requires texts.
        let is_known = !version.is_empty() && id.group != UNKNOWN_GROUP;
        let version = if version.is_empty() {
            "unknown"
        } else {
            version
        };
        let mut resource =
            json!({"group": id.group, "version": version, "kind": id.kind, "name": id.name});
        if is_known {
            resource["apiVersion"] = json!(format!("{}/{version}", id.group));
            resource["namespace"] = json!(id.namespace);
        }
        let mut listed = json!({"resource": resource, "ready": ready});
        let text = entry.text();
        if !text.is_empty() {
            listed["message"] = json!(text);
        }
        listed
    };
    entries.iter().map(entry).collect()
}

/// As many concerns are named in a condition.
const NAMED: usize = 3;

/// What somebody should act on among the entries, for the message of a condition; empty if nothing.
pub(in crate::reconcile) fn notes(entries: &[Entry]) -> String {
    let concerns = entries.iter().filter(|entry| entry.concern.is_some());
    let note = |entry: &Entry| {
        let Entry { id, message, .. } = entry;
        format!("{}/{}: {message}", id.kind, id.name)
    };
    let mut notes: Vec<String> = concerns.clone().take(NAMED).map(note).collect();
    let more = concerns.count().saturating_sub(NAMED);
    if more > 0 {
        notes.push(format!("and {more} more"));
    }
    notes.join("; ")
}

/// The reason of the condition of a deletion that waits for these: `reason`, unless somebody should act on one of them.
pub(in crate::reconcile) fn waiting_for<'a>(left: &[Entry], reason: &'a str) -> &'a str {
    let is_refused = left.iter().any(|entry| entry.concern.is_some());
    match is_refused {
        true => conditions::DELETION_FAILED,
        false => reason,
    }
}

/// A message, and what somebody should act on among the entries.
pub(in crate::reconcile) fn with_notes(message: String, entries: &[Entry]) -> String {
    let notes = notes(entries);
    if notes.is_empty() {
        return message;
    }
    format!("{message}. {notes}")
}

/// The Ready condition that ASO reports of a resource, with its severity in brackets.
pub(in crate::reconcile) fn reported(
    resource: Option<Live<'_>>,
    missing: NewCondition,
    default: &str,
) -> NewCondition {
    let Some(resource) = resource else {
        return missing;
    };
    let ready = resource
        .condition(conditions::READY)
        .filter(|ready| resource.is_current(*ready));
    match ready {
        Some(ready) if ready.is_true() => NewCondition::yes(conditions::SUCCEEDED, ""),
        Some(ready) => {
            let message = format!("{}{}", severity(ready), ready.message());
            NewCondition::no(ready.reason(), message)
        }
        None => NewCondition::no(conditions::PROVISIONING, default),
    }
}

/// The severity of ASO's condition in brackets, if somebody should know of it.
pub(super) fn severity(ready: Condition<'_>) -> &'static str {
    match ready.severity() {
        aso::ERROR => "[Error] ",
        aso::WARNING => "[Warning] ",
        _ => "",
    }
}
