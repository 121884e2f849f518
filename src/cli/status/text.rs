//! The status of a cluster as people read it.

use std::fmt::Write as _;

use super::super::cluster_status::{ClusterStatus, word, wrapped};
use super::aso::{self, Operators};
use super::fleet::{self, Fleet, Fleets};
use crate::status::{Chain, ClusterView, FleetView, Phase, Stray};

/// How many causes are listed for objects that belong to no cluster.
const STRAYS: usize = 20;
/// How many objects are named that have the same cause.
const NAMED: usize = 3;
/// The phases that are counted besides ready, the worst first.
const COUNTED: [Phase; 8] = [
    Phase::Failed,
    Phase::NotServed,
    Phase::Retrying,
    Phase::Deleting,
    Phase::Waiting,
    Phase::NotMade,
    Phase::Progressing,
    Phase::Unknown,
];

/// All of it, as people read it.
pub(super) fn text(
    status: &ClusterStatus,
    fleets: &Fleets<'_>,
    operators: Option<&Operators>,
) -> String {
    let mut out = String::new();
    for one in fleets {
        let Fleet {
            set, parent, view, ..
        } = one;
        let _ = writeln!(out, "fleet {}", set.fleet());
        out.push_str(&fleet::header(one));
        let _ = writeln!(out, "  objects   {}", counts(view));
        out.push_str(&fleet::troubles(parent, view));
        out.push('\n');
        let width = |cluster: &ClusterView| name(status, cluster).len();
        let width = view.clusters.iter().map(width).max().unwrap_or_default();
        for cluster in &view.clusters {
            out.push_str(&cluster_text(status, cluster, width));
        }
        let ready = |cluster: &ClusterView| cluster.phase == Phase::Ready;
        if view.clusters.last().is_some_and(ready) {
            out.push('\n');
        }
        out.push_str(&strays_text(status, view));
    }
    if let Some(operators) = operators {
        out.push_str(&aso::text(operators));
    }
    for unreadable in status.unreadable() {
        out.push_str(&wrapped("not seen: ", &unreadable));
    }
    let worst = fleets
        .iter()
        .filter_map(|fleet| fleet.view.clusters.first());
    let worst = worst.max_by_key(|cluster| cluster.phase);
    if let Some(cluster) = worst.filter(|cluster| cluster.phase != Phase::Ready) {
        let id = status.graph.id(cluster.root);
        let _ = writeln!(out, "the full chain: capstan why {id}");
    }
    out
}

/// `31 of 55 ready; 1 failed, 20 progressing`.
fn counts(view: &FleetView) -> String {
    let other = |phase: &Phase| match view.count(*phase) {
        0 => None,
        count => Some(format!("{count} {}", word(*phase).to_lowercase())),
    };
    let others: Vec<String> = COUNTED.iter().filter_map(other).collect();
    let ready = format!("{} of {} ready", view.count(Phase::Ready), view.total());
    match others.as_slice() {
        [] => ready,
        others => format!("{ready}; {}", others.join(", ")),
    }
}

fn name(status: &ClusterStatus, cluster: &ClusterView) -> String {
    let id = status.graph.id(cluster.root);
    format!("{}/{}", id.namespace, id.name)
}

fn cluster_text(status: &ClusterStatus, cluster: &ClusterView, width: usize) -> String {
    let mut out = String::new();
    let age = status.age(cluster.root);
    let line = format!(
        "  {:<11} {:<width$}  {}/{} ready  {}",
        word(cluster.phase),
        name(status, cluster),
        cluster.ready,
        cluster.total,
        if cluster.phase == Phase::Ready {
            ""
        } else {
            &age
        },
    );
    let _ = writeln!(out, "{}", line.trim_end());
    if let Some(chain) = &cluster.chain {
        out.push_str(&chain_text(status, chain, "    "));
        out.push('\n');
    }
    out
}

/// What blocks, its message, and what helps.
fn chain_text(status: &ClusterStatus, chain: &Chain, indent: &str) -> String {
    let mut out = String::new();
    let at = chain.blocker();
    let found = status.graph.status(at);
    let state = format!("{} {}", word(found.phase), status.age(at));
    let id = status.graph.id(at);
    let _ = writeln!(out, "{indent}{id}: {}", state.trim_end());
    out.push_str(&words_text(status, at, &format!("{indent}  ")));
    let same = |at: &&usize| status.graph.status(**at).phase == found.phase;
    let same = chain.others.iter().filter(same).count();
    if same > 0 {
        let state = word(found.phase).to_lowercase();
        let _ = writeln!(out, "{indent}and {same} more {state}");
    }
    out
}

/// An object's message, and what helps.
fn words_text(status: &ClusterStatus, at: usize, indent: &str) -> String {
    let mut out = wrapped(indent, &status.graph.status(at).words());
    let help = status.graph.help(at, status.now);
    if !help.is_empty() {
        out.push_str(&wrapped(&format!("{indent}help: "), &help));
    }
    out
}

fn strays_text(status: &ClusterStatus, view: &FleetView) -> String {
    let mut out = String::new();
    for stray in view.strays.iter().take(STRAYS) {
        let Stray { blocker, objects } = stray;
        let phase = word(status.graph.status(*blocker).phase);
        let id = status.graph.id(*blocker);
        let line = format!("  {phase:<11} {id}  {}", status.age(*blocker));
        let _ = writeln!(out, "{}", line.trim_end());
        out.push_str(&words_text(status, *blocker, "    "));
        let waiting: Vec<String> = objects
            .iter()
            .filter(|at| *at != blocker)
            .map(|at| status.graph.id(*at).to_string())
            .collect();
        if !waiting.is_empty() {
            let more = waiting.len().saturating_sub(NAMED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let named = waiting[..waiting.len().min(NAMED)].join(", ");
            out.push_str(&wrapped("    waited for by ", &format!("{named}{more}")));
        }
    }
    if view.strays.len() > STRAYS {
        let _ = writeln!(out, "  and {} more", view.strays.len() - STRAYS);
    }
    if !out.is_empty() {
        out.insert_str(0, "  in no cluster:\n");
        out.push('\n');
    }
    out
}
