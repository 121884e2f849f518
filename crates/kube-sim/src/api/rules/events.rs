//! Events: what `v1` and `events.k8s.io/v1` refuse.

use serde_json::{Value, json};

use crate::api::event_forms::to_core;
use crate::api::metadata;
use crate::api::names;
use crate::api::status::Cause;

/// What is wrong with an event of `v1`.
pub(super) fn check_core(event: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    check(event, "reportingComponent", causes);
}

/// What is wrong with an event of `events.k8s.io/v1`; its fields are called by a mixture of names.
pub(super) fn check_new(event: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let event = to_core(event.clone());
    check(&event, "reportingController", causes);
    match old {
        None => check_creation(&event, causes),
        Some(old) => check_update(&event, &to_core(old.clone()), causes),
    }
}

fn text<'a>(event: &'a Value, key: &str) -> &'a str {
    event[key].as_str().unwrap_or_default()
}

/// What holds for every event. One with an `eventTime` has to say more.
fn check(event: &Value, controller: &str, causes: &mut Vec<Cause>) {
    let namespace = metadata::text(event, "namespace");
    let place = text(&event["involvedObject"], "namespace");
    let timed = event["eventTime"].is_string();
    let fits = match (place, timed) {
        ("", false) => namespace == "default",
        ("", true) => matches!(namespace, "default" | "kube-system"),
        (_, true) => true,
        (place, false) => place == namespace,
    };
    if !fits {
        let detail = "does not match event.namespace";
        causes.push(Cause::invalid(
            "involvedObject.namespace",
            &json!(place),
            detail,
        ));
    }
    if !timed {
        return;
    }
    let reporting = text(event, "reportingComponent");
    if reporting.is_empty() {
        causes.push(Cause::required(controller, ""));
    }
    for complaint in names::qualified(reporting) {
        causes.push(Cause::invalid(controller, &json!(reporting), &complaint));
    }
    for (key, limit, needed) in [
        ("reportingInstance", 128, true),
        ("action", 128, true),
        ("reason", 128, true),
        ("message", 1024, false),
    ] {
        if needed && text(event, key).is_empty() {
            causes.push(Cause::required(key, ""));
        }
        if text(event, key).len() > limit {
            let detail = format!("can have at most {limit} characters");
            causes.push(Cause::invalid(key, &json!(""), &detail));
        }
    }
}

fn check_series(event: &Value, causes: &mut Vec<Cause>) {
    let series = &event["series"];
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().is_none_or(|count| count < 2) {
        let detail = "should be at least 2";
        causes.push(Cause::invalid("series.count", &json!(""), detail));
    }
    if !series["lastObservedTime"].is_string() {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
}

fn check_creation(event: &Value, causes: &mut Vec<Cause>) {
    check_series(event, causes);
    if !event["eventTime"].is_string() {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        let detail = format!("has invalid value: {kind}");
        causes.push(Cause::invalid("type", &json!(""), &detail));
    }
    for key in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        if !matches!(&event[key], Value::Null) && event[key] != json!({}) && event[key] != 0 {
            causes.push(Cause::invalid(key, &json!(""), "needs to be unset"));
        }
    }
}

fn check_update(event: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if event["series"] != old["series"] {
        check_series(event, causes);
    }
    for key in [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ] {
        if event[key] == old[key] {
            continue;
        }
        let field = match key {
            "reportingComponent" => "reportingController",
            key => key,
        };
        let message = format!(
            "Invalid value: {}: field is immutable",
            shown(key, &event[key])
        );
        causes.push(Cause::worded(
            "FieldValueInvalid",
            field.to_owned(),
            message,
        ));
    }
}

/// A value as the server prints it; objects that are referred to as its own type spells them.
fn shown(key: &str, value: &Value) -> String {
    const FIELDS: [(&str, &str); 7] = [
        ("Kind", "kind"),
        ("Namespace", "namespace"),
        ("Name", "name"),
        ("UID", "uid"),
        ("APIVersion", "apiVersion"),
        ("ResourceVersion", "resourceVersion"),
        ("FieldPath", "fieldPath"),
    ];
    if !matches!(key, "involvedObject" | "related") || value.is_null() {
        return value.to_string();
    }
    let fields = FIELDS.map(|(shown, key)| format!("{shown:?}:{:?}", text(value, key)));
    format!("{{{}}}", fields.join(","))
}
