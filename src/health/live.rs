//! A live object, read without assumptions about its shape.
//!
//! In: the JSON an API server sent. Out: fields, identity and conditions; a field that is absent or of
//! another type reads as empty. It does not know what any of it means.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::api::aso;
use crate::model::ObjectId;

/// How much older than its object an entry of the managed fields may be: webhooks run between the apply that makes an object
/// and its creation, and the clocks of API servers differ.
const TOLERANCE: Duration = Duration::from_secs(60);

/// A live object.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a>(pub &'a Value);

/// One entry of `status.conditions`.
#[derive(Clone, Copy, Debug)]
pub struct Condition<'a>(&'a Value);

impl<'a> Live<'a> {
    /// The value at a path of keys; `None` if it is null.
    #[must_use]
    pub fn at(self, path: &[&str]) -> Option<&'a Value> {
        let found = path.iter().try_fold(self.0, |value, key| value.get(key));
        found.filter(|value| !value.is_null())
    }

    /// The text at a path; empty when absent.
    #[must_use]
    pub fn text(self, path: &[&str]) -> &'a str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// The whole number at a path.
    #[must_use]
    pub fn number(self, path: &[&str]) -> Option<i64> {
        self.at(path).and_then(Value::as_i64)
    }

    /// The whole number at a path; zero when absent.
    #[must_use]
    pub fn count(self, path: &[&str]) -> i64 {
        self.number(path).unwrap_or(0)
    }

    /// Whether the value at a path is `true`.
    #[must_use]
    pub fn flag(self, path: &[&str]) -> bool {
        self.at(path).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The list at a path; empty when absent.
    #[must_use]
    pub fn list(self, path: &[&str]) -> &'a [Value] {
        self.at(path)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// API group; empty for the core group.
    #[must_use]
    pub fn group(self) -> &'a str {
        let split = self.text(&["apiVersion"]).rsplit_once('/');
        split.map_or("", |(group, _)| group)
    }

    /// The version in `apiVersion`, without the group.
    #[must_use]
    pub fn version(self) -> &'a str {
        let api_version = self.text(&["apiVersion"]);
        let split = api_version.rsplit_once('/');
        split.map_or(api_version, |(_, version)| version)
    }

    /// Kind.
    #[must_use]
    pub fn kind(self) -> &'a str {
        self.text(&["kind"])
    }

    /// Name.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.text(&["metadata", "name"])
    }

    /// Namespace; empty for cluster-scoped objects.
    #[must_use]
    pub fn namespace(self) -> &'a str {
        self.text(&["metadata", "namespace"])
    }

    /// The object's id.
    #[must_use]
    pub fn id(self) -> ObjectId {
        ObjectId::new(self.group(), self.kind(), self.namespace(), self.name())
    }

    /// The uid.
    #[must_use]
    pub fn uid(self) -> &'a str {
        self.text(&["metadata", "uid"])
    }

    /// The value of a label; empty when absent.
    #[must_use]
    pub fn label(self, name: &str) -> &'a str {
        self.text(&["metadata", "labels", name])
    }

    /// The value of an annotation; empty when absent.
    #[must_use]
    pub fn annotation(self, name: &str) -> &'a str {
        self.text(&["metadata", "annotations", name])
    }

    /// The entries of the managed fields that `manager` wrote by server-side apply to this very object. One that is
    /// older than the object was copied from another: `kubectl create` drops managed fields, some backups keep them.
    pub fn applied_by(self, manager: &'a str) -> impl Iterator<Item = Self> {
        let created = self.time(&["metadata", "creationTimestamp"]);
        let is_older = move |entry: Self| {
            let written = entry.time(&["time"])?.checked_add(TOLERANCE).ok();
            Some(written? < created?)
        };
        let entries = self.list(&["metadata", "managedFields"]).iter().map(Live);
        entries.filter(move |entry| {
            entry.text(&["manager"]) == manager
                && entry.text(&["operation"]) == "Apply"
                && entry.text(&["subresource"]).is_empty()
                && is_older(*entry) != Some(true)
        })
    }

    fn time(self, path: &[&str]) -> Option<Timestamp> {
        self.text(path).parse().ok()
    }

    /// The generation of the spec; zero when the server does not count generations.
    #[must_use]
    pub fn generation(self) -> i64 {
        self.count(&["metadata", "generation"])
    }

    /// Whether it is being deleted.
    #[must_use]
    pub fn is_deleting(self) -> bool {
        self.at(&["metadata", "deletionTimestamp"]).is_some()
    }

    /// All conditions, in the object's order.
    pub fn conditions(self) -> impl Iterator<Item = Condition<'a>> {
        self.list(&["status", "conditions"]).iter().map(Condition)
    }

    /// The condition of a type.
    #[must_use]
    pub fn condition(self, kind: &str) -> Option<Condition<'a>> {
        self.conditions().find(|condition| condition.kind() == kind)
    }

    /// Whether the condition of a type is true of the newest spec.
    #[must_use]
    pub fn holds(self, kind: &str) -> bool {
        self.condition(kind)
            .is_some_and(|condition| condition.is_true() && self.is_current(condition))
    }

    /// Whether this is an HCP cluster that Azure failed to create, so that it refuses every change of it
    /// (facts/aro-controllers.md §8).
    #[must_use]
    pub fn is_lost(self) -> bool {
        let ready = self.condition(aso::READY);
        ready.is_some_and(|ready| {
            ready.is_false()
                && self.is_current(ready)
                && ready.message().contains(aso::IN_STATE_ERROR)
        })
    }

    /// Whether a condition is about the newest spec. Without a generation of its own it is about the
    /// generation in the status; without that, it is not.
    #[must_use]
    pub fn is_current(self, condition: Condition<'a>) -> bool {
        let observed = condition.observed().unwrap_or_else(|| self.observed());
        observed >= self.generation()
    }

    /// `status.observedGeneration`; zero when absent.
    #[must_use]
    pub fn observed(self) -> i64 {
        self.count(&["status", "observedGeneration"])
    }
}

impl<'a> Condition<'a> {
    fn text(self, key: &str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Its type.
    #[must_use]
    pub fn kind(self) -> &'a str {
        self.text("type")
    }

    /// `True`, `False`, `Unknown`, or empty.
    #[must_use]
    pub fn status(self) -> &'a str {
        self.text("status")
    }

    /// Whether the status is `True`.
    #[must_use]
    pub fn is_true(self) -> bool {
        self.status() == "True"
    }

    /// Whether the status is `False`.
    #[must_use]
    pub fn is_false(self) -> bool {
        self.status() == "False"
    }

    /// Its reason, a CamelCase word.
    #[must_use]
    pub fn reason(self) -> &'a str {
        self.text("reason")
    }

    /// Its message.
    #[must_use]
    pub fn message(self) -> &'a str {
        self.text("message")
    }

    /// Its severity, if the kind has such a field.
    #[must_use]
    pub fn severity(self) -> &'a str {
        self.text("severity")
    }

    /// When its status last changed, as written.
    #[must_use]
    pub fn since(self) -> &'a str {
        self.text("lastTransitionTime")
    }

    /// The generation it is about.
    #[must_use]
    pub fn observed(self) -> Option<i64> {
        self.0.get("observedGeneration").and_then(Value::as_i64)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Cases of CAPZ's own test of ASO readiness (facts/aro-controllers.md §9, ReadyStatus).
    #[test]
    fn a_condition_holds_when_true_of_the_newest_generation() {
        let cases = [
            (json!({}), false),
            (json!({"status": {"conditions": []}}), false),
            (json!({"status": {"conditions": "odd"}}), false),
            (
                json!({"status": {"conditions": [{"type": "Other", "status": "True"}]}}),
                false,
            ),
            (json!({"status": {"conditions": [1, "x"]}}), false),
            (
                json!({"metadata": {"generation": 2}, "status": {"conditions": [
                {"type": "Ready", "status": "True", "observedGeneration": 1}]}}),
                false,
            ),
            (
                json!({"status": {"conditions": [{"type": "Ready"}]}}),
                false,
            ),
            (
                json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
                false,
            ),
            (
                json!({"metadata": {"generation": 2}, "status": {"conditions": [
                {"type": "Ready", "status": "True", "observedGeneration": 2}]}}),
                true,
            ),
            (
                json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                true,
            ),
        ];
        for (object, expected) in cases {
            assert_eq!(Live(&object).holds("Ready"), expected, "{object}");
        }
    }

    #[test]
    fn identity_is_read_of_core_and_grouped_objects() {
        let core = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}});
        assert_eq!(Live(&core).id(), ObjectId::new("", "Secret", "n", "s"));
        let grouped =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
        assert_eq!(
            Live(&grouped).id(),
            ObjectId::new("apps", "Deployment", "", "d")
        );
    }
}
