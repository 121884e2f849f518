//! A rehearsal as people and programs read it.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use super::events::{Event, end};
use super::rehearsal::Rehearsal;
use crate::api::kinds::is_aso;
use crate::apply::State;
use crate::graph::{self, Graph, minutes};
use crate::model::ObjectId;
use crate::model::words::json_document;

impl Rehearsal {
    /// Every change of state, as JSON (DESIGN §12).
    #[must_use]
    pub fn json(&self) -> String {
        let changes = self.events.changes();
        let events = changes
            .iter()
            .map(|event| json!({"at": event.at, "object": event.object, "state": event.state}));
        let report = json!({
            "apiVersion": "capstan.dev/v1alpha1",
            "kind": "Rehearsal",
            "ready": self.ready,
            "virtual_seconds": end(&changes),
            "supplied": self.supplied().map(ToString::to_string).collect::<Vec<_>>(),
            "events": events.collect::<Vec<_>>(),
        });
        json_document(&report)
    }

    /// What became ready or failed and when, the critical path of the fleet with this graph, and how it ended.
    #[must_use]
    pub fn text(&self, graph: &Graph) -> String {
        let mut out = String::new();
        for id in self.supplied() {
            let who = match is_aso(&id.group) {
                true => "only read by the fleet; Azure must have it",
                false => "not in the fleet; the real cluster must have it",
            };
            let _ = writeln!(out, "supplied  {id} ({who})");
        }
        let changes = self.events.changes();
        for event in changes
            .iter()
            .filter(|event| matches!(event.state, State::Ready | State::Failed))
        {
            let message = if event.state == State::Failed {
                format!("  {}", event.message)
            } else {
                String::new()
            };
            let _ = writeln!(
                out,
                "{:>8}  {:?}  {}{message}",
                clock(event.at),
                event.state,
                event.object
            );
        }
        out.push_str(&critical_path(graph, &changes, self.settle));
        let end = clock(end(&changes));
        let total = graph.vertices.len() - graph.outside().count();
        let _ = match self.ready {
            true => writeln!(out, "\nready after {end} (virtual): {total} objects"),
            false => writeln!(
                out,
                "\nnot ready: nothing more happened after {end} (virtual)\n{}",
                unready(graph, self)
            ),
        };
        out
    }

    /// What the fleet expects and does not contain, namespaces first.
    fn supplied(&self) -> impl Iterator<Item = &ObjectId> {
        let of = |is_namespace: bool| {
            let all = self.supplied.iter();
            all.filter(move |id| id.is("", "Namespace") == is_namespace)
        };
        of(true).chain(of(false))
    }
}

fn clock(seconds: u64) -> String {
    minutes(Duration::from_secs(seconds))
}

/// The critical path of what happened, and the time for which the cluster waited for its role assignments.
fn critical_path(graph: &Graph, changes: &[Event], settle: Duration) -> String {
    let ready: HashMap<&str, u64> = changes
        .iter()
        .filter(|event| event.state == State::Ready)
        .map(|event| (event.object.as_str(), event.at))
        .collect();
    let when = |vertex: usize| {
        let id = graph.vertices[vertex].id.to_string();
        ready.get(id.as_str()).copied().map(Duration::from_secs)
    };
    let mut out = String::from("\ncritical path:\n");
    let path = graph::critical_path(graph, when);
    for (step, &at) in path.iter().enumerate() {
        let before = step.checked_sub(1).map(|before| path[before]);
        if before.is_some_and(|before| graph::waits_for_roles(graph, before, at)) {
            let settled = before.and_then(when).map(|ready| minutes(ready + settle));
            let (settled, why) = (settled.unwrap_or_default(), graph::in_force(settle));
            let _ = writeln!(out, "{settled:>8}  {why}");
        }
        let ready = when(at).map_or_else(String::new, minutes);
        let _ = writeln!(out, "{ready:>8}  {}", graph.vertices[at].id);
    }
    out
}

/// The last word on each object that is not ready: what failed, then what waits for it.
fn unready(graph: &Graph, rehearsal: &Rehearsal) -> String {
    let ids = graph.vertices.iter();
    let ids: BTreeSet<String> = ids.map(|vertex| vertex.id.to_string()).collect();
    let last = ids.iter().filter_map(|id| rehearsal.events.last(id));
    let unready = last.filter(|event| event.state != State::Ready);
    let (failed, waiting): (Vec<_>, Vec<_>) =
        unready.partition(|event| event.state == State::Failed);
    let mut out = String::new();
    for event in failed.into_iter().chain(waiting) {
        let _ = writeln!(
            out,
            "  {}: {:?} {}",
            event.object, event.state, event.message
        );
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::cli::rehearse::fleet;

    fn text(objects: &[&str], failures: &[&str]) -> String {
        let (compiled, set, options) = fleet(&objects.join("\n---\n"), failures);
        let rehearsal = Rehearsal::hold(&compiled, &set, &options, |server| server);
        rehearsal.unwrap().text(&compiled.graph)
    }

    const A: &str = "{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: a, namespace: default}, spec: {location: uksouth}}";
    const B: &str = "{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: b, namespace: default}, spec: {location: uksouth}}";
    const KV: &str = "{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: kv, namespace: default}, spec: {location: uksouth, owner: {name: b}, properties: {}}}";

    #[test]
    fn of_two_that_were_ready_last_the_same_one_ends_the_critical_path() {
        let shown = text(&[A, B], &[]);
        assert_eq!(shown, text(&[B, A], &[]));
        let (_, path) = shown.split_once("critical path:\n").unwrap();
        assert!(
            path.starts_with("   0m06s  ResourceGroup/default/b\n"),
            "{path}"
        );
    }

    #[test]
    fn what_failed_comes_before_what_waits_for_it() {
        let shown = text(&[A, KV, B], &["ResourceGroup/b=AuthorizationFailed"]);
        let (_, unready) = shown.split_once("not ready: ").unwrap();
        let unready: Vec<&str> = unready.trim_end().lines().skip(1).collect();
        assert!(unready[0].starts_with("  ResourceGroup/default/b: Failed AuthorizationFailed"));
        assert_eq!(
            unready[1..],
            ["  Vault/default/kv: Waiting waits for its dependencies"]
        );
    }
}
