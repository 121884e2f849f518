//! The reports about the registration.
//!
//! In: an answer or an error, and the wait that follows. Out: one line for people. It does not know where the line is written.

use std::time::Duration;

use serde_json::Value;

use super::answer::{Answer, excerpt};
use super::command::{Command, Level};

/// Reports that the registry has this registration.
pub(super) fn registered(payload: &Value) -> Command {
    let listed = |name: &str| listed(payload.pointer(&format!("/metadata/{name}")));
    let name = payload.get("name").and_then(Value::as_str);
    let text = format!(
        "registered at DCM as {}; platforms: {}; OpenShift versions: {}; Kubernetes versions: {}",
        name.unwrap_or_default(),
        listed("supportedPlatforms"),
        listed("supportedVersions"),
        listed("kubernetesSupportedVersions"),
    );
    report(Level::Info, text)
}

/// Reports a request without an answer.
pub(super) fn unanswered(text: &str, wait: Duration) -> Command {
    let text = excerpt(text);
    let text = format!(
        "the registry of DCM did not answer: {text}; trying again in {}",
        seconds(wait)
    );
    report(Level::Warning, text)
}

/// Reports an answer that may be another one later.
pub(super) fn passing(answer: &Answer, wait: Duration) -> Command {
    let (status, said) = (answer.status, said(answer));
    let text = format!(
        "the registry of DCM answered {status}{said}; trying again in {}",
        seconds(wait)
    );
    report(Level::Warning, text)
}

/// Reports a refusal, and the remedy.
pub(super) fn refused(answer: &Answer, is_registered: bool) -> Command {
    let (status, said, advice) = (answer.status, said(answer), answer.advice());
    let meanwhile = if is_registered {
        "the registration before it is kept alive"
    } else {
        "DCM does not use this provider"
    };
    let text = format!(
        "the registry of DCM refused the registration with {status}{said}; {advice}. It is sent again after a restart, and when the capabilities change; until then {meanwhile}"
    );
    report(Level::Error, text)
}

/// Reports that the hub could not be asked.
pub(super) fn undiscovered(text: &str, wait: Duration) -> Command {
    let text = excerpt(text);
    let text = format!(
        "the hub could not be asked which platforms and versions it offers: {text}; trying again in {}",
        seconds(wait)
    );
    report(Level::Warning, text)
}

const fn report(level: Level, text: String) -> Command {
    Command::Report { level, text }
}

fn said(answer: &Answer) -> String {
    let body = excerpt(&answer.body);
    if body.is_empty() {
        return body;
    }
    format!(": {body}")
}

fn listed(names: Option<&Value>) -> String {
    let names = names.and_then(Value::as_array).into_iter().flatten();
    let names: Vec<_> = names.filter_map(Value::as_str).collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

fn seconds(wait: Duration) -> String {
    format!("{:.0} s", wait.as_secs_f64().ceil())
}
