//! The readiness rules as other engines read them.
//!
//! In: the table of rules. Out: settings of Argo CD (`argocd-cm`) and of Flux (`healthCheckExprs`). Both have three
//! answers: ready, failed for good, and everything else, which goes on. A failure that is retried is the last of
//! these: while a cluster is provisioned such failures come and go, and an engine that gives up on one would
//! never finish (facts/gitops-peers.md §3). It does not know how the settings reach the engine.

mod answer;
mod cel;
mod lua;

use serde_json::{Map, Value, json};

use super::live::Live;
use super::rule::{Rules, decide};
use super::table;
use crate::api::kinds;

pub use answer::Answer;

/// The entries of Argo CD's ConfigMap `argocd-cm`: a script for each kind.
///
/// A script that looks into a text needs Lua's library of strings, which Argo CD loads only if a second entry asks
/// for it.
#[must_use]
pub fn argocd() -> Map<String, Value> {
    let mut entries = Map::new();
    for rules in table::all() {
        let script = lua::script(&rules);
        let name = format!("{}_{}", rules.group, rules.kind);
        if script.contains("string.") {
            let key = format!("resource.customizations.useOpenLibs.{name}");
            entries.insert(key, json!("true"));
        }
        entries.insert(
            format!("resource.customizations.health.{name}"),
            json!(script),
        );
    }
    entries
}

/// The entries of `spec.healthCheckExprs` of a Flux Kustomization or HelmRelease.
///
/// Flux cannot judge an object without a status, so a kind that is ready without one is left to Flux's own rules.
#[must_use]
pub fn flux() -> Vec<Value> {
    let needs_status = |rules: &Rules| !decide(&rules.clauses, Live(&Value::Null)).is_ready();
    let all = table::all().into_iter().filter(needs_status);
    all.map(|rules| expressions(&rules)).collect()
}

fn expressions(rules: &Rules) -> Value {
    let known = kinds::find(rules.group, rules.kind);
    // Only the group is compared.
    let version = known.and_then(|kind| kind.versions.last()).copied();
    let mut entry = json!({
        "apiVersion": format!("{}/{}", rules.group, version.unwrap_or("v1beta1")),
        "kind": rules.kind,
        "current": cel::expression(rules, Answer::Ready),
    });
    let failed = cel::expression(rules, Answer::Failed);
    if failed != cel::FALSE {
        entry["failed"] = json!(failed);
    }
    entry
}
