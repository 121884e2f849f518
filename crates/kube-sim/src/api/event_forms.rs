//! The two forms of events: `v1` and `events.k8s.io/v1` show one stored object.
//!
//! In: an event in one form. Out: the same event in the other. Source: k8s.io/kubernetes
//! `pkg/apis/core` and `pkg/apis/events`, whose types share one internal type.

use serde_json::{Map, Value, json};

/// Field of `v1` and field of `events.k8s.io/v1`, where they differ.
const NAMES: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// The group whose form is not the stored one.
pub(super) const GROUP: &str = "events.k8s.io";

/// Who reports an event: `v1` always says it, `events.k8s.io` only what there is to say.
const REPORTERS: [&str; 2] = ["reportingComponent", "reportingInstance"];

/// From the stored form to that of `events.k8s.io`.
pub(super) fn from_core(mut event: Value) -> Value {
    if let Some(fields) = event.as_object_mut() {
        fields.retain(|name, value| *value != "" || !REPORTERS.contains(&name.as_str()));
    }
    renamed(event, |name| {
        NAMES
            .iter()
            .find(|(core, _)| *core == name)
            .map(|(_, new)| *new)
    })
}

/// From the form of `events.k8s.io` to the stored one.
pub(super) fn to_core(event: Value) -> Value {
    let mut event = renamed(event, |name| {
        NAMES
            .iter()
            .find(|(_, new)| *new == name)
            .map(|(core, _)| *core)
    });
    for name in REPORTERS {
        if event[name].is_null() {
            event[name] = json!("");
        }
    }
    event
}

/// The path in the stored form of a field of `events.k8s.io`.
pub(super) fn field_in_core(path: &str) -> String {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(a, b)| (a, Some(b)));
    let core = NAMES.iter().find(|(_, new)| *new == first);
    let core = core.map_or(first, |(core, _)| core);
    rest.map_or_else(|| core.to_owned(), |rest| format!("{core}.{rest}"))
}

fn renamed(event: Value, other: impl Fn(&str) -> Option<&'static str>) -> Value {
    let Value::Object(fields) = event else {
        return event;
    };
    let rename = |(name, value): (String, Value)| match other(&name) {
        Some(other) => (other.to_owned(), value),
        None => (name, value),
    };
    Value::Object(fields.into_iter().map(rename).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_has_its_older_name() {
        assert_eq!(field_in_core("regarding.name"), "involvedObject.name");
        assert_eq!(field_in_core("reportingController"), "reportingComponent");
        assert_eq!(field_in_core("metadata.name"), "metadata.name");
    }

    #[test]
    fn an_event_survives_the_way_there_and_back() {
        let core = json!({"involvedObject": {"name": "a"}, "message": "m", "reason": "r",
            "reportingComponent": "c", "reportingInstance": "", "count": 2, "metadata": {"name": "e"}});
        let new = from_core(core.clone());
        assert_eq!(new["regarding"]["name"], "a");
        assert_eq!(new["note"], "m");
        assert_eq!(new["reason"], "r");
        assert!(new.get("reportingInstance").is_none());
        assert_eq!(to_core(new), core);
    }
}
