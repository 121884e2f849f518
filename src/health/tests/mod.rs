//! Tables of live objects and what they mean. Cases of kstatus, of ASO's condition rules and of CAPZ's
//! conditions, restated from facts/gitops-peers.md §3, facts/aro-rules.md §1.5 and
//! facts/aro-controllers.md §3.

#![allow(clippy::needless_pass_by_value)]

mod azure;
mod generic;
mod hyper_shift;

use serde_json::{Value, json};

use super::*;

const TERMINAL: HealthState = HealthState::Failed { terminal: true };
const FAILED: HealthState = HealthState::Failed { terminal: false };
use HealthState::{Progressing, Ready, Unknown, Waiting};

/// An object of this kind with generation 2, this spec and this status.
fn live(api: &str, kind: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": "x", "generation": 2},
        "spec": spec, "status": status})
}

fn check(cases: Vec<(&str, Value, HealthState)>) {
    for (what, object, expected) in cases {
        let found = health(&object);
        assert_eq!(found.state, expected, "{what}: {found:?}\n{object:#}");
    }
}

fn on(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": "Ok", "message": "", "observedGeneration": 2})
}

fn off(kind: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": "False", "reason": reason, "message": message, "observedGeneration": 2})
}
