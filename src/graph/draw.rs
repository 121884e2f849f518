//! The graph as text and as Graphviz dot.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use super::schedule::{minutes, waits_for_roles};
use super::{Executor, Graph, Place, Schedule};
use crate::model::Needed;

/// One line per object with what it needs below it; `*` marks the critical path, which is printed
/// whole at the end.
#[must_use]
pub fn text(graph: &Graph, schedule: &Schedule) -> String {
    let critical: BTreeSet<usize> = schedule.critical_path(graph).into_iter().collect();
    let mut out = String::from("     READY  OBJECT\n           └ NEEDS (UNTIL, WHO WAITS: WHY)\n");
    for (at, vertex) in graph.vertices.iter().enumerate() {
        let mark = if critical.contains(&at) { '*' } else { ' ' };
        let indent = if matches!(vertex.place, Place::Embedded(_)) {
            "  "
        } else {
            ""
        };
        let outside = if vertex.place == Place::Outside {
            "  (outside the fleet)"
        } else {
            ""
        };
        let ready = minutes(schedule.timings[at].ready);
        let _ = writeln!(out, "{mark} {ready:>8}  {indent}{}{outside}", vertex.id);
        for edge in graph.needs(at) {
            let until = match edge.until {
                Needed::Applied => "applied",
                Needed::Ready => "ready",
            };
            let who = match edge.executor {
                Executor::Sync => "sync",
                Executor::Controller => "controller",
                Executor::Nobody => "nobody",
            };
            let _ = writeln!(
                out,
                "            {indent}└ {} ({until}, {who}: {})",
                graph.vertices[edge.to].id, edge.why
            );
        }
    }
    out.push_str(&path_text(graph, schedule));
    out
}

fn path_text(graph: &Graph, schedule: &Schedule) -> String {
    let total = minutes(schedule.total());
    let mut out =
        format!("\ncritical path, {total} in all (marked *):\n     START       READY  OBJECT\n");
    let path = schedule.critical_path(graph);
    for (step, &at) in path.iter().enumerate() {
        let timing = schedule.timings[at];
        let before = step.checked_sub(1).map(|before| path[before]);
        if before.is_some_and(|before| waits_for_roles(graph, before, at)) {
            let ready = before.map_or(timing.start, |before| schedule.timings[before].ready);
            path_line(
                &mut out,
                ready,
                timing.start,
                &in_force(timing.start.saturating_sub(ready)),
            );
        }
        path_line(
            &mut out,
            timing.start,
            timing.ready,
            &graph.vertices[at].id.to_string(),
        );
    }
    out
}

/// What happens between the last role assignment and the HCP cluster.
#[must_use]
pub fn in_force(settle: Duration) -> String {
    format!(
        "({} for the role assignments to come into force)",
        minutes(settle)
    )
}

fn path_line(out: &mut String, start: Duration, ready: Duration, what: &str) {
    let _ = writeln!(
        out,
        "  {:>8} → {:>8}  {what}",
        minutes(start),
        minutes(ready)
    );
}

/// Graphviz: solid edges delay a sync step, dashed ones are the controllers', dotted ones only copy a status;
/// the critical path is bold.
#[must_use]
pub fn dot(graph: &Graph, schedule: &Schedule) -> String {
    let path = schedule.critical_path(graph);
    let critical: BTreeSet<usize> = path.iter().copied().collect();
    let mut out = String::from("digraph fleet {\n  rankdir=RL;\n  node [shape=box];\n");
    for (at, vertex) in graph.vertices.iter().enumerate() {
        let style = match (critical.contains(&at), vertex.place) {
            (true, _) => ", style=bold",
            (_, Place::Outside) => ", style=dotted",
            _ => "",
        };
        let _ = writeln!(
            out,
            "  n{at} [label=\"{}\\n{}\"{style}];",
            vertex.id.kind, vertex.id.name
        );
        if let Place::Embedded(carrier) = vertex.place {
            let _ = writeln!(out, "  n{at} -> n{carrier} [arrowhead=none, color=grey];");
        }
    }
    for edge in &graph.edges {
        let on_path = path.windows(2).any(|pair| pair == [edge.to, edge.from]);
        let style = match (on_path, edge.executor) {
            (true, _) => "bold",
            (false, Executor::Sync) => "solid",
            (false, Executor::Controller) => "dashed",
            (false, Executor::Nobody) => "dotted",
        };
        let _ = writeln!(
            out,
            "  n{} -> n{} [style={style}, label=\"{}\"];",
            edge.from, edge.to, edge.why
        );
    }
    out.push_str("}\n");
    out
}
